//go:build db2

package db2_test

import (
	"context"
	"crypto/rand"
	"database/sql"
	"database/sql/driver"
	"encoding/hex"
	"strings"
	"testing"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/migrate"
	"github.com/applock/applock/internal/clients"
	"github.com/applock/applock/internal/db/db2"
	db2migrations "github.com/applock/applock/internal/migrate/db2"
	"github.com/applock/applock/internal/scenario"
	"github.com/applock/applock/internal/testing/contract"
	"github.com/applock/applock/internal/testing/testclient"
	"github.com/applock/applock/internal/testing/testdb"
)

// The contract on a real Db2: each test in a schema of its own, through the façade, through CALL with OUT
// parameters and through the row forms. docs/db2.md tells how to run it.
func TestContractOnServer(t *testing.T) {
	t.Parallel()
	dsn := testdb.Require(t, "db2")
	backend := contract.Backend{
		New:    func(t testing.TB) contract.Place { return placeOnServer(t, dsn) },
		Empty:  func(t testing.TB) func() *applock.Client { return clientsOnServer(t, dsn) },
		Ways:   []string{"facade", "call", "row"},
		Levels: []sql.IsolationLevel{sql.LevelDefault}, // go_ibm_db has no other

		OperatorOctets: true,
	}
	contract.Exercise(t, backend)
	contract.ExerciseLong(t, backend)
}

// Goal: the session is left as it was. Method: its registers before and after a call, and after one that is
// refused.
func TestRegistersOnServer(t *testing.T) {
	t.Parallel()
	place := placeOnServer(t, testdb.Require(t, "db2"))
	conn, err := place.SQL.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := conn.ExecContext(t.Context(), "SET CURRENT LOCK TIMEOUT 7"); err != nil {
		t.Fatal(err)
	}
	for _, call := range []string{
		"CALL get_appl_lock_row('customer', '42', 'JDOE', '', 60)", "CALL get_appl_lock_row('customer', '', 'JDOE', '', 60)",
		"CALL renew_appl_locks('8:customer2:424:JDOE1:12:60')", "CALL renew_appl_locks('8:customer')",
	} {
		_, _ = conn.ExecContext(t.Context(), call)
		var timeout int
		row := conn.QueryRowContext(t.Context(), "SELECT CURRENT LOCK TIMEOUT FROM SYSIBM.SYSDUMMY1")
		if err := row.Scan(&timeout); err != nil || timeout != 7 {
			t.Errorf("lock timeout %d, %v after %s, want 7", timeout, err, call)
		}
	}
}

func placeOnServer(t testing.TB, dsn string) contract.Place {
	t.Helper()
	schema := newSchema(t, dsn)
	handle := openInSchema(t, dsn, schema)
	client := testclient.DB2In(t, handle, schema)
	if _, err := migrate.Up(t.Context(), client, migrate.UpRequest{}); err != nil {
		t.Fatal(err)
	}
	return contract.Place{
		Client: client,
		Driver: clients.Driver(client),
		DSN:    dsn,
		SQL:    handle,
		Table:  "appl_lock",
		Executors: map[string]scenario.Executor{
			"call": callExecutor(handle, schema),
			"row":  rowExecutor(handle, schema),
		},
		Advance: func(ctx context.Context, duration time.Duration) error {
			return advance(ctx, handle, schema, duration)
		},
		Waiting: func(ctx context.Context) (int, error) {
			var count int
			row := handle.QueryRowContext(ctx,
				"SELECT COUNT(*) FROM TABLE(MON_GET_APPL_LOCKWAIT(NULL, -2)) AS w WHERE w.TABSCHEMA = ?", strings.ToUpper(schema))
			return count, row.Scan(&count)
		},
		Interpret:         db2.InterpretError,
		SnapshotConflicts: func(sql.IsolationLevel) bool { return false },
		KeepsView:         func(sql.IsolationLevel) bool { return false },
		ChecksView:        func(sql.IsolationLevel) bool { return false },
		PollsWait:         true,
		PurgesWait:        true,
	}
}

func clientsOnServer(t testing.TB, dsn string) func() *applock.Client {
	t.Helper()
	schema := newSchema(t, dsn)
	return func() *applock.Client {
		return testclient.DB2In(t, openInSchema(t, dsn, schema), schema)
	}
}

// newSchema returns the name of a schema that is nobody else's, and uninstalls what is in it when the test ends.
func newSchema(t testing.TB, dsn string) string {
	t.Helper()
	random := make([]byte, 8)
	_, _ = rand.Read(random) // it does not fail
	schema := "applock_test_" + hex.EncodeToString(random)
	t.Cleanup(func() {
		handle, err := db2.OpenPool(dsn)
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = handle.Close() }()
		if _, err := migrate.Uninstall(context.Background(), testclient.DB2In(t, handle, schema), migrate.UninstallRequest{Force: true}); err != nil {
			t.Errorf("schema %s is left: %v", schema, err)
		}
		for _, statement := range []string{"DROP TABLE " + schema + ".protected", "DROP SCHEMA " + schema + " RESTRICT"} {
			_, _ = handle.ExecContext(context.Background(), statement) // not all tests have made them
		}
	})
	return schema
}

// openInSchema returns a pool to whose connections the schema is the current one.
func openInSchema(t testing.TB, dsn, schema string) *sql.DB {
	t.Helper()
	connector, err := db2.NewConnector(dsn)
	if err != nil {
		t.Fatal(err)
	}
	handle := sql.OpenDB(schemaConnector{Connector: connector, schema: schema})
	t.Cleanup(func() { _ = handle.Close() })
	return handle
}

// schemaConnector enters a schema on each connection.
type schemaConnector struct {
	driver.Connector
	schema string
}

// Connect implements driver.Connector.
func (c schemaConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	for _, statement := range db2migrations.EnterSchema(c.schema) {
		prepared, err := conn.Prepare(statement)
		if err != nil {
			return nil, err
		}
		if _, err := prepared.Exec(nil); err != nil { //nolint:staticcheck // the client's statements have it
			return nil, err
		}
		if err := prepared.Close(); err != nil {
			return nil, err
		}
	}
	return conn, nil
}
