package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/applock/applock/applock/migrate"
	"github.com/applock/applock/applock/open"
	"github.com/applock/applock/cmd/applockctl/internal/table"
	"github.com/applock/applock/internal/inspect"
)

func (a *app) migratePrintCommand() *cobra.Command {
	var request migrate.ScriptRequest
	var summary bool
	command := &cobra.Command{
		Use:   "print [--dialect NAME] [--platform NAME] [--from N] [--to N] [--down] [--summary]",
		Short: "Print steps as SQL",
		Long: `Prints steps as SQL for the database's own command-line client, for a database administrator to read and
run: in one transaction, except on MySQL, where CREATE is not transactional. The result equals that of
"applockctl migrate up". It does not connect. With --output json it prints SQL, too.

--from is the step that the database has, and --to the wanted step: --from 1 --to 2 prints step 2. Without
them it prints all steps. --down prints SQL that undoes steps, from the newest one to the first: --down
--from 2 --to 1 undoes step 2. If the database does not have the step --from, for example because the script
was run before, the script stops at its beginning with an error, and changes nothing. A script of --down
does not look for live locks.

With --summary it prints a line for each table, view and routine that the steps create: its purpose, and
the roles that have the right to it.

For Db2 --platform is luw (Linux, UNIX and Windows, for the command line processor) or zos (for SPUFI or
DSNTEP2, with lines of at most 72 columns).`,
		Example: `  applockctl migrate print --dialect postgres | psql -v ON_ERROR_STOP=1 -f -
  applockctl migrate print --dialect mysql | mysql crm
  applockctl migrate print --dialect db2 > applock.sql && db2 +c -s -td@ -vf applock.sql && db2 commit
  applockctl migrate print --dialect mysql --summary
  applockctl migrate print --dialect postgres --from 1 --to 2 > upgrade.sql
  applockctl migrate print --dialect postgres --down > uninstall.sql
  applockctl --schema crmlock migrate print --dialect db2 --platform zos > applock.sql
  applockctl --schema crm_lock migrate print --dialect postgres > applock.sql`,
		RunE: body(func(context.Context, []string) error {
			if summary {
				return a.migrateSummary(request)
			}
			request.Schema = a.schema
			return a.printScript("migrate print", &request.Dialect, func() (string, error) { return migrate.Script(request) })
		}),
	}
	command.Flags().StringVar(&request.Dialect, "dialect", "",
		"the kind of database (postgresql and mariadb will do, too); by default that of the DSN")
	complete(command, "dialect", dialectNames()...)
	command.Flags().StringVar(&request.Platform, "platform", "", "the kind of system that a db2 database is on: luw or zos")
	complete(command, "platform", "luw", "zos")
	command.Flags().Int64Var(&request.From, "from", 0, "the step that the database has")
	command.Flags().Int64Var(&request.To, "to", 0, "the step that it shall have in the end; by default the newest, and 0 with --down")
	command.Flags().BoolVar(&request.Down, "down", false, "print SQL that undoes steps")
	command.Flags().BoolVar(&summary, "summary", false, "print what is created, a line each, instead of the SQL")
	for _, flag := range []string{"from", "to", "down"} {
		command.MarkFlagsMutuallyExclusive("summary", flag)
	}
	return command
}

// createdAnswer is a table, view or routine that the steps create.
type createdAnswer struct {
	Kind  string   `json:"kind"`
	Name  string   `json:"name"`
	Roles []string `json:"roles"`
	What  string   `json:"what"`
}

func (r createdAnswer) fields() []table.Field {
	return []table.Field{
		{Title: "KIND", Value: r.Kind},
		{Title: "NAME", Value: r.Name},
		{Title: "ROLES", Value: cmp.Or(strings.Join(r.Roles, " "), "-")},
		{Title: "WHAT", Value: r.What},
	}
}

func (a *app) migrateSummary(request migrate.ScriptRequest) error {
	created, err := a.created(request)
	if err != nil {
		return fmt.Errorf("migrate print: %w", err)
	}
	return printEach(a, createdAnswer{}, created, func(each inspect.Created) record {
		each.Roles = append([]string{}, each.Roles...) // an empty list in JSON
		return createdAnswer(each)
	})
}

// created returns what the steps create.
func (a *app) created(request migrate.ScriptRequest) ([]inspect.Created, error) {
	dialect, err := a.dialectName(request.Dialect)
	if err != nil {
		return nil, err
	}
	script, err := migrate.Script(migrate.ScriptRequest{Dialect: dialect, Platform: request.Platform})
	if err != nil {
		return nil, err
	}
	reference, err := migrate.Script(migrate.ScriptRequest{Dialect: "postgres"})
	return inspect.WhatIsCreated(script, reference), err
}

func dialectNames() []string {
	var names []string
	for _, known := range open.Dialects() {
		names = append(names, known.Name)
	}
	return names
}
