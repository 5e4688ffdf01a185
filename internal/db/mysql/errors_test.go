package mysql

import (
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/applock/applock/internal/db"
)

// Goal: an answer of a member that has left its cluster, or is about to, says whether anything has happened, or that this is unknown.
// TestGroupReplicationFailover provokes it, but not each time, and TestGaleraPartition.
func TestKindsOfAMemberOutOfItsCluster(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		number uint16
		state  string
		want   db.Kind
	}{
		{1047, "08S01", db.KindInFlight}, // a node of Galera that has lost the others
		{1290, "HY000", db.KindReadOnly}, // super_read_only of a member that was expelled
		{3100, "HY000", db.KindInFlight}, // as it commits
		{3101, "HY000", db.KindRetry},    // rolled back
		{3796, "HY000", db.KindInFlight}, // as a transaction begins
	} {
		if got := kindOf(&mysql.MySQLError{Number: test.number, SQLState: [5]byte([]byte(test.state))}); got != test.want {
			t.Errorf("error %d is of kind %v, want %v", test.number, got, test.want)
		}
	}
}

// Goal: a session that MySQL has ended because its client was silent has done nothing, and its call may be repeated.
func TestKindOfAnIdleSession(t *testing.T) {
	t.Parallel()
	idle := &mysql.MySQLError{Number: 4031, SQLState: [5]byte([]byte("HY000")), Message: "The client was disconnected by the server because of inactivity."}
	if got := kindOf(idle); got != db.KindRetry {
		t.Errorf("kind %v, want %v", got, db.KindRetry)
	}
}
