package db2

import (
	"context"
	"database/sql"
	"strings"

	"github.com/pressly/goose/v3/database"

	"github.com/applock/applock/internal/db"
	driver "github.com/applock/applock/internal/db/db2"
	"github.com/applock/applock/internal/migrate"
)

// inspect finds missing routines. It does not compare their texts: the catalogue has them as the client sent them, and IBM's command line
// processor sends them differently from a driver. On z/OS, with its different catalogue, it finds nothing.
func (s site) inspect(ctx context.Context, client database.DBTxConn, want migrate.Installation) ([]migrate.Finding, error) {
	there := map[string]bool{}
	err := driver.Rows(ctx, client,
		"SELECT ROUTINENAME FROM SYSCAT.ROUTINES WHERE ROUTINESCHEMA = ?", []any{strings.ToUpper(s.Schema)},
		func(row *sql.Rows) error {
			var name string
			err := row.Scan(&name)
			there[strings.ToLower(strings.TrimSpace(name))] = true
			return err
		})
	err = s.Interpret(ctx, err)
	if db.KindOf(err) == db.KindSchema {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var findings []migrate.Finding
	for _, routine := range want.Routines {
		if there[routine.Name] {
			continue
		}
		finding := migrate.Finding{
			Part: migrate.PartRoutines, Name: strings.ToLower(routine.Kind) + " " + routine.Name, Problem: "is missing",
		}
		for _, statement := range routine.Statements {
			finding.Mend = append(finding.Mend, strings.TrimSpace(statement.Text))
		}
		findings = append(findings, finding)
	}
	return findings, nil
}
