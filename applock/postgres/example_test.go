package postgres_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib" // is the driver "pgx" of database/sql

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/postgres"
)

// The locks are in the database that the program's own pool is for. Who is refused is told who has the customer.
func ExampleNew() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, os.Getenv("DATABASE_URL"))
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close()
	client, err := postgres.New(pool, postgres.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = client.Close() }() // before the pool, which it leaves open

	grant, err := client.Get(ctx, applock.GetRequest{
		Object: applock.Object{Type: "customer", ID: "42"}, Owner: applock.Owner{Operator: "JDOE", Department: "CS"},
	})
	var held *applock.HeldError
	switch {
	case errors.As(err, &held):
		fmt.Println(held.Holder.Owner, "has it until", held.Holder.ExpiresAt.Format(time.RFC3339))
	case err != nil:
		log.Fatal(err)
	default:
		fmt.Println("mine until", grant.ExpiresAt.Format(time.RFC3339))
	}
}

// A program that has a *sql.DB, also by way of ent or gorm, gives that.
func ExampleNewSQL() {
	pool, err := sql.Open("pgx", os.Getenv("DATABASE_URL"))
	if err != nil {
		log.Fatal(err)
	}
	client, err := postgres.NewSQL(pool, postgres.Config{})
	if err != nil {
		log.Fatal(err)
	}
	_ = client.Close()
}

// The note is written while the lock is held, or not at all. After a deadlock or a serialization failure it is tried again.
func ExampleInTx() {
	write := func(ctx context.Context, client *applock.Client, grant applock.Grant, text string) error {
		return postgres.InTx(ctx, client, func(tx pgx.Tx, locks *applock.Client) error {
			if err := locks.Assert(ctx, grant.Key()); err != nil {
				return err // an ErrLost: somebody else may work on the customer now
			}
			_, err := tx.Exec(ctx, "INSERT INTO note (customer, text) VALUES ($1, $2)", grant.Object.ID, text)
			return err
		})
	}
	_ = write
}

// In a transaction of the program's own the lock is there when the transaction commits, and not before.
func ExampleWithTx() {
	order := func(ctx context.Context, client *applock.Client, tx pgx.Tx) error {
		_, err := postgres.WithTx(client, tx).Get(ctx, applock.GetRequest{
			Object: applock.Object{Type: "order", ID: "4711"}, Owner: applock.Owner{Operator: "JDOE"},
		})
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, "UPDATE orders SET state = 'in work' WHERE id = '4711'")
		return err
	}
	_ = order
}
