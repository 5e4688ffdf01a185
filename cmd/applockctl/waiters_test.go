package main

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/applock/applock/internal/testing/testclient"

	"github.com/applock/applock/internal/clients"
	"github.com/applock/applock/internal/db"
)

// announce lists waiters, as a program does that waits, each at a time of its own: SQLite counts milliseconds.
func announce(t *testing.T, u user, waiters ...db.AnnounceApplLockWaiterParams) {
	t.Helper()
	dsn := u.environment[dsnVariable]
	driver := clients.Driver(testclient.Open(t, dsn, "", nil))
	for _, waiter := range waiters {
		waiter.ClientID = "p1"
		if err := driver.AnnounceApplLockWaiter(t.Context(), waiter); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// Goal: those who wait are listed with the same filters as locks, the same. Method: three waiters.
func TestListWaiting(t *testing.T) {
	t.Parallel()
	u := sqliteUser(t)
	announce(t, u,
		db.AnnounceApplLockWaiterParams{ObjectType: "order", ObjectID: "7", OperatorID: "jdoe", DepartmentID: "sales", WaitSeconds: 600},
		db.AnnounceApplLockWaiterParams{ObjectType: "customer", ObjectID: "42", OperatorID: `J"Döe`},
		db.AnnounceApplLockWaiterParams{ObjectType: "customer", ObjectID: "42", OperatorID: "asmith", DepartmentID: "sales"},
	)
	u.must(t, "get", "customer:42", "--operator", "mlee", "--department", "service")
	got := u.must(t, "list", "--waiting")
	want := `OBJECT  WAITING  SINCE  HOLDER  LEFT  PROGRAM
customer:42  J"Döe  <time>  mlee  <left>  p1
customer:42  asmith  <time>  mlee  <left>  p1
order:7  jdoe  <time>  -  -  p1
`
	if normalise(got.stdout) != want || got.stderr != "3 waiters\n" {
		t.Errorf("list --waiting prints\n%s%s", got.stdout, got.stderr)
	}
	want = `OBJECT  WAITING  SINCE  HOLDER  LEFT  PROGRAM  DEPARTMENT  HOLDER'S DEPARTMENT  UNTIL
customer:42  asmith  <time>  mlee  <left>  p1  sales  service  -
order:7  jdoe  <time>  -  -  p1  sales  -  <time>
`
	if got := u.must(t, "list", "--waiting", "--wide", "--department", "sales").stdout; normalise(got) != want {
		t.Errorf("list --waiting --wide prints\n%s", got)
	}
	want = `{"outcome":"WAITING","object_type":"order","object_id":"7","operator_id":"jdoe","department_id":"sales",` +
		`"holder_id":"","holder_department_id":"","fence":0,"acquired_ts":null,"lock_ts":null,"expires_ts":null,"seconds_left":0,"note":"",` +
		`"client_id":"p1","since_ts":"yyyy-mm-ddThh:mm:ss.ffffffZ","until_ts":"yyyy-mm-ddThh:mm:ss.ffffffZ","waited_seconds":0}` + "\n"
	waited := regexp.MustCompile(`"waited_seconds":\d`)
	if got := u.must(t, "list", "--waiting", "--type", "order", "--output", "json").stdout; waited.ReplaceAllString(normalise(got), `"waited_seconds":0`) != want {
		t.Errorf("it prints %s", got)
	}
	if got := u.must(t, "list", "--waiting", "--operator", "asmith", "--output", "json").stdout; !strings.Contains(got, `"until_ts":null`) {
		t.Errorf("it prints %s", got)
	}
	got = u.must(t, "list", "--waiting", "--operator", "asmith", "--output", "json")
	if !inOrder(got.stdout, `"operator_id":"asmith"`, `"holder_id":"mlee","holder_department_id":"service"`, `"seconds_left":60`) {
		t.Errorf("it does not tell the holder: %s", got.stdout)
	}
	for filter, lines := range map[string]int{"--type=customer": 2, "--department=sales": 2, "--operator=jdoe": 1, "--operator=nobody": 0,
		"--no-department": 1, "--older-than=1h": 0, "--prefix=customer": 2, "--limit=1": 1, "--object=order:7": 1, "--object=order:8": 0} {
		if got := u.must(t, "list", "--waiting", filter, "--output", "json").stdout; strings.Count(got, "\n") != lines {
			t.Errorf("%s: %s", filter, got)
		}
	}
	if got := u.must(t, "list", "--output", "json").stdout; strings.Count(got, "\n") != 1 {
		t.Errorf("waiters are listed as locks: %s", got)
	}
	u.run(t, "list", "--waiting", "--type", "a:b").check(t, exitUsage, "list waiters: --type must not contain")
	u.run(t, "list", "--waiting", "--expires-within", "1h").check(t, exitUsage, "list: --expires-within is for locks")
	u.run(t, "list", "--waiting", "--sort", "left").check(t, exitUsage, "list: --sort left is for a list of locks")
}
