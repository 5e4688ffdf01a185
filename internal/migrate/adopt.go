package migrate

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/pressly/goose/v3/database"
)

// adopt records the steps of a schema that was copied without rows, if it equals what they create, where the dialect compares tables.
// A step that may be applied again needs none.
func adopt(ctx context.Context, target Target) error {
	steps, err := Status(ctx, target)
	if err != nil || newestOf(steps) > 0 || target.Repeatable || !slices.Contains(target.Compares, PartTables) {
		return err
	}
	// All is looked at before a connection is taken, since the pool may have one only.
	if unrecorded, err := unnoted(ctx, target, target.DB, steps); err != nil || len(unrecorded) == 0 {
		return err
	}
	equal, findings, err := equalTo(ctx, target, steps)
	if err != nil {
		return err
	}
	return target.Interpret(ctx, onConn(ctx, target, func(conn *sql.Conn) error {
		if err := InsertFirst(ctx, conn, target.Versions); err != nil {
			return err
		}
		return record(ctx, target, conn, equal, findings)
	}))
}

// equalTo returns the steps that have made what is there, and what was found beside tables, routines and views.
func equalTo(ctx context.Context, target Target, steps []Migration) ([]Migration, []Finding, error) {
	var differs Finding
	for newest := range slices.Backward(steps) {
		as := slices.Clone(steps[:newest+1])
		for i := range as {
			as[i].AppliedAt = time.Now()
		}
		findings, err := inspect(ctx, target, target.DB, as)
		if err != nil {
			return nil, nil, err
		}
		i := slices.IndexFunc(findings, func(f Finding) bool {
			return f.Problem != problemLostRows && (f.Part == PartTables || f.Part == PartRoutines || f.Part == PartViews)
		})
		if i < 0 {
			return as, findings, nil
		}
		differs = findings[i]
	}
	return nil, nil, fmt.Errorf("%w: %s %s", ErrUnrecorded, differs.Name, differs.Problem)
}

// ErrUnrecorded means that there are tables of ours, and no step is recorded that they equal.
var ErrUnrecorded = errors.New("there are tables of applock, but no step is recorded in " + VersionTable + ", and they equal none; " +
	"restore that table, or drop the others")

// record records steps, and writes the rows that they need.
func record(ctx context.Context, target Target, conn *sql.Conn, steps []Migration, findings []Finding) error {
	return InTx(ctx, conn, func(tx Client) error {
		if latest, err := target.Versions.GetLatestVersion(ctx, tx); err != nil || latest > 0 { // another process was first
			return err
		}
		for _, step := range steps {
			if err := target.Versions.Insert(ctx, tx, database.InsertRequest{Version: step.Version}); err != nil {
				return err
			}
		}
		for _, finding := range findings {
			if finding.Problem != problemLostRows {
				continue
			}
			if err := Execute(ctx, tx, finding.Mend...); err != nil {
				return err
			}
		}
		return nil
	})
}

const problemLostRows = "has lost rows that the operations need"

// permanent returns how many rows a table has for ever.
func permanent(table string) int64 {
	if table == "appl_lock_fence" {
		return 1
	}
	return 65536
}

// seed matches the statement of a step that writes them.
var seed = regexp.MustCompile(`(?ms)^INSERT INTO (appl_lock_fence|appl_lock_serialize)( .*?)(?:;$|\n-- \+goose)`)

// lostRows finds the tables that have lost their permanent rows, as by a TRUNCATE of all tables.
func lostRows(ctx context.Context, target Target, client Client, texts []string) ([]Finding, error) {
	var findings []Finding
	for _, insert := range seed.FindAllStringSubmatch(strings.Join(texts, "\n"), -1) {
		table := target.Qualify(insert[1])
		rows, err := Value[int64](ctx, client, "SELECT COUNT(*) FROM "+table)
		if ctx.Err() != nil {
			return nil, err
		}
		if err != nil || rows >= permanent(insert[1]) { // a table that is missing or may not be read is found by others
			continue
		}
		finding := Finding{Part: PartTables, Name: "table " + insert[1], Problem: problemLostRows, Mend: []string{"INSERT INTO " + table + insert[2]}}
		if insert[1] == "appl_lock_fence" { // of those that were purged nobody knows; new ones are not below the clock
			finding.Mend = append(finding.Mend, "UPDATE "+table+" SET fence = COALESCE((SELECT MAX(l.fence) FROM "+target.Qualify("appl_lock")+" AS l), 0)")
		}
		findings = append(findings, finding)
	}
	return findings, nil
}
