package db2

import (
	"context"
	"strings"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/migrate"
)

// inspect finds missing routines. It does not compare their texts: the catalogue has them as the client sent them, and IBM's command line
// processor sends them differently from a driver. On z/OS, with its different catalogue, it finds nothing.
func (s site) inspect(ctx context.Context, client migrate.Client, want migrate.Installation) ([]migrate.Finding, error) {
	there, err := migrate.ReadNames(ctx, client,
		"SELECT ROUTINENAME FROM SYSCAT.ROUTINES WHERE ROUTINESCHEMA = ?", strings.ToUpper(s.Schema))
	if db.KindOf(s.Interpret(ctx, err)) == db.KindSchema {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var findings []migrate.Finding
	for _, routine := range want.Routines {
		if !there[strings.ToUpper(routine.Name)] {
			findings = append(findings, migrate.Finding{
				Part: migrate.PartRoutines, Name: strings.ToLower(routine.Kind) + " " + routine.Name, Problem: "is missing", Mend: routine.Texts(),
			})
		}
	}
	return findings, nil
}
