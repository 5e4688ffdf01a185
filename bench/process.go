//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// usedHere is the processor time of this process.
func usedHere() (time.Duration, error) {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0, err
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), nil
}

// ticks is the number of ticks in a second in /proc, on every kernel.
const ticks = 100

// usedBy is the processor time of a server: its process and its children, with the ended ones. It is 0 without /proc.
func usedBy(pid int) time.Duration {
	if pid == 0 {
		return 0
	}
	paths, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is right
	var sum int64
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has just ended
		}
		sum += usedOf(string(text), pid)
	}
	return time.Duration(sum) * time.Second / ticks
}

// usedOf returns the ticks in a line of /proc, if it belongs to the process or a child.
func usedOf(line string, pid int) int64 {
	own, rest, _ := strings.Cut(line, " (")
	fields := strings.Fields(rest[strings.LastIndex(rest, ")")+1:]) // state, parent, ...; the name may have blanks
	number := func(i int) int64 {
		n, _ := strconv.ParseInt(fields[i], 10, 64)
		return n
	}
	const parent, user, system, childUser, childSystem = 1, 11, 12, 13, 14
	if len(fields) <= childSystem {
		return 0
	}
	switch {
	case own == strconv.Itoa(pid):
		return number(user) + number(system) + number(childUser) + number(childSystem)
	case number(parent) == int64(pid):
		return number(user) + number(system)
	}
	return 0
}
