package applock_test

import (
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/mysql"
	"github.com/applock/applock/applock/postgres"
	"github.com/applock/applock/applock/sqlite"
	"github.com/applock/applock/internal/testing/testdb"
)

// Goal: a client of another product than its database's says so, and does not claim that its calls may have taken effect. Method: each client on
// each other product; the text names both.
func TestClientOfAnotherProduct(t *testing.T) {
	t.Parallel()
	clients := map[string]func(pool *sql.DB) (*applock.Client, error){
		"PostgreSQL": func(pool *sql.DB) (*applock.Client, error) { return postgres.NewSQL(pool, postgres.Config{}) },
		"MySQL":      func(pool *sql.DB) (*applock.Client, error) { return mysql.New(pool, mysql.Config{}) },
		"SQLite":     func(pool *sql.DB) (*applock.Client, error) { return sqlite.New(pool, sqlite.Config{}) },
	}
	products := map[string]string{"PostgreSQL": onPostgres, "MySQL": "mysql", "SQLite": "sqlite"}
	for ofClient, newClient := range clients {
		for ofPool, product := range products {
			if ofClient == ofPool {
				continue
			}
			t.Run(ofClient+" on "+ofPool, func(t *testing.T) {
				t.Parallel()
				pool, _, err := openHandle(testdb.New(t, product), time.Second)
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = pool.Close() }()
				client, err := newClient(pool)
				if err == nil {
					_, err = client.Get(t.Context(), applock.GetRequest{Object: nightly, Owner: applock.Owner{Operator: "JDOE"}, TTL: time.Minute})
				}
				if err == nil || errors.Is(err, applock.ErrOutcomeUnknown) || !strings.Contains(err.Error(), ofClient) || !strings.Contains(err.Error(), ofPool) {
					t.Errorf("get: %v, want an error that names both", err)
				}
			})
		}
	}
}
