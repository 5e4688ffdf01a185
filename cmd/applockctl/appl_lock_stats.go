package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/cmd/applockctl/internal/table"
)

// countedLocks are the numbers of one type and department.
type countedLocks struct{ applock.Stats }

func (c countedLocks) fields() []table.Field {
	return []table.Field{
		{Title: "TYPE", Value: c.ObjectType},
		{Title: "DEPARTMENT", Value: c.Department},
		{Title: "LIVE", Value: c.Live},
		{Title: "EXPIRED", Value: c.Expired},
		{Title: "OLDEST", Value: table.Lasting(table.WholeSeconds(c.Oldest))},
		{Title: "NEXT END", Value: table.Lasting(table.WholeSeconds(c.NextExpiry))},
		{Title: "WAITERS", Value: c.Waiters},
		{Title: "LONGEST WAIT", Value: table.Lasting(table.WholeSeconds(c.LongestWait))},
	}
}

// formatPrometheus is an output format of stats alone.
const formatPrometheus format = "prometheus"

func (a *app) statsCommand() *cobra.Command {
	var request applock.StatsRequest
	command := &cobra.Command{
		Use:   "stats [--type T] [--department D] [--output prometheus]",
		Short: "Count locks and waiters, by type and department",
		Long: `Counts by type and department: the live locks, the age of the oldest, the time until the next one ends, the
waiters and the longest wait. It also counts the rows of free objects, which have no department and which
"purge" removes when they are old. Without a selection it then counts requests, viewers, the events of the
history by kind, and the rows to purge, each if the account may read it, and tells the versions. What there
is none of is not shown.

It reads whole tables and locks nothing: run it once a minute, not more often. It needs the role supervisor,
auditor or janitor. If the account also has pg_monitor, or PROCESS on MySQL and MariaDB, stderr names the
session, prepared transaction or replication slot that has held a snapshot for longer than 10 minutes, as
"verify" does.

With --output json each line is an object; without a selection the last ones have these sums. --output
prometheus prints Prometheus' text format, for the textfile collector of the node exporter. Write it to
another file and move that into place: see docs/watching.md.`,
		Example: `  applockctl stats
  applockctl stats --type customer --department sales
  applockctl stats --output prometheus`,
		RunE: a.calls("stats", func(ctx context.Context, s session) error { return a.stats(ctx, s, request) }),
	}
	command.Flags().StringVar(&request.ObjectType, "type", "", "only objects of this type")
	command.Flags().StringVar(&request.Department, "department", "", "only locks and waiters of this department")
	command.Flags().BoolVar(&request.NoDepartment, "no-department", false, "only locks and waiters without a department, and free objects")
	output := choice[format]{
		&a.output, []format{formatTable, formatJSON, formatPrometheus}, "format", "write table, json or prometheus",
	}
	command.Flags().Var(output, "output", "how results are printed: table, json or prometheus")
	complete(command, "output", output.names()...)
	return command
}

func (a *app) stats(ctx context.Context, s session, request applock.StatsRequest) error {
	stats, err := s.Stats(ctx, request)
	if err != nil {
		return err
	}
	held := a.noteHeld(ctx, s)
	selected := request != (applock.StatsRequest{})
	var found []figure
	if !selected || a.output == formatPrometheus {
		if found, err = a.surplusOf(ctx, s, request); err != nil {
			return err
		}
	}
	if a.output == formatPrometheus {
		_, err = io.WriteString(a.stdout, metricsOf(stats)+metricsOfFigures(found)+metricsOfHeld(held))
		return wrapWrite(err)
	}
	err = printEach(a, countedLocks{}, stats, func(of applock.Stats) record { return countedLocks{of} })
	if err != nil || selected {
		return err
	}
	return a.printFigures(found)
}
