package migrate_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/applock/applock/applock/migrate"
	"github.com/applock/applock/internal/db"
)

// Goal: who signs off an installation sees each thing that it creates, what that is for, and who may use it. Method: the script of each dialect has as
// many CREATE statements; each has a text; the operations and views of the contract have their role, and nothing else has one.
func TestSummary(t *testing.T) {
	t.Parallel()
	for _, dialect := range []string{"postgres", "mysql", "db2", "sqlite"} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			created, err := migrate.Summary(migrate.SummaryRequest{Dialect: dialect})
			if err != nil {
				t.Fatal(err)
			}
			script, err := migrate.Script(migrate.ScriptRequest{Dialect: dialect})
			if err != nil {
				t.Fatal(err)
			}
			statements := 0
			for line := range strings.Lines(script) {
				isOther := regexp.MustCompile(`^CREATE (INDEX|SCHEMA|TYPE|TEMPORARY) `).MatchString(line)
				if strings.HasPrefix(line, "CREATE ") && !isOther {
					statements++
				}
			}
			if len(created) != statements {
				t.Errorf("%d lines of %d CREATE statements", len(created), statements)
			}
			for _, each := range created {
				if each.What == "" || each.Role != string(db.RoleWith(each.Name)) {
					t.Errorf("%+v", each)
				}
				if isInternal := strings.HasPrefix(each.What, "Internal to applock"); isInternal && each.Role != "" {
					t.Errorf("%s is internal, and role %s may use it", each.Name, each.Role)
				}
			}
		})
	}
}
