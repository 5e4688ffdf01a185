package sqlite_test

import (
	"context"
	"database/sql"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/migrate"
	"github.com/applock/applock/applock/sqlite"
)

// The locks are in a file of the program's own, or in the one that has its data.
func ExampleNew() {
	ctx := context.Background()
	folder, err := os.MkdirTemp("", "applock-example")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	handle, err := sql.Open("sqlite", "file:"+filepath.Join(folder, "shop.db")+"?_pragma=busy_timeout(50)&_pragma=journal_mode(WAL)")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = handle.Close() }()

	client, err := sqlite.New(handle, sqlite.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = client.Close() }() // before the handle, which it leaves open
	if _, err := migrate.Up(ctx, client, migrate.UpRequest{}); err != nil {
		log.Fatal(err)
	}
	grant, err := client.Get(ctx, applock.GetRequest{
		Object: applock.Object{Type: "customer", ID: "42"},
		Owner:  applock.Owner{Operator: "JDOE"},
	})
	fmt.Println(grant.Outcome, err)
	// Output:
	// ACQUIRED <nil>
}
