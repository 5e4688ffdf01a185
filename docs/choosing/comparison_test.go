package choosing_test

import (
	"errors"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
	"github.com/applock/applock/applock/lease/getlock"
	"github.com/applock/applock/applock/lease/inprocess"
	"github.com/applock/applock/applock/lease/pgadvisory"
	"github.com/applock/applock/applock/lease/redislock"
	"github.com/applock/applock/applock/migrate"
	"github.com/applock/applock/applock/open"
	"github.com/applock/applock/internal/testing/testdb"
	"github.com/applock/applock/internal/testing/testfile"
)

// comparison returns the cells of the page's table of backends by row and backend.
func comparison(t *testing.T) map[string]map[string]string {
	t.Helper()
	_, text, _ := strings.Cut(testfile.Read(t, "../choosing.md"), "\n| | table")
	text, _, _ = strings.Cut(text, "\n\n")
	backends := []string{"table", "inprocess", "pgadvisory", "getlock", "redislock", "etcdlock"}
	rows := map[string]map[string]string{}
	for line := range strings.SplitSeq(text, "\n") {
		cells := strings.Split(strings.Trim(line, "|"), "|")
		if name := strings.TrimSpace(cells[0]); len(cells) == len(backends)+1 && name != "---" && !strings.Contains(name, "applock.Client") {
			rows[name] = map[string]string{}
			for i, backend := range backends {
				rows[name][backend] = strings.TrimSpace(cells[i+1])
			}
		}
	}
	return rows
}

// Goal: each row of the page's comparison is a test. Method: the list of them, which must be there.
func TestEachRowOfTheComparisonIsATest(t *testing.T) {
	t.Parallel()
	// Beside those that TestComparison plays.
	tests := map[string][]string{
		"shared by":                                      {"applock TestLeases", "applock/lease/inprocess TestContract", "applock/lease/pgadvisory TestContract", "applock/lease/getlock TestContract", "applock/lease/redislock TestContract", "applock/lease/etcdlock TestContract"},
		"survives a restart of the server":               {"internal/db/postgres TestCrashAfterTheReleaseOfALease", "applock/lease/pgadvisory TestContract", "applock/lease/getlock TestContract", "applock/lease/redislock TestRestartOfTheServer", "applock/lease/etcdlock TestRestartOfTheCluster"},
		"crashed holder frees it":                        {"applock/lease TestCrashFreesAfterTTL", "applock/lease/pgadvisory TestContract", "applock/lease/getlock TestContract", "applock/lease/redislock TestContract", "applock/lease/etcdlock TestContract"},
		"fence":                                          {"applock TestFencing", "applock/lease/etcdlock TestContract"},
		"who has it, since when":                         {"cmd/applockctl TestSession", "applock/lease/redislock TestKeyAndValue", "applock/lease/etcdlock TestOnOneCluster"},
		"who waits for it":                               {"cmd/applockctl TestListWaiting", "applock/lease/etcdlock TestContract"},
		"`Transfer`, `AcquireAll`, `TryAcquireAll`":      {"applock TestAcquireAllOrNone", "applock/lease TestTransferUnsupported", "applock/lease/etcdlock TestContract"},
		"behind PgBouncer in transaction mode":           {"applock TestLeasesThroughPgBouncer", "applock/lease/pgadvisory TestAPoolerIsRefused"},
		"on a Galera cluster":                            {"docs/choosing TestPlacementOnGalera", "verification/clusters TestGaleraAssertion", "applock/lease/getlock TestGaleraIsRefused"},
		"connections":                                    {"applock TestNoConnectionPinned", "applock TestLeases", "applock/lease/pgadvisory TestContract", "applock/lease/getlock TestContract", "applock/lease/redislock TestContract", "applock/lease/etcdlock TestContract"},
		"a waiter in another process hears of a release": {"applock TestEachWayOfWaking", "applock/lease/pgadvisory TestAReleaseIsTold", "applock/lease/redislock TestAReleaseIsPublished", "applock/lease/etcdlock TestOnOneCluster"},
	}
	for row := range comparison(t) {
		if tests[row] == nil {
			t.Errorf("no test shows the row %q", row)
		}
		for _, test := range tests[row] {
			folder, name, _ := strings.Cut(test, " ")
			files, err := filepath.Glob(filepath.Join("../..", folder, "*_test.go"))
			if err != nil {
				t.Fatal(err)
			}
			found := false
			for _, file := range files {
				found = found || strings.Contains(testfile.Read(t, file), "\nfunc "+name+"(")
			}
			if !found {
				t.Errorf("%q: there is no %s", row, test)
			}
		}
		delete(tests, row)
	}
	if len(tests) > 0 {
		t.Errorf("the page has no such rows: %v", tests)
	}
}

// lockers returns two clients of each backend of this module on one place; inprocess has one.
func lockers(t *testing.T) map[string]func(t *testing.T) [2]lease.Locker {
	t.Helper()
	two := func(one func() (lease.Locker, error)) [2]lease.Locker {
		var both [2]lease.Locker
		for i := range both {
			locker, err := one()
			if err != nil {
				t.Fatal(err)
			}
			both[i] = locker
		}
		return both
	}
	namespace := strings.ReplaceAll(t.TempDir(), "/", "_")
	return map[string]func(t *testing.T) [2]lease.Locker{
		"table": func(t *testing.T) [2]lease.Locker {
			t.Helper()
			dsn := "sqlite:" + filepath.Join(t.TempDir(), "locks.db")
			return two(func() (lease.Locker, error) {
				client, err := open.ByDSN(t.Context(), dsn, open.Config{})
				if err == nil {
					t.Cleanup(func() { _ = client.Close() })
					_, err = migrate.Up(t.Context(), client, migrate.UpRequest{})
				}
				return client, err
			})
		},
		"inprocess": func(t *testing.T) [2]lease.Locker {
			t.Helper()
			leases := inprocess.New()
			t.Cleanup(func() { _ = leases.Close() })
			return [2]lease.Locker{leases, leases}
		},
		"pgadvisory": func(t *testing.T) [2]lease.Locker {
			t.Helper()
			dsn := testdb.Require(t, "postgres")
			return two(func() (lease.Locker, error) {
				leases, err := pgadvisory.New(pgadvisory.Config{DSN: dsn, Namespace: namespace})
				if err == nil {
					t.Cleanup(func() { _ = leases.Close() })
				}
				return leases, err
			})
		},
		"getlock": func(t *testing.T) [2]lease.Locker {
			t.Helper()
			dsn := testdb.Require(t, "mariadb")
			return two(func() (lease.Locker, error) {
				leases, err := getlock.New(getlock.Config{DSN: dsn, Namespace: namespace})
				if err == nil {
					t.Cleanup(func() { _ = leases.Close() })
				}
				return leases, err
			})
		},
		"redislock": func(t *testing.T) [2]lease.Locker {
			t.Helper()
			options, err := redis.ParseURL(testdb.Redis(t))
			if err != nil {
				t.Fatal("the test DSN is no URL")
			}
			options.ContextTimeoutEnabled = true
			server := redis.NewClient(options)
			t.Cleanup(func() { _ = server.Close() })
			return two(func() (lease.Locker, error) {
				leases, err := redislock.New(redislock.Config{Client: server, Namespace: namespace})
				if err == nil {
					t.Cleanup(func() { _ = leases.Close() })
				}
				return leases, err
			})
		},
	}
}

// Goal: what differs between the backends is what the page's comparison says. Method: on each, one lease, a refusal of another client, and a
// transfer. (The contract of etcdlock wants fences, owners and transfers.)
func TestComparison(t *testing.T) {
	t.Parallel()
	rows := comparison(t)
	for backend, open := range lockers(t) {
		t.Run(backend, func(t *testing.T) {
			t.Parallel()
			both := open(t)
			request := applock.AcquireRequest{
				Object: applock.Object{Type: "job", ID: "1"}, Owner: applock.Owner{Operator: "JDOE"}, MaxHold: time.Minute,
			}
			lease, err := both[0].TryAcquire(t.Context(), request)
			if err != nil {
				t.Fatal(err)
			}
			says(t, rows["fence"][backend], "yes", lease.Fence() > 0)
			request.Owner.Operator = "ASMITH"
			_, err = both[1].TryAcquire(t.Context(), request)
			var held *applock.HeldError
			if !errors.As(err, &held) {
				t.Fatalf("somebody else: %v", err)
			}
			says(t, rows["who has it, since when"][backend], "yes|in the", held.Holder.Owner.Operator == "JDOE")
			_, err = lease.Transfer(t.Context(), request.Owner, 0)
			if err != nil && !errors.Is(err, errors.ErrUnsupported) {
				t.Fatal(err)
			}
			says(t, rows["`Transfer`, `AcquireAll`, `TryAcquireAll`"][backend], "yes", err == nil)
		})
	}
}

// says checks that a cell begins in one of these ways exactly if something is so.
func says(t *testing.T, cell, beginnings string, is bool) {
	t.Helper()
	if said := regexp.MustCompile("^(?:" + beginnings + ")").MatchString(cell); cell == "" || said != is {
		t.Errorf("the page says %q, and found is %t", cell, is)
	}
}
