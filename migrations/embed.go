// Package migrations holds the versioned DDL of each dialect as goose applies it. The same number means
// the same thing everywhere.
package migrations

import (
	"embed"
	"io/fs"
)

// FS has a folder for each dialect; db2/zos has the tables for another platform of the same dialect.
//
//go:embed postgres/*.sql mysql/*.sql db2/*.sql db2/zos/*.sql sqlite/*.sql
var FS embed.FS

// Of returns the migrations of a dialect.
func Of(dialect string) fs.FS {
	folder, err := fs.Sub(FS, dialect)
	if err != nil {
		panic(err) // the name is no path
	}
	return folder
}
