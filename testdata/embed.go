// Package testdata holds what tests of several packages and of other languages share.
package testdata

import "embed"

// Scenarios holds the scenarios, which verify plays as well.
//
//go:embed scenarios/*.txt
var Scenarios embed.FS

// Interleavings holds the interleavings.
//
//go:embed interleavings/*.txt
var Interleavings embed.FS
