// Package migrations holds the versioned DDL of each dialect as goose applies it. The same number means
// the same thing everywhere.
package migrations

import "embed"

// FS has a folder for each dialect.
//
//go:embed postgres/*.sql mysql/*.sql sqlite/*.sql
var FS embed.FS
