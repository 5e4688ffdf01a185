//go:build nightly

package mysql_test

import "database/sql"

// settingsWays are all ways of calling.
func settingsWays() []string { return []string{"facade", "call", "row"} }

// foundRowsLevels are both levels, on each product.
func foundRowsLevels(string) []sql.IsolationLevel {
	return []sql.IsolationLevel{sql.LevelReadCommitted, sql.LevelRepeatableRead}
}
