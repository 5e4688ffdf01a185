//go:build !linux

package main

import "testing"

// testProcessTerminal plays on Linux only, where a terminal can be made without C.
func testProcessTerminal(t *testing.T, _ binary) { t.Skip("needs the terminals of Linux") }
