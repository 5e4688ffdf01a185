package open_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/migrate"
	"github.com/applock/applock/applock/open"
)

// A program whose users name the database: the DSN decides which engine it is.
func ExampleByDSN() {
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
	if _, err := migrate.Up(ctx, client, migrate.UpRequest{}); err != nil {
		log.Fatal(err)
	}
	object := applock.Object{Type: "customer", ID: "42"}
	_, err = client.Inquire(ctx, object)
	fmt.Println("free:", errors.Is(err, applock.ErrNotHeld))

	_, err = open.ByDSN(ctx, "oracle://db.example.org/shop", open.Config{})
	fmt.Println("no such engine:", errors.Is(err, applock.ErrInvalid))
	// Output:
	// free: true
	// no such engine: true
}
