package db

import (
	"errors"
	"regexp"
)

// DefaultSchema is where the table and the procedures are unless another schema is named, in the dialects where a
// schema is not a database.
const DefaultSchema = "applock"

// schemaName is what may be a schema: never quoted, and no longer than every dialect's identifiers.
var schemaName = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,29}$`)

// CheckSchema returns what is wrong with the name of a schema, or nil. A name that passes can stand in SQL as it is.
func CheckSchema(schema string) error {
	if !schemaName.MatchString(schema) {
		return errors.New("must have 1 to 30 lower-case letters, digits and underscores, and not begin with a digit")
	}
	return nil
}
