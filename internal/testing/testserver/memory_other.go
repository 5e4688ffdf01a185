//go:build unix && !linux

package main

// useMemory does nothing: only Linux has a file system in memory that all can use.
func useMemory() error { return nil }
