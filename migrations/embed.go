// Package migrations holds the versioned DDL of each dialect as goose applies it. The same number means
// the same thing everywhere.
package migrations

import "embed"

// FS has a folder for each dialect; db2/zos has the tables for another platform of the same dialect.
//
//go:embed postgres/*.sql mysql/*.sql db2/*.sql db2/zos/*.sql sqlite/*.sql
var FS embed.FS
