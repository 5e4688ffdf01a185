package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/applock/applock/applock/migrate"
)

func (a *app) guardCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "guard print",
		Short: "Refuse writes without an asserted lock",
		Long: `Triggers make a table refuse the write of a row unless the transaction has asserted the lock of the row,
with assert_appl_lock. An administrator reads and runs what "applockctl guard print" prints.`,
		Example: `  applockctl guard print --dialect postgres --table crm.document --type document --id-column id`,
	}
	command.AddCommand(a.guardPrintCommand())
	return command
}

func (a *app) guardPrintCommand() *cobra.Command {
	var request migrate.GuardScriptRequest
	command := &cobra.Command{
		Use:   "print --table T [--type TYPE --id-column C] [--dialect NAME] [--insert] [--down]",
		Short: "Print the guard of a table as SQL",
		Long: `Prints triggers as SQL for the command-line client of PostgreSQL, or of MySQL and MariaDB. It does not
connect. With --output json it prints SQL, too.

The triggers make an UPDATE or DELETE of a row of T assert the lock of the object TYPE:ID, where ID is the
row's value in column C. They use the operator and fence of the last successful assert_appl_lock of this
object: on PostgreSQL in this transaction, on MySQL and MariaDB in this session. Without one, or if that
lock has ended, the statement fails with SQLSTATE LK002. An UPDATE that changes C needs both objects.
--insert also guards new rows: get and assert the lock of the new id first.

T is NAME or SCHEMA.NAME. Write T and C as in SQL: in quotes if they have special characters; a reserved
word needs none. A table has one guard; a new one replaces it, and --down prints its removal. On MySQL the
procedures are in the database of T unless --schema names another one.

docs/guard.md says what a guard does not see, for example TRUNCATE, and what it costs. SQLite and Db2 have no
guards.`,
		Example: `  applockctl guard print --dialect postgres --table crm.document --type document --id-column id | psql -f -
  applockctl guard print --dialect mysql --table document --type document --id-column id | mysql crm
  applockctl guard print --dialect postgres --table crm.document --down > unguard.sql`,
		RunE: body(func(context.Context, []string) error {
			request.Schema = a.schema
			return a.printScript("guard print", &request.Dialect, func() (string, error) { return migrate.GuardScript(request) })
		}),
	}
	command.Flags().StringVar(&request.Dialect, "dialect", "", "the kind of database: postgres, mysql or mariadb; by default that of the DSN")
	complete(command, "dialect", dialectNames()...)
	command.Flags().StringVar(&request.Table, "table", "", "the table, NAME or SCHEMA.NAME")
	command.Flags().StringVar(&request.ObjectType, "type", "", "the type of the objects that the rows stand for")
	command.Flags().StringVar(&request.IDColumn, "id-column", "", "the column with the id of the object")
	command.Flags().BoolVar(&request.Insert, "insert", false, "guard new rows, too")
	command.Flags().BoolVar(&request.Down, "down", false, "print the removal of the guard")
	require(command, "table")
	return command
}
