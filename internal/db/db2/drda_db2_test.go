//go:build db2

package db2_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

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

// startDRDA starts Derby's network server.
func startDRDA(t *testing.T) *drda.Server {
	t.Helper()
	return drda.Start(t, testdb.DerbyJars(t), "../../../clients/java/core/src/main/java")
}

// openDRDA returns a pool on a new database, as a program gets it.
func openDRDA(t *testing.T, server *drda.Server, database string) *sql.DB {
	t.Helper()
	pool, err := db2.OpenPool(server.DSN(database))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pool.Close() })
	return pool
}

// Goal: IBM's client, go_ibm_db and the driver carry each call and its answer, with ? for each value, through the façade, OUT parameters
// and the row forms. Method: the scenarios on Derby's network server. A file is played to its first operation, reason or actor that the
// server does not have, on which the rest depends.
func TestScenariosOverDRDA(t *testing.T) {
	server := startDRDA(t)
	var offered []string
	for _, operation := range drda.Offered() {
		offered = append(offered, scenario.Word(operation))
	}
	for _, view := range drda.Views() {
		offered = append(offered, scenario.ViewWord(view))
	}
	for _, way := range []string{"facade", "call", "row"} {
		t.Run(way, func(t *testing.T) {
			pool := openDRDA(t, server, "scenarios_"+way)
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
					_, err := pool.ExecContext(ctx, "DELETE FROM appl_lock")
					_, waitersErr := pool.ExecContext(ctx, "DELETE FROM appl_lock_waiter")
					return errors.Join(err, waitersErr)
				},
				Advance: func(ctx context.Context, duration time.Duration) error {
					past := fmt.Sprintf("UPDATE appl_lock SET acquired_ts = acquired_ts - %[1]d, lock_ts = lock_ts - %[1]d, "+
						"expires_ts = expires_ts - %[1]d, released_ts = released_ts - %[1]d", duration.Microseconds())
					_, err := pool.ExecContext(ctx, past)
					past = fmt.Sprintf("UPDATE appl_lock_waiter SET since_ts = since_ts - %[1]d, until_ts = until_ts - %[1]d, expires_ts = expires_ts - %[1]d",
						duration.Microseconds())
					_, waitersErr := pool.ExecContext(ctx, past)
					return errors.Join(err, waitersErr)
				},
			}.Play(t)
			if len(called) != len(offered) {
				t.Errorf("only %v of %v were called", called, offered)
			}
		})
	}
}
