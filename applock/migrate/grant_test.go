package migrate_test

import (
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/migrate"
	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/testing/testfile"
)

func roles() []string {
	return []string{"operator", "supervisor", "auditor", "janitor", "administrator"}
}

// Goal: the grants in docs/grants and the table in docs/grants.md are those that Grant runs. Method: print each role's and compare;
// APPLOCK_UPDATE_GOLDEN=1 (make golden) rewrites them. The tests of each dialect run the files.
func TestGrantsEqualThePage(t *testing.T) {
	t.Parallel()
	const page, begin, end = "../../docs/grants.md", "do not edit below -->\n", "<!-- roles: end -->"
	for _, dialect := range []string{"postgres", "mysql", "db2"} {
		requireGolden(t, "../../docs/grants/"+dialect+".sql", allGrants(t, dialect))
	}
	before, rest, hasBegin := strings.Cut(testfile.Read(t, page), begin)
	_, after, hasEnd := strings.Cut(rest, end)
	if !hasBegin || !hasEnd {
		t.Fatalf("%s has no place for the table of roles", page)
	}
	requireGolden(t, page, before+begin+"\n"+rightsTable(t)+"\n"+end+after)
}

func requireGolden(t *testing.T, file, want string) {
	t.Helper()
	if os.Getenv("APPLOCK_UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != want {
		t.Errorf("%s differs from what Grant runs (%v): run `make golden`", file, err)
	}
}

// allGrants returns what each role of a dialect is granted.
func allGrants(t *testing.T, dialect string) string {
	t.Helper()
	var all []string
	for _, role := range roles() {
		all = append(all, "-- "+role+"\n"+grantsOf(t, dialect, role))
	}
	return strings.Join(all, "\n")
}

func grantsOf(t *testing.T, dialect, role string) string {
	t.Helper()
	script, err := migrate.GrantScript(migrate.GrantScriptRequest{Dialect: dialect, Role: role, To: "applock_" + role})
	if err != nil {
		t.Fatal(err)
	}
	return script
}

// rightsTable returns a row for each operation and view, with what each role may do.
func rightsTable(t *testing.T) string {
	t.Helper()
	var table strings.Builder
	table.WriteString("| call or view | " + strings.Join(roles(), " | ") + " |\n|---" + strings.Repeat("|:-:", len(roles())) + "|\n")
	for _, name := range granted(t) {
		table.WriteString("| [`" + name + "`](reference.md#" + name + ")")
		for _, role := range roles() {
			may := ""
			if regexp.MustCompile(`\bapplock\.` + name + `\b`).MatchString(grantsOf(t, "db2", role)) {
				may = "yes"
			}
			table.WriteString(" | " + may)
		}
		table.WriteString(" |\n")
	}
	return table.String()
}

// granted returns the names of all operations and views in the order of the contract.
func granted(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, operation := range db.Contract() {
		names = append(names, operation.Name)
	}
	for _, view := range db.Views() {
		names = append(names, view.Name)
	}
	return names
}

// Goal: a name that would leave its place in a statement stays in it or is refused. Method: names with quotes, and what
// cannot be.
func TestGrantScriptQuotesNames(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		request migrate.GrantScriptRequest
		want    string
	}{
		{migrate.GrantScriptRequest{Dialect: "postgres", Role: "janitor", To: `a"b; DROP`}, `TO "a""b; DROP";`},
		{migrate.GrantScriptRequest{Dialect: "postgres", Role: "janitor", To: "PUBLIC"}, `TO "PUBLIC";`},
		{migrate.GrantScriptRequest{Dialect: "postgres", Role: "janitor", To: "Shop"}, `TO "Shop";`},
		{migrate.GrantScriptRequest{Dialect: "mysql", Role: "janitor", To: `a'b@10.0.0.%`}, `TO 'a''b'@'10.0.0.%';`},
		{migrate.GrantScriptRequest{Dialect: "mysql", Schema: "shop", Role: "janitor", To: "cron"}, `ON PROCEDURE shop.purge_appl_locks TO 'cron';`},
		{migrate.GrantScriptRequest{Dialect: "db2", Role: "janitor", To: "cron"}, `ON PROCEDURE applock.purge_appl_locks TO ROLE cron;`},
	} {
		script, err := migrate.GrantScript(test.request)
		if err != nil || !strings.Contains(script, test.want) {
			t.Errorf("%+v: %v\n%s\nwant %s", test.request, err, script, test.want)
		}
	}
	for argument, request := range map[string]migrate.GrantScriptRequest{
		"Dialect": {Dialect: "sqlite", Role: "janitor", To: "cron"},
		"Role":    {Dialect: "mysql", Role: "owner", To: "cron"},
		"To":      {Dialect: "db2", Role: "janitor", To: "cron; DROP"},
		"Schema":  {Dialect: "mysql", Schema: "a b", Role: "janitor", To: "cron"},
	} {
		_, err := migrate.GrantScript(request)
		var invalid *applock.InvalidError
		if !errors.As(err, &invalid) || invalid.Argument != argument {
			t.Errorf("%+v: %v, want the %s to be refused", request, err, argument)
		}
	}
}
