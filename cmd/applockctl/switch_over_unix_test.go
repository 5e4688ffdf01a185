//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/applock/applock/internal/testing/readme"
	"github.com/applock/applock/internal/testing/testdb"
	"github.com/applock/applock/internal/testing/testfile"
)

// Goal: a switch-over by logical replication, which copies no sequences, loses no lock, and its events have greater numbers than all before,
// also those of old events that are purged. Method: the page's blocks between two servers; verify in between, events before and after a repair.
func TestHeavySwitchOver(t *testing.T) {
	t.Parallel()
	s := postgresServer
	const settings = "fsync = off\nwal_level = logical\n"
	former, next := testdb.OwnPostgres(t, settings).DSN(), testdb.OwnPostgres(t, settings).DSN()
	s.exec(t, next, "CREATE ROLE "+s.installAsOwner(t, former)+" LOGIN")
	from, into := userOf(former), userOf(next)
	number := func(dsn string) int {
		number, err := strconv.Atoi(s.query(t, dsn, "SELECT max(event_id)::text FROM applock.appl_lock_event"))
		if err != nil {
			t.Fatal(err)
		}
		return number
	}
	for _, operator := range []string{"A", "B", "C"} {
		from.run(t, "get", "customer:1", "--operator", operator)
		from.must(t, "transfer", "customer:1", "--from", operator, "--to", "JDOE", "--by", "BOSS")
		from.must(t, "release", "customer:1", "--operator", "JDOE")
	}
	from.must(t, "get", "customer:1", "--operator", "JDOE")
	before := number(former)
	s.exec(t, former, "UPDATE applock.appl_lock_event SET event_ts = event_ts - interval '500 days'")
	if got := s.query(t, former, "SELECT applock.purge_appl_lock_history_row()::text"); got != "3" {
		t.Fatalf("%s events purged, want 3", got)
	}
	blocks := regexp.MustCompile("(?s)```bash\n(.*?)```").FindAllStringSubmatch(
		readme.Under(testfile.Read(t, "../../docs/clusters.md"), "Logical replication: another server or a major upgrade"), -1)
	if len(blocks) != 2 {
		t.Fatalf("%d blocks", len(blocks))
	}
	run := func(block string) {
		t.Helper()
		command := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", block)
		command.Env = append(os.Environ(), "OLD="+former, "NEW="+next,
			"PATH="+filepath.Dir(testdb.Applockctl(t))+":"+filepath.Dir(testdb.Psql(t))+":"+os.Getenv("PATH"))
		if output, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s: %s", err, block, output)
		}
	}
	run(blocks[0][1])
	into.run(t, "migrate", "status").check(t, exitNo, "sequence of appl_lock_goose is behind the greatest id", "applockctl migrate repair")
	from.must(t, "get", "customer:2", "--operator", "LATE")
	run(blocks[1][1])
	into.must(t, "transfer", "customer:2", "--from", "LATE", "--to", "JDOE", "--by", "BOSS")
	after := number(next)
	if after <= max(before, number(former)) {
		t.Errorf("event %d after %d", after, max(before, number(former)))
	}
	s.exec(t, next, "ALTER SEQUENCE applock.appl_lock_event_event_id_seq RESTART")
	into.must(t, "transfer", "customer:1", "--from", "JDOE", "--to", "ASMITH", "--by", "BOSS")
	if got := number(next); got <= after {
		t.Errorf("without a repair: event %d after %d", got, after)
	}
}
