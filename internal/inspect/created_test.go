package inspect_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/applock/applock/applock/migrate"
	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/inspect"
)

// Goal: who signs off an installation sees each thing that it creates, what that is for, and who may use it. Method: the script of each dialect has as
// many CREATE statements; each has a text; the operations and views of the contract have their roles, all of them, and nothing else has one.
func TestWhatIsCreated(t *testing.T) {
	t.Parallel()
	for _, dialect := range []string{"postgres", "mysql", "db2", "sqlite"} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			script, err := migrate.Script(migrate.ScriptRequest{Dialect: dialect})
			if err != nil {
				t.Fatal(err)
			}
			reference, err := migrate.Script(migrate.ScriptRequest{Dialect: "postgres"})
			if err != nil {
				t.Fatal(err)
			}
			created := inspect.WhatIsCreated(script, reference)
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
				if each.What == "" || !slices.Equal(each.Roles, wholeRoles(each.Name)) {
					t.Errorf("%+v, want the roles %q", each, wholeRoles(each.Name))
				}
				if isInternal := strings.HasPrefix(each.What, "Internal to applock"); isInternal && len(each.Roles) > 0 {
					t.Errorf("%s is internal, and roles %q may use it", each.Name, each.Roles)
				}
				if each.Name == "appl_lock_fence" && !strings.Contains(each.What, "greatest fence") {
					t.Errorf("the table of the fence: %q", each.What)
				}
			}
		})
	}
}

// wholeRoles are the roles whose grants name a routine or a view on PostgreSQL or MySQL.
func wholeRoles(name string) (roles []string) {
	named := regexp.MustCompile(`\b` + name + `\b`)
	for _, role := range db.Roles() {
		for _, dialect := range []string{"postgres", "mysql"} {
			script, err := migrate.GrantScript(migrate.GrantScriptRequest{Dialect: dialect, Role: string(role), To: "x"})
			if err == nil && named.MatchString(script) && !slices.Contains(roles, string(role)) {
				roles = append(roles, string(role))
			}
		}
	}
	return roles
}
