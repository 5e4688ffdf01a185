//go:build db2

// Package goibmdb is github.com/ibmdb/go_ibm_db without its reading of the program's arguments.
//
// If the word trace is anywhere in them, be it in the name of a lock or in the path of the program, go_ibm_db's
// init parses them with package flag, which ends the program when it sees a flag of another package, and from
// then on go_ibm_db writes all it does to standard output, the password included. Therefore it does not get to
// see them: Go initializes packages in the order of their paths as far as their imports let it, noargs before
// go_ibm_db, and this package right after it.
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
