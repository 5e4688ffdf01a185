package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/migrate"
)

// inspect finds missing indexes, and compares the texts of the views. Primary keys need no check: they are the tables themselves.
func (s site) inspect(ctx context.Context, client migrate.Client, want migrate.Installation) ([]migrate.Finding, error) {
	there, err := migrate.ReadNames(ctx, client, `
		SELECT name FROM sqlite_schema WHERE type IN ('index', 'view')
		UNION ALL
		SELECT sql FROM sqlite_schema WHERE type = 'view'`)
	if err != nil {
		return nil, err
	}
	for _, table := range want.Tables {
		for _, index := range table.Indexes {
			there[index.Name] = there[index.Name] || index.Primary
		}
	}
	findings := migrate.MissingIndexes(want.Tables, there, s.Qualify)
	for _, view := range want.Views {
		if there[view.Name] && !there[strings.TrimSuffix(strings.TrimSpace(view.Definition()), ";")] {
			findings = append(findings, migrate.Finding{
				Part: migrate.PartViews, Name: "view " + view.Name, Problem: "has another text than this program installs", Mend: createView(view),
			})
		}
	}
	return findings, nil
}

// createView is [migrate.Target.CreateView].
func createView(view *migrate.RoutineText) []string {
	return []string{"DROP VIEW IF EXISTS " + view.Name, strings.TrimSpace(view.Definition())}
}

// look writes in a transaction that it rolls back. An error that only means waiting for another writer does not count.
func (s site) look(ctx context.Context, conn *sql.Conn) (migrate.Surroundings, error) {
	tx, err := conn.BeginTx(ctx, nil) // BEGIN IMMEDIATE would succeed on a file that cannot be written
	if err == nil {
		_, err = tx.ExecContext(ctx, "PRAGMA user_version = 1")
		err = errors.Join(err, tx.Rollback())
	}
	switch err = s.Interpret(ctx, err); {
	case err == nil:
		return migrate.Surroundings{}, nil
	case db.KindOf(err) == db.KindPrivilege:
		return migrate.Surroundings{ReadOnly: err.Error()}, nil
	case db.KindOf(err) == db.KindBusy || db.KindOf(err) == db.KindRetry:
		return migrate.Surroundings{}, nil
	}
	return migrate.Surroundings{}, err
}

// stale is [migrate.Target.Stale]. It ignores rows that a purge keeps because of their fence.
func stale() string {
	return fmt.Sprintf(`SELECT count(*), coalesce(sum(l.stale), 0), coalesce(max(CASE WHEN l.stale THEN l.free_for END), 0)
		FROM (
			SELECT coalesce(r.released_ts, r.expires_ts) < n.now - ? * 1000000 AND r.fence < n.now AS stale,
				(n.now - coalesce(r.released_ts, r.expires_ts)) / 1000000 AS free_for
			FROM (SELECT %s AS now) AS n
			CROSS JOIN appl_lock AS r
			LIMIT %d
		) AS l`, now, migrate.StaleRows)
}
