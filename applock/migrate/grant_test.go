package migrate_test

import (
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/migrate"
)

// Goal: the grants in procedures/README.md are those that Grant runs. Method: print each role's and compare;
// APPLOCK_UPDATE_GOLDEN=1 (make golden) rewrites them. The tests of each dialect run the page.
func TestGrantsEqualThePage(t *testing.T) {
	t.Parallel()
	const file = "../../procedures/README.md"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	dialects := []string{"postgres", "mysql", "db2"}
	block := regexp.MustCompile("(?s)```sql\n-- operator\n.*?```\n")
	if found := block.FindAllString(string(text), -1); len(found) != len(dialects) {
		t.Fatalf("%s has %d blocks of grants, want one for each of %v", file, len(found), dialects)
	}
	page := block.ReplaceAllStringFunc(string(text), func(string) string {
		dialect := dialects[0]
		dialects = dialects[1:]
		return allGrants(t, dialect)
	})
	if os.Getenv("APPLOCK_UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(file, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if page != string(text) {
		t.Errorf("the grants in %s differ from those that Grant runs: run `make golden`", file)
	}
}

// allGrants returns the block of a dialect.
func allGrants(t *testing.T, dialect string) string {
	t.Helper()
	var roles []string
	for _, role := range []string{"operator", "supervisor", "auditor", "janitor", "administrator"} {
		script, err := migrate.GrantScript(migrate.GrantScriptRequest{Dialect: dialect, Role: role, To: "applock_" + role})
		if err != nil {
			t.Fatal(err)
		}
		roles = append(roles, "-- "+role+"\n"+script)
	}
	return "```sql\n" + strings.Join(roles, "\n") + "```\n"
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
