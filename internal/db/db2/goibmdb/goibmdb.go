//go:build db2

// Package goibmdb is github.com/ibmdb/go_ibm_db without its reading of the program's arguments.
//
// If the word trace is anywhere in the arguments, even in a lock's name or the program's path, go_ibm_db's init parses them with package
// flag. That ends the program at a flag of another package, and makes go_ibm_db print all it does, the password included. So this package
// hides the arguments during that init. Go initializes packages in the order of their paths where imports allow it: noargs, then go_ibm_db,
// then this package.
package goibmdb

import (
	"database/sql"
	"database/sql/driver"
	"fmt"

	_ "github.com/ibmdb/go_ibm_db" // registers the driver

	"github.com/applock/applock/internal/db/db2/goibmdb/noargs"
)

func init() { noargs.Restore() } //nolint:gochecknoinits // the counterpart of go_ibm_db's

// Driver returns the driver that go_ibm_db registers and does not export.
func Driver() (driver.Driver, error) {
	handle, err := sql.Open("go_ibm_db", "")
	if err != nil {
		return nil, fmt.Errorf("IBM's Db2 client did not start: %w", err)
	}
	return handle.Driver(), handle.Close()
}
