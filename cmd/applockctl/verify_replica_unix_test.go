//go:build unix

package main

import (
	"database/sql"
	"strings"
	"testing"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/testing/testdb"
)

// Goal: on a replica verify says that it is one and what to do, and does not try to play there; inquire and list answer, and what
// changes something or reads who looks says what to do. Method: a server of the test's own with an installation and its hot standby; commands on both, as processes; verify once
// more when the standby is the primary.
func TestHeavyVerifyReplica(t *testing.T) {
	t.Parallel()
	b := binary{path: testdb.Applockctl(t), directory: t.TempDir()}
	primary := testdb.OwnPostgres(t, "fsync = off\n")
	b.dsn = primary.DSN()
	postgresServer.installAsOwner(t, b.dsn)
	b.checkGreen(t)
	if got := b.run(t.Context(), "get", "customer:42", "--operator", "JDOE"); got.code != exitYes {
		t.Fatalf("get: %s", got.stderr)
	}
	b.dsn = testdb.StandbyOf(t, primary, "").DSN()
	answers, got := b.verified(t)
	const replica = "the server is a replica, which is in recovery: name the primary in the DSN"
	if failed := failures(answers); got.code != exitNo || len(failed) != 1 || failed[0].Check != "primary" || failed[0].Text != replica {
		t.Errorf("exit code %d: %s%s", got.code, got.stdout, got.stderr)
	}
	if last := answers[len(answers)-1]; last.Check != "round" || last.Outcome != outcomeNote || last.Text != "not played: the server takes no changes" {
		t.Errorf("of the round it says: %v", last)
	}
	for _, args := range [][]string{{"inquire", "customer:42"}, {"list"}} {
		if got := b.run(t.Context(), args...); got.code != exitYes || !strings.Contains(got.stdout, "JDOE") {
			t.Errorf("%s on a replica: exit code %d, %s%s", args[0], got.code, got.stdout, got.stderr)
		}
	}
	for args, told := range map[string]string{
		"get customer:43 --operator JDOE":                               applock.ErrReadOnly.Error(),
		"see customer:42 --operator BROWN --state viewing --client tab": applock.ErrReadOnly.Error(),
		"viewers": "a replica does not know who looks at an object: connect to the primary", // a standby does not have that table
		"ask customer:42 --operator BROWN --client tab": applock.ErrReadOnly.Error(),
	} {
		if got := b.run(t.Context(), strings.Fields(args)...); got.code != exitError || !strings.Contains(got.stderr, told) {
			t.Errorf("%s on a replica: exit code %d, %s", args, got.code, got.stderr)
		}
	}
	promote(t, b.dsn)
	b.checkGreen(t)
}

// promote makes a primary of a standby, which ends its recovery first.
func promote(t *testing.T, dsn string) {
	t.Helper()
	handle, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = handle.Close() }()
	var promoted bool
	if err := handle.QueryRowContext(t.Context(), "SELECT pg_promote(true, 600)").Scan(&promoted); err != nil || !promoted {
		t.Fatal(promoted, err)
	}
}
