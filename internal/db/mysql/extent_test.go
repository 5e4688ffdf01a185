//go:build !nightly

package mysql_test

import "database/sql"

// settingsWays are the ways of calling that are tested with unusual settings of the session. The façade calls the row forms; the forms with
// OUT parameters, which are made from the same text, are left to make nightly.
func settingsWays() []string { return []string{"facade"} }

// foundRowsLevels are the isolation levels of the interleavings with CLIENT_FOUND_ROWS: one for each product, the other one is left to make
// nightly.
func foundRowsLevels(product string) []sql.IsolationLevel {
	if product == "mysql" {
		return []sql.IsolationLevel{sql.LevelRepeatableRead}
	}
	return []sql.IsolationLevel{sql.LevelReadCommitted}
}
