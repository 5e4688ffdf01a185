//go:build db2

// Package noargs hides the program's arguments from the packages that are initialized after it. It is of use to
// package goibmdb only, which says why.
package noargs

import (
	// What go_ibm_db needs, so that no other package is initialized between this one and that one but those whose
	// path is between theirs.
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
