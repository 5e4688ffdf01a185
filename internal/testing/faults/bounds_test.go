//go:build linux

package faults_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// diskSize is what a server's disk has, where it has one of its own.
const diskSize = "1g"

// confine gives the server a disk of its own, which can be filled. Only root may.
func (s *server) confine(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		return
	}
	if err := unix.Mount("none", s.folder, "tmpfs", 0, "size="+diskSize); err != nil {
		t.Logf("the disk of %s cannot be filled: %v", s.product, err)
		return
	}
	t.Cleanup(func() { _ = unix.Unmount(s.folder, unix.MNT_DETACH) })
	s.confined = true
}

// ballast fills the disk.
func (s *server) ballast() string { return filepath.Join(s.folder, "ballast") }

// fill leaves nothing free on the disk.
func (s *server) fill(t *testing.T) {
	t.Helper()
	file, err := os.OpenFile(s.ballast(), os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	block := make([]byte, 1<<20)
	for size := len(block); size >= os.Getpagesize() && err == nil; {
		if _, err = file.Write(block[:size]); errors.Is(err, syscall.ENOSPC) {
			size, err = size/2, nil
		}
	}
	if err := errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
	if s.product != postgres {
		return
	}
	admin, err := openAdmin(s.product, s.dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = admin.Close() }()
	for range 4 { // what there is of the write-ahead log would last
		_, _ = admin.ExecContext(t.Context(), "SELECT pg_switch_wal()") // the server may end of it
	}
}

// spill gives back what fill has taken.
func (s *server) spill(t *testing.T) {
	t.Helper()
	if err := os.Remove(s.ballast()); err != nil {
		t.Fatal(err)
	}
}

// fake has the server ask libfaketime for the time of day, which asks a file by how much to be wrong. Where that is not installed the
// clock stays right.
func (s *server) fake(t *testing.T) {
	t.Helper()
	libraries, _ := filepath.Glob("/usr/lib/*/faketime/libfaketime.so.1")
	if os.Getenv(clocksVariable) == "no" || len(libraries) == 0 {
		t.Logf("the clock of %s is not set: there is no libfaketime, or %s says no", s.product, clocksVariable)
		return
	}
	s.step(t, 0)
	s.own(t, filepath.Base(s.clock()))
	s.env = append(s.env, "LD_PRELOAD="+libraries[0], "FAKETIME_TIMESTAMP_FILE="+s.clock(), "FAKETIME_NO_CACHE=1",
		"FAKETIME_DONT_FAKE_MONOTONIC=1", "FAKETIME_DISABLE_SHM=1")
	s.faked = true
}

func (s *server) clock() string { return filepath.Join(s.folder, "clock") }

// grain is what a busy machine may take to tell the time.
const grain = 10 * time.Minute

// step puts the server's clock before or behind the machine's. A process that asks meanwhile sees the former time or the latter.
func (s *server) step(t *testing.T, by time.Duration) {
	t.Helper()
	fresh := s.clock() + ".new"
	err := os.WriteFile(fresh, fmt.Appendf(nil, "%+d\n", int(by.Seconds())), 0o644)
	if err := errors.Join(err, os.Rename(fresh, s.clock())); err != nil {
		t.Fatal(err)
	}
}

// restarts is how often a server is started again until its clock is right.
const restarts = 5

// set puts the server's clock before the machine's. Now and then libfaketime does not notice, and then the server is started again.
func (s *server) set(t *testing.T, by time.Duration) {
	t.Helper()
	s.step(t, by)
	for range restarts {
		if s.isOff(t, by) {
			return
		}
		s.kill()
		s.start(t)
		s.await(t)
	}
	if !s.isOff(t, by) {
		t.Fatalf("the clock of %s cannot be set", s.product)
	}
}

// looks is how often a clock is looked at: one look of many is answered by the machine's own.
const looks = 5

// isOff reports whether the server's clock is as far before the machine's.
func (s *server) isOff(t *testing.T, by time.Duration) bool {
	t.Helper()
	admin, err := openAdmin(s.product, s.dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = admin.Close() }()
	query := "SELECT unix_timestamp()"
	if s.product == postgres {
		query = "SELECT extract(epoch FROM clock_timestamp())::bigint"
	}
	right := 0
	for range looks {
		var seconds int64
		err := admin.QueryRowContext(t.Context(), query).Scan(&seconds)
		switch {
		case err != nil: // a server whose clock has just jumped ends sessions now and then
			t.Logf("the clock of %s: %v", s.product, err)
		case (time.Until(time.Unix(seconds, 0)) - by).Abs() < grain:
			right++
		}
	}
	return right > looks/2
}

// faults are those that the server can have.
func (s *server) faults() []string {
	return slices.DeleteFunc(faultsOf(s.product), func(fault string) bool {
		return fault == faultFull && !s.confined || strings.HasPrefix(fault, clockFault) && !s.faked
	})
}
