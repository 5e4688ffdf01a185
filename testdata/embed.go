// Package testdata holds what tests of several packages and of other languages share.
package testdata

import "embed"

// FS holds the scenarios, the interleavings and the golden schemas.
//
//go:embed scenarios/*.txt interleavings/*.txt
var FS embed.FS
