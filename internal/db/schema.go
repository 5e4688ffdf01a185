package db

import (
	"errors"
	"regexp"
)

// DefaultSchema is the schema of the table and the procedures unless another one is named, in dialects where a schema is not a database.
const DefaultSchema = "applock"

// schemaName matches names that need no quotes and fit every dialect.
var schemaName = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,29}$`)

// CheckSchema returns what is wrong with the name of a schema, or nil. A valid name needs no quotes in SQL.
func CheckSchema(schema string) error {
	if !schemaName.MatchString(schema) {
		return errors.New("must have 1 to 30 lower-case letters, digits and underscores, and not begin with a digit")
	}
	return nil
}
