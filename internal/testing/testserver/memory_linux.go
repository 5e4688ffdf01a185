package main

import (
	"os"
	"syscall"

	"github.com/applock/applock/internal/testing/private"
)

const (
	// sharedMemory is Linux's file system in memory.
	sharedMemory = "/dev/shm"
	// memoryNeeded is the free memory for the servers and the tests of a run, which use at most half of it.
	memoryNeeded = 4 << 30

	mountedNoExec = 0x8 // ST_NOEXEC of statvfs(3)
)

// useMemory puts the temporary files of this process and its children into memory, so that a slow disk does not slow the tests. It
// changes neither a TMPDIR that is set nor durable servers.
func useMemory() error {
	if os.Getenv("TMPDIR") != "" || os.Getenv(private.DurableVariable) != "" {
		return nil
	}
	var memory syscall.Statfs_t
	if err := syscall.Statfs(sharedMemory, &memory); err != nil {
		return nil //nolint:nilerr // without one the disk will do
	}
	if int64(memory.Bavail)*memory.Bsize < memoryNeeded || memory.Flags&mountedNoExec != 0 { // tests build programs and run them
		return nil
	}
	return os.Setenv("TMPDIR", sharedMemory)
}
