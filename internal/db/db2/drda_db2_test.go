//go:build db2

package db2_test

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/applock/applock/applock/lease/locktest"
	"github.com/applock/applock/internal/clients"
	"github.com/applock/applock/internal/db/db2"
	"github.com/applock/applock/internal/scenario"
	"github.com/applock/applock/internal/testing/contract"
	"github.com/applock/applock/internal/testing/drda"
	"github.com/applock/applock/internal/testing/testclient"
	"github.com/applock/applock/internal/testing/testdb"
)

// drdaSchema is the schema of the procedures there.
const drdaSchema = "applock"

// What IBM's client, go_ibm_db and the driver do together, on Derby's network server. One after the other: some count goroutines, and the
// last one kills the server.
func TestOverDRDA(t *testing.T) {
	server := drda.Start(t, testdb.DerbyJars(t), "../../../clients/java/core/src/main/java")
	for _, test := range []struct {
		name string
		run  func(t *testing.T, server *drda.Server)
	}{
		{"Scenarios", scenariosOverDRDA},
		{"Leases", leasesOverDRDA},
		{"Values", valuesOverDRDA},
		{"Errors", errorsOverDRDA},
		{"Transactions", transactionsOverDRDA},
		{"FailedCommit", failedCommit},
		{"Renewals", renewalsOverDRDA},
		{"Sessions", sessionsOverDRDA},
		{"Pool", poolOverDRDA},
		{"LostStatement", lostStatement},
		{"EndOfContext", endOfContext},
		{"LateConnection", lateConnection},
		{"KilledServer", killedServer},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, server) })
	}
}

// openDRDA returns a pool on a database, which the first connection makes, as a program gets it.
func openDRDA(t testing.TB, dsn string) *sql.DB {
	t.Helper()
	pool, err := db2.OpenPool(dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pool.Close() })
	return pool
}

// Goal: each call and its answer is carried, with ? for each value, through the façade, OUT parameters and the row forms, and each view is
// read. Method: the scenarios. A file is played to its first operation, reason or actor that the server does not have, on which the rest
// depends.
func scenariosOverDRDA(t *testing.T, server *drda.Server) {
	t.Helper()
	var offered []string
	for _, operation := range drda.Offered() {
		offered = append(offered, scenario.Word(operation))
	}
	for _, view := range drda.Views() {
		offered = append(offered, scenario.ViewWord(view))
	}
	for _, way := range []string{"facade", "call", "row"} {
		t.Run(way, func(t *testing.T) {
			pool := openDRDA(t, server.DSN("scenarios_"+way))
			client := testclient.DB2(t, pool)
			execute := contract.Place{
				Client: client, Driver: clients.Driver(client), SQL: pool, Table: drdaSchema + ".appl_lock",
				Executors: map[string]scenario.Executor{"call": callExecutor(pool, drdaSchema), "row": rowExecutor(pool, drdaSchema)},
			}.Executor(way)
			called, ended := map[string]bool{}, false
			contract.Player{
				Way: way,
				Execute: func(ctx context.Context, operation string, args scenario.Args) (scenario.Answer, error) {
					ended = ended || args["actor_id"]+args["reason"] != "" || !slices.Contains(offered, operation)
					if ended {
						return scenario.Answer{}, scenario.ErrNotOffered
					}
					called[operation] = true
					return execute(ctx, operation, args)
				},
				Empty: func(ctx context.Context) error {
					ended = false
					return onEachTable(ctx, pool, "DELETE FROM appl_lock", "DELETE FROM appl_lock_waiter")
				},
				Advance: func(ctx context.Context, duration time.Duration) error {
					past := fmt.Sprintf("= - %[1]d + ", duration.Microseconds())
					return onEachTable(ctx, pool,
						"UPDATE appl_lock SET acquired_ts "+past+"acquired_ts, lock_ts "+past+"lock_ts, expires_ts "+past+"expires_ts, released_ts "+past+"released_ts",
						"UPDATE appl_lock_waiter SET since_ts "+past+"since_ts, until_ts "+past+"until_ts, expires_ts "+past+"expires_ts")
				},
			}.Play(t)
			if len(called) != len(offered) {
				t.Errorf("only %v of %v were called", called, offered)
			}
		})
	}
}

func onEachTable(ctx context.Context, pool *sql.DB, statements ...string) error {
	for _, statement := range statements {
		if _, err := pool.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// The contract of leases.
func leasesOverDRDA(t *testing.T, server *drda.Server) {
	t.Helper()
	locktest.Exercise(t, leaseBackend(t, func(testing.TB) string { return "leases" }, func(name string) (*sql.DB, error) {
		return db2.OpenPool(server.DSN(name))
	}))
}
