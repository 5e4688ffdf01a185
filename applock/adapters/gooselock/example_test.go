package gooselock_test

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"testing/fstest"
	"time"

	"github.com/pressly/goose/v3"

	"github.com/applock/applock/applock/adapters/gooselock"
	"github.com/applock/applock/applock/lease"
	"github.com/applock/applock/applock/migrate"
	"github.com/applock/applock/applock/open"
)

// A program that migrates its database when it starts, and starts on several hosts at the same time.
func Example() {
	ctx := context.Background()
	folder, err := os.MkdirTemp("", "applock-example")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	client, err := open.ByDSN(ctx, "sqlite:"+filepath.Join(folder, "applock.db"), open.Config{}) // or postgres.New, mysql.New
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	if _, err := migrate.Up(ctx, client, migrate.UpRequest{}); err != nil { // applock's own table
		log.Fatal(err)
	}

	handle, err := sql.Open("sqlite", filepath.Join(folder, "shop.db"))
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = handle.Close() }()
	migrations := fstest.MapFS{"00001_customer.sql": {Data: []byte("-- +goose Up\nCREATE TABLE customer (id INTEGER PRIMARY KEY);\n")}}
	for _, host := range []string{"the first host", "the second host"} {
		applied, err := start(ctx, client, handle, migrations)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s applies %d migrations\n", host, applied)
	}
	// Output:
	// the first host applies 1 migrations
	// the second host applies 0 migrations
}

// start is what the program does at its start on each host.
func start(ctx context.Context, locks lease.Locker, handle *sql.DB, migrations fs.FS) (applied int, err error) {
	locker, err := gooselock.New(locks, gooselock.Config{MaxWait: 10 * time.Minute})
	if err != nil {
		return 0, err
	}
	provider, err := goose.NewProvider(goose.DialectSQLite3, handle, migrations, goose.WithLocker(locker))
	if err != nil {
		return 0, err
	}
	results, err := provider.Up(ctx)
	return len(results), err
}
