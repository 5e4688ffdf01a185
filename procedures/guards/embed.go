// Package guards holds the triggers that refuse writes to other tables, which `applockctl guard print` prints: docs/guard.md.
// Words in capitals that begin with GUARD_ stand for quoted names and texts.
package guards

import "embed"

// FS has the text that installs a guard, and the one that removes it, in a folder for each dialect.
//
//go:embed postgres/*.sql mysql/*.sql
var FS embed.FS
