// Package procedures holds the readable source of the operations, one file for each, in a folder for
// each server dialect. `make snapshot` freezes them into the newest migration.
package procedures

import "embed"

// FS has a folder for each server dialect; db2/zos has the texts for another platform of the same dialect.
//
//go:embed postgres/*.sql mysql/*.sql db2/*.sql db2/zos/*.sql
var FS embed.FS
