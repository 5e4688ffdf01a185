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

// disk is where a server, or SQLite, has its files.
type disk struct {
	folder   string
	confined bool // to the folder, so that it can be filled
}

// diskSize is what one has that is confined. It is memory.
func diskSize(product string) string {
	if product == sqlite {
		return "256m"
	}
	return "1g"
}

// confine gives the folder a disk of its own. Only root may.
func (d *disk) confine(t *testing.T, product string) {
	t.Helper()
	if os.Getuid() != 0 {
		return
	}
	if err := unix.Mount("none", d.folder, "tmpfs", 0, "size="+diskSize(product)); err != nil {
		t.Logf("the disk of %s cannot be filled: %v", product, err)
		return
	}
	t.Cleanup(func() { _ = unix.Unmount(d.folder, unix.MNT_DETACH) })
	d.confined = true
}

// ballast fills the disk.
func (d *disk) ballast() string { return filepath.Join(d.folder, "ballast") }

// fill leaves nothing free on the disk.
func (d *disk) fill(t *testing.T) {
	t.Helper()
	file, err := os.OpenFile(d.ballast(), os.O_CREATE|os.O_WRONLY, 0o600)
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
}

// useLog ends the segments of the write-ahead log that PostgreSQL has: they would last.
func (s *server) useLog(t *testing.T) {
	t.Helper()
	admin, err := openAdmin(s.product, s.dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = admin.Close() }()
	for range 4 {
		_, _ = admin.ExecContext(t.Context(), "SELECT pg_switch_wal()") // the server may end of it
	}
}

// spill gives back what fill has taken.
func (d *disk) spill(t *testing.T) {
	t.Helper()
	if err := os.Remove(d.ballast()); err != nil {
		t.Fatal(err)
	}
}

// fake has the server ask libfaketime for the time of day, which asks a file by how much to be wrong. Where that is not installed the
// clock stays right. Times of files it leaves alone: for those it has one lock for all processes, and whoever died with it stopped all others,
// whose clients then waited for ever.
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
		"FAKETIME_DONT_FAKE_MONOTONIC=1", "FAKETIME_DISABLE_SHM=1", "NO_FAKE_STAT=1")
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

// possible are the faults that can happen here.
func (l *laboratory) possible() []string {
	if l.given {
		return []string{faultNone, faultKillClient, faultReset, faultStopClient, faultCut, faultSlow, faultHasty, faultSilence}
	}
	return slices.DeleteFunc(faultsOf(l.place.Product), func(fault string) bool {
		return fault == faultFull && !l.disk.confined || strings.HasPrefix(fault, clockFault) && !l.server.faked
	})
}
