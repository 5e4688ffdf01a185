//go:build nightly

package mysql_test

import "database/sql"

// foundRowsLevels are both levels, on each product.
func foundRowsLevels(string) []sql.IsolationLevel {
	return []sql.IsolationLevel{sql.LevelReadCommitted, sql.LevelRepeatableRead}
}
