package main

import (
	"strings"
	"testing"

	"github.com/applock/applock/internal/testing/testclient"

	"github.com/applock/applock/internal/db"
)

// announce lists waiters, as a program does that waits.
func announce(t *testing.T, u user, waiters ...db.AnnounceApplLockWaiterParams) {
	t.Helper()
	dsn := u.environment[dsnVariable]
	driver := testclient.Open(t, dsn, "", nil).Driver()
	for _, waiter := range waiters {
		waiter.ClientID = "p1"
		if err := driver.AnnounceApplLockWaiter(t.Context(), waiter); err != nil {
			t.Fatal(err)
		}
	}
}

// Goal: those who wait are listed with the same filters as locks, the same on every dialect. Method: three waiters.
func TestListWaiting(t *testing.T) {
	t.Parallel()
	onEveryDialect(t, func(t *testing.T, u user) {
		announce(t, u,
			db.AnnounceApplLockWaiterParams{ObjectType: "order", ObjectID: "7", OperatorID: "jdoe", DepartmentID: "sales", WaitSeconds: 600},
			db.AnnounceApplLockWaiterParams{ObjectType: "customer", ObjectID: "42", OperatorID: "J\tDöe"},
			db.AnnounceApplLockWaiterParams{ObjectType: "customer", ObjectID: "42", OperatorID: "asmith", DepartmentID: "sales"},
		)
		got := u.must(t, "list", "--waiting")
		want := `OBJECT       WAITING   DEPARTMENT  SINCE                    UNTIL
customer:42  "J\tDöe"  -           yyyy-mm-dd hh:mm:ss UTC  -
customer:42  asmith    sales       yyyy-mm-dd hh:mm:ss UTC  -
order:7      jdoe      sales       yyyy-mm-dd hh:mm:ss UTC  yyyy-mm-dd hh:mm:ss UTC
`
		if normalise(got.stdout) != want || got.stderr != "3 waiters\n" {
			t.Errorf("list --waiting prints\n%s%s", got.stdout, got.stderr)
		}
		want = `{"outcome":"WAITING","object_type":"order","object_id":"7","operator_id":"jdoe","department_id":"sales",` +
			`"holder":"","holder_department":"","fence":0,"acquired_ts":null,"lock_ts":null,"expires_ts":null,"seconds_left":0,"client_id":"p1",` +
			`"since_ts":"yyyy-mm-ddThh:mm:ss.ffffffZ","until_ts":"yyyy-mm-ddThh:mm:ss.ffffffZ","listed_until_ts":"yyyy-mm-ddThh:mm:ss.ffffffZ"}` + "\n"
		if got := u.must(t, "list", "--waiting", "--type", "order", "--output", "json").stdout; normalise(got) != want {
			t.Errorf("it prints %s", got)
		}
		if got := u.must(t, "list", "--waiting", "--operator", "asmith", "--output", "json").stdout; !strings.Contains(got, `"until_ts":null`) {
			t.Errorf("it prints %s", got)
		}
		for filter, lines := range map[string]int{"--type=customer": 2, "--department=sales": 2, "--operator=jdoe": 1, "--operator=nobody": 0} {
			if got := u.must(t, "list", "--waiting", filter, "--output", "json").stdout; strings.Count(got, "\n") != lines {
				t.Errorf("%s: %s", filter, got)
			}
		}
		if got := u.must(t, "list", "--output", "json").stdout; got != "" {
			t.Errorf("waiters are listed as locks: %s", got)
		}
		u.run(t, "list", "--waiting", "--type", "a:b").check(t, exitUsage, "list waiters: --type must not contain")
	})
}
