package migrate_test

import (
	"cmp"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/migrate"
	"github.com/applock/applock/internal/testing/testclient"
	"github.com/applock/applock/internal/testing/testdb"
)

// shell is a database and the product's own client.
type shell struct {
	dialect, dsn string
	// run gives a script to the client and returns what that says, and its failure.
	run func(script string) (string, error)
}

func shells(t *testing.T) map[string]func(t *testing.T) shell {
	t.Helper()
	all := map[string]func(t *testing.T) shell{
		"sqlite": func(t *testing.T) shell {
			t.Helper()
			file := filepath.Join(t.TempDir(), "shop.db")
			program := testdb.SQLite3(t)
			return shell{"sqlite", "sqlite:" + file, func(script string) (string, error) {
				return feed(exec.CommandContext(t.Context(), program, file), script)
			}}
		},
		"postgres": func(t *testing.T) shell {
			t.Helper()
			dsn := testdb.Postgres(t)
			psql := testdb.Psql(t)
			return shell{"postgresql", dsn, func(script string) (string, error) {
				return feed(exec.CommandContext(t.Context(), psql, "--no-psqlrc", "--quiet", "-v", "ON_ERROR_STOP=1", dsn), script)
			}}
		},
	}
	for _, product := range testdb.MySQLProducts() {
		all[product] = func(t *testing.T) shell {
			t.Helper()
			dsn := testdb.MySQL(t, product)
			return shell{product, dsn, func(script string) (string, error) {
				output, complaints, err := testdb.TryMySQLClient(t, product, dsn, script)
				return output + complaints, err
			}}
		}
	}
	return all
}

func feed(command *exec.Cmd, script string) (string, error) {
	command.Stdin = strings.NewReader(script)
	output, err := command.CombinedOutput()
	return string(output), err
}

// must runs a script that has to work.
func (s shell) must(t *testing.T, request migrate.ScriptRequest) {
	t.Helper()
	request.Dialect = s.dialect
	script, err := migrate.Script(request)
	if err != nil {
		t.Fatal(err)
	}
	if output, err := s.run(script); err != nil {
		t.Fatalf("%+v: %v\n%s", request, err, output)
	}
}

// refuse runs a script that has to end at its guard.
func (s shell) refuse(t *testing.T, request migrate.ScriptRequest, want string) {
	t.Helper()
	request.Dialect = s.dialect
	script, err := migrate.Script(request)
	if err != nil {
		t.Fatal(err)
	}
	output, err := s.run(script)
	if err == nil || !strings.Contains(output, want) {
		t.Errorf("%+v: %v, want %q in\n%s", request, err, want, output)
	}
}

// Goal: a DBA goes up and down by printed scripts, and one that does not begin where the database is says so and changes
// nothing. Method: each product's own client runs them, step by step, each twice; the status is looked at after each, and
// a lock that is held all the time is the same afterwards.
func TestScriptsLeadUpAndDown(t *testing.T) {
	t.Parallel()
	newest := testclient.NewestStep(t)
	for name, open := range shells(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			client := testclient.Open(t, s.dsn, "", nil)
			applied := func(want int) {
				t.Helper()
				status, err := migrate.Status(t.Context(), client)
				got := 0
				for _, step := range status.Steps {
					if !step.AppliedAt.IsZero() {
						got++
					}
				}
				// The clients log in as administrators, who are no good owners.
				findings := slices.DeleteFunc(status.Findings, func(f migrate.Finding) bool { return f.NeedsOwner })
				if err != nil || got != want || len(findings) != 0 {
					t.Errorf("%d steps are applied, %v, want %d; findings %v", got, err, want, findings)
				}
			}
			s.must(t, migrate.ScriptRequest{To: 1})
			s.refuse(t, migrate.ScriptRequest{To: 1}, "applock: step 1 is applied already (migrate print --from 1)")
			applied(1)
			s.must(t, migrate.ScriptRequest{From: 1, To: int64(newest)})
			object := applock.Object{Type: "customer", ID: "42"}
			lock, err := client.Get(t.Context(), applock.GetRequest{Object: object, Owner: applock.Owner{Operator: "JDOE"}})
			if err != nil {
				t.Fatal(err)
			}
			for _, again := range []migrate.ScriptRequest{{}, {To: 1}, {From: 1}, {From: 1, Down: true}} {
				s.refuse(t, again, fmt.Sprintf("applock: step %[1]d is applied already (migrate print --from %[1]d)", newest))
			}
			applied(newest)
			if found, err := client.Inquire(t.Context(), object); err != nil || found.Fence != lock.Fence {
				t.Errorf("the lock is %v, %v, was %v", found, err, lock)
			}
			s.must(t, migrate.ScriptRequest{To: 1, Down: true})
			s.refuse(t, migrate.ScriptRequest{To: 1, Down: true}, fmt.Sprintf("applock: step %d is not applied (migrate print --from 1)", newest))
			applied(1)
			s.must(t, migrate.ScriptRequest{From: 1, Down: true})
			applied(0)
			s.refuse(t, migrate.ScriptRequest{Down: true}, "appl_lock_goose")
			s.must(t, migrate.ScriptRequest{})
			applied(newest)
		})
	}
}

// Goal: a way that cannot be is refused, with the argument's name. Method: steps that there are not, and ways that lead
// nowhere or in the other direction.
func TestScriptRefusesOtherWays(t *testing.T) {
	t.Parallel()
	newest := testclient.NewestStep(t)
	within, over := fmt.Sprintf("must lie between 0 and %d", newest), int64(newest+1)
	for want, request := range map[string]migrate.ScriptRequest{
		"From " + within: {From: over, Down: true},
		"To " + within:   {To: over},
		fmt.Sprintf("From %d is the newest step: a database t", newest): {From: int64(newest)},
		"To must be greater than 1 on the way up":                       {From: 1, To: 1},
		"To must be less than 1 on the way down":                        {From: 1, To: 2, Down: true},
		"From " + within + " ":                                          {From: -1},
		"Schema \"Bad\": must have":                                     {Schema: "Bad", Dialect: "db2"},
		"Schema \"other\": ":                                            {Schema: "other", Dialect: "sqlite"},
	} {
		request.Dialect = cmp.Or(request.Dialect, "mariadb")
		if _, err := migrate.Script(request); !errors.Is(err, applock.ErrInvalid) || !strings.Contains(err.Error()+" ", want) {
			t.Errorf("%+v: %v, want %s", request, err, want)
		}
	}
}
