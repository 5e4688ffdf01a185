//go:build unix

package main

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// readerHasLeft reports whether the reader of w has closed it, without writing to it.
func readerHasLeft(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	poll := []unix.PollFd{{Fd: int32(file.Fd())}} //nolint:gosec // descriptors are small numbers
	ready, err := unix.Poll(poll, 0)
	return err == nil && ready > 0 && poll[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0
}
