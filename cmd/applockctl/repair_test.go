package main

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/applock/applock/internal/testing/testdb"
)

// Goal: who restores a dump without procedures is led out of it by what the program says. Method: the product's own
// tools dump a database with a live lock, without --routines, and restore it elsewhere; then the commands are followed
// that the program names, up to a renewal.
func TestRestoreWithoutRoutines(t *testing.T) {
	t.Parallel()
	onMySQL(t, func(t *testing.T, s server) {
		dsn, copied := s.newDatabase(t), s.newDatabase(t)
		from, into := userOf(dsn), userOf(s.newOwner(t, copied))
		from.must(t, "migrate", "up")
		from.must(t, "get", "customer:42", "--operator", "jdoe")
		dump := testdb.DumpMySQL(t, string(s), dsn)
		s.run(t, copied, dump)

		into.run(t, "get", "customer:42", "--operator", "asmith").check(t, exitError, "applockctl migrate repair")
		into.run(t, "migrate", "up").check(t, exitNo, "procedure get_appl_lock_core is missing", "applockctl migrate repair")
		into.run(t, "migrate", "status").check(t, exitNo, "procedure get_appl_lock_row is missing", "applockctl migrate repair")
		into.must(t, "migrate", "repair")
		into.must(t, "migrate", "status")
		into.run(t, "get", "customer:42", "--operator", "asmith").check(t, exitNo)
		if got := into.must(t, "get", "customer:42", "--operator", "jdoe"); !strings.Contains(got.stdout, "RENEWED") {
			t.Errorf("after the repair: %s", got.stdout)
		}
		if again := into.must(t, "migrate", "repair"); again.stdout != "" || again.stderr != "nothing to do, everything is as it should be\n" {
			t.Errorf("repair again: %s%s", again.stdout, again.stderr)
		}
	})
}

// Goal: a restore that forgets the privileges does not let everybody in. Method: pg_restore --no-privileges gives
// PUBLIC the right to execute, as a new function has it; the status says so, and repair takes it back.
func TestRestoreWithoutPrivileges(t *testing.T) {
	t.Parallel()
	s := postgresServer
	dsn, copied := s.newDatabase(t), s.newDatabase(t)
	from, into := userOf(dsn), userOf(copied)
	from.must(t, "migrate", "up")
	from.must(t, "get", "customer:42", "--operator", "jdoe")
	dump := exec.CommandContext(t.Context(), testdb.PostgresTool(t, "pg_dump"), "--format=custom", "--schema=applock", dsn)
	restore := exec.CommandContext(t.Context(), testdb.PostgresTool(t, "pg_restore"), "--no-privileges", "--dbname="+copied)
	var err error
	if restore.Stdin, err = dump.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	if err := dump.Start(); err != nil {
		t.Fatal(err)
	}
	if output, err := restore.CombinedOutput(); err != nil {
		t.Fatalf("pg_restore: %v\n%s", err, output)
	}
	if err := dump.Wait(); err != nil {
		t.Fatal(err)
	}
	const mayPurge = "SELECT has_function_privilege('pg_monitor', 'applock.purge_appl_locks_row(bigint, bigint)', 'EXECUTE')::text"
	if got := s.query(t, copied, mayPurge); got != "true" {
		t.Fatalf("everybody may purge: %s, want the damage", got)
	}
	into.run(t, "migrate", "status").check(t, exitNo,
		"function purge_appl_locks_row may be executed by everybody", "applockctl migrate repair")
	s.giveToOwner(t, copied)
	into.must(t, "migrate", "repair")
	into.must(t, "migrate", "status")
	if got := s.query(t, copied, mayPurge); got != "false" {
		t.Errorf("after the repair everybody may purge: %s", got)
	}
	into.run(t, "get", "customer:42", "--operator", "asmith").check(t, exitNo)
}
