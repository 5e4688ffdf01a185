//go:build db2

// Package noargs hides the program's arguments from packages that are initialized after it. Package goibmdb explains why.
package noargs

import (
	// The imports of go_ibm_db, so that only packages with a path between noargs and go_ibm_db are initialized between them.
	_ "database/sql"
	_ "flag"
	"os"

	_ "github.com/ibmdb/go_ibm_db/api"
)

var hidden = hide() //nolint:gochecknoglobals // it has to happen before another package's init

func hide() []string {
	args := os.Args
	os.Args = []string{""}
	return args
}

// Restore ends the hiding.
func Restore() { os.Args = hidden }
