package db2

import (
	"errors"
	"fmt"
	"regexp"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/migrate"
)

// plainName matches a name that needs no quotes. Db2 turns it into upper case.
var plainName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*$`)

// Grants returns the statements that grant a role's rights to a role of the database.
func Grants(schema string, role db.Role, to string) ([]string, error) {
	if !plainName.MatchString(to) {
		return nil, errors.New("the name of a Db2 role must have letters, digits and underscores only")
	}
	var statements []string
	for _, routine := range migrate.Routines(role) {
		kind := "PROCEDURE"
		if routine.Operation.Version {
			kind = "FUNCTION"
		}
		statements = append(statements, fmt.Sprintf("GRANT EXECUTE ON %s %s.%s TO ROLE %s", kind, schema, routine.Name, to))
	}
	for _, view := range role.Visible() {
		statements = append(statements, fmt.Sprintf("GRANT SELECT ON %s.%s TO ROLE %s", schema, view.Name, to))
	}
	return statements, nil
}
