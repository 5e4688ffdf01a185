// Package procedures holds the decisions of the operations, one file for each, in a folder for
// each server dialect. `make snapshot` adds what is mechanical, and freezes that into the newest migration.
package procedures

import "embed"

// FS has a folder for each server dialect.
//
//go:embed postgres/*.sql mysql/*.sql db2/*.sql
var FS embed.FS
