//go:build !nightly

package mysql_test

import "database/sql"

// foundRowsLevels are the isolation levels of the interleavings with CLIENT_FOUND_ROWS: one for each product, the other one is left to make
// nightly.
func foundRowsLevels(product string) []sql.IsolationLevel {
	if product == "mysql" {
		return []sql.IsolationLevel{sql.LevelRepeatableRead}
	}
	return []sql.IsolationLevel{sql.LevelReadCommitted}
}
