package mysql

import (
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/applock/applock/internal/db"
)

// Goal: what a member of a cluster answers that is out of it, or about to be, leaves no doubt about whether anything has happened, or
// says that there is one. TestGroupReplicationFailover provokes it, but not each time.
func TestKindsOfAMemberOutOfItsCluster(t *testing.T) {
	for number, want := range map[uint16]db.Kind{
		1290: db.KindReadOnly, // super_read_only of a member that was expelled
		3100: db.KindInFlight, // as it commits
		3101: db.KindRetry,    // rolled back
		3796: db.KindInFlight, // as a transaction begins
	} {
		if got := kindOf(&mysql.MySQLError{Number: number, SQLState: [5]byte([]byte("HY000"))}); got != want {
			t.Errorf("error %d is of kind %v, want %v", number, got, want)
		}
	}
}
