package testdb

import (
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"
)

// A database is created on both nodes, and is dropped at the end although transactions on both still have a table of it.
func TestGaleraCreatesAndDropsADatabase(t *testing.T) {
	server := Require(t, "galera")
	var dsn string
	f := runFake(func(t testing.TB) { dsn = Galera(t) })
	if f.failed != "" || len(f.cleanups) != 1 {
		t.Fatalf("failed %q, %d cleanups", f.failed, len(f.cleanups))
	}
	one, other := openMySQL(t, dsn), openMySQL(t, GaleraPeer(t, dsn))
	name := mysqlText(t, one, "SELECT database()")
	if peer := mysqlText(t, other, "SELECT database()"); peer != name {
		t.Errorf("the peer's database is %q, want %q", peer, name)
	}
	const clusterSize = "SELECT variable_value FROM information_schema.global_status WHERE variable_name = 'wsrep_cluster_size'"
	if size := mysqlText(t, other, clusterSize); size != "2" {
		t.Errorf("the cluster has %s nodes", size)
	}
	openTransaction(t, one)
	// A statement in a transaction waits for nothing that the cluster has, whatever wsrep_sync_wait says.
	conn, err := other.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := catchUp(t.Context(), conn); err != nil {
		t.Fatal(err)
	}
	tx, err := conn.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = errors.Join(tx.Rollback(), conn.Close()) })
	var n int
	if err := tx.QueryRowContext(t.Context(), "SELECT count(*) FROM held").Scan(&n); err != nil {
		t.Fatal(err)
	}
	f.run(func(testing.TB) { f.cleanups[0]() })
	if f.failed != "" {
		t.Error(f.failed)
	}
	if n := mysqlText(t, openMySQL(t, server), countDatabases, name); n != "0" {
		t.Error("the database is still there")
	}
}

// Goal: a test never meets a node that does not have its database yet. Method: the other node is busy with a change before
// the database, because of a table that a session has locked there. The change and the database wait for nobody here.
func TestGaleraPeerWaitsForTheDatabase(t *testing.T) {
	before := Galera(t)
	one, other := openMySQL(t, before), openMySQL(t, GaleraPeer(t, before))
	execMySQL(t, one, "CREATE TABLE held (id INT PRIMARY KEY)")
	conn, err := other.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	for _, statement := range []string{"SET SESSION wsrep_sync_wait = 1", "SELECT 1", "LOCK TABLES held READ"} {
		if _, err := conn.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	execMySQL(t, one, "DROP TABLE held")
	dsn := Galera(t)
	unlocked := make(chan error, 1)
	time.AfterFunc(300*time.Millisecond, func() {
		_, err := conn.ExecContext(t.Context(), "UNLOCK TABLES")
		unlocked <- err
	})
	if name := mysqlText(t, openMySQL(t, GaleraPeer(t, dsn)), "SELECT database()"); !strings.HasSuffix(dsn, "/"+name) {
		t.Errorf("the peer's database is %q", name)
	}
	if err := <-unlocked; err != nil {
		t.Error(err)
	}
}

func execMySQL(t *testing.T, db *sql.DB, statement string) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}

// Goal: know what GET_LOCK is worth on Galera. Method: two sessions on two nodes ask for one lock at the same time. MariaDB
// 10.6.13 and 10.11.3 refuse with error 1235; all others give it to both, because a node tells no other of it.
func TestGetLockExcludesNobodyOnAnotherNodeOfGalera(t *testing.T) {
	dsn := Galera(t)
	one, other := openMySQL(t, dsn), openMySQL(t, GaleraPeer(t, dsn))
	const errorNotSupported = 1235
	var locked int
	holder, err := one.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = holder.Close() }()
	err = holder.QueryRowContext(t.Context(), "SELECT GET_LOCK('applock_test', 0)").Scan(&locked)
	if isError(err, errorNotSupported) && strings.Contains(err.Error(), "WSREP_ON=ON") {
		t.Logf("this version refuses: %v", err)
		return
	}
	if err != nil || locked != 1 {
		t.Fatalf("the first session got %d, %v", locked, err)
	}
	if got := mysqlText(t, other, "SELECT GET_LOCK('applock_test', 0)"); got != "1" {
		t.Errorf("the second session got %s: GET_LOCK works across nodes now, which the library need not refuse", got)
	}
}

func TestAMissingGaleraIsNamed(t *testing.T) {
	for name, test := range map[string]struct {
		call func(testing.TB)
		want string
	}{
		"Node": {func(t testing.TB) { Galera(t) }, "APPLOCK_TEST_GALERA_DSN is not set"},
		"Peer": {func(t testing.TB) { GaleraPeer(t, "mysql://u@h/x") }, "APPLOCK_TEST_GALERA_PEER_DSN is not set"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("APPLOCK_TEST_GALERA_DSN", "")
			t.Setenv("APPLOCK_TEST_GALERA_PEER_DSN", "")
			t.Setenv(requireVariable, "")
			if f := runFake(test.call); !strings.Contains(f.skipped, test.want) || f.failed != "" {
				t.Errorf("skipped %q, failed %q", f.skipped, f.failed)
			}
			t.Setenv(requireVariable, "galera")
			if f := runFake(test.call); !strings.Contains(f.failed, test.want) || f.skipped != "" {
				t.Errorf("skipped %q, failed %q", f.skipped, f.failed)
			}
		})
	}
}

// A node of another kind must not be asked for by the name of a product that stands alone.
func TestGaleraIsNoMySQLProduct(t *testing.T) {
	f := runFake(func(t testing.TB) { MySQL(t, "galera") })
	if want := `unknown product "galera", use one of mariadb, mysql`; f.failed != want {
		t.Errorf("failed %q, want %q", f.failed, want)
	}
}
