package mysql

import (
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/applock/applock/internal/db"
)

// Goal: a call that a node of Galera breaks off because it has lost the others has an unknown outcome. TestGaleraPartition of
// internal/testing/clusters provokes it.
func TestKindOfANodeWithoutTheOthers(t *testing.T) {
	t.Parallel()
	if got := kindOf(&mysql.MySQLError{Number: 1047, SQLState: [5]byte([]byte("08S01"))}); got != db.KindInFlight {
		t.Errorf("error 1047 is of kind %v, want %v", got, db.KindInFlight)
	}
}
