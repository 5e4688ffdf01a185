package mysql_test

import (
	"testing"

	driver "github.com/go-sql-driver/mysql"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/mysql"
)

// Goal: what a node answers that has lost its cluster in the middle of a call leaves open what has become of that. The clusters, in which these were
// seen, are slow: internal/testing/clusters.
func TestLostClusterIsInFlight(t *testing.T) {
	t.Parallel()
	for _, number := range []uint16{1047, 3100, 3796} {
		if kind := db.KindOf(mysql.InterpretError(&driver.MySQLError{Number: number})); kind != db.KindInFlight {
			t.Errorf("%d is of kind %v, want %v", number, kind, db.KindInFlight)
		}
	}
}
