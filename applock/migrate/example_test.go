package migrate_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/applock/applock/applock/migrate"
	"github.com/applock/applock/applock/open"
)

// Up applies what is pending, and nothing when it is called again.
func ExampleUp() {
	ctx := context.Background()
	folder, err := os.MkdirTemp("", "applock-example")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	client, err := open.ByDSN(ctx, "sqlite:"+filepath.Join(folder, "applock.db"), open.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = client.Close() }()

	applied, err := migrate.Up(ctx, client, migrate.UpRequest{})
	fmt.Println("first", applied.Steps[0].Name, err)
	applied, err = migrate.Up(ctx, client, migrate.UpRequest{})
	fmt.Println("then", len(applied.Steps), err)
	// Output:
	// first 00001_appl_lock.sql <nil>
	// then 0 <nil>
}

// Where a database administrator installs, Script has the steps to hand over.
func ExampleScript() {
	script, err := migrate.Script(migrate.ScriptRequest{Dialect: "postgres", Schema: "locks"})
	fmt.Println(strings.Contains(script, "CREATE TABLE appl_lock ("), err)
	// Output:
	// true <nil>
}
