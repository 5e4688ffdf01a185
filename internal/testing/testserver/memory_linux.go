package main

import (
	"os"
	"syscall"
)

const (
	// sharedMemory is a file system in memory that Linux has.
	sharedMemory = "/dev/shm"
	// memoryNeeded is free there if the servers and the tests of a run fit in, of which they take half at most.
	memoryNeeded = 4 << 30

	mountedNoExec = 0x8 // ST_NOEXEC of statvfs(3)
)

// useMemory makes the directory for temporary files one in memory, for this process and all that it starts: a disk that
// is slow for a while is no concern of tests. It leaves alone what TMPDIR says, and servers that are to be durable.
func useMemory() error {
	if os.Getenv("TMPDIR") != "" || os.Getenv(durableVariable) != "" {
		return nil
	}
	var memory syscall.Statfs_t
	if err := syscall.Statfs(sharedMemory, &memory); err != nil {
		return nil //nolint:nilerr // there is none, and the disk will do
	}
	if int64(memory.Bavail)*memory.Bsize < memoryNeeded || memory.Flags&mountedNoExec != 0 { // tests build programs and run them
		return nil
	}
	return os.Setenv("TMPDIR", sharedMemory)
}
