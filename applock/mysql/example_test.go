package mysql_test

import (
	"context"
	"database/sql"
	"fmt"
	"log"
	"os"

	_ "github.com/go-sql-driver/mysql" // is the driver "mysql" of database/sql

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/mysql"
)

// The locks are in the database that the program's own pool is for, such as shop:secret@tcp(db:3306)/shop?interpolateParams=true.
func ExampleNew() {
	ctx := context.Background()
	pool, err := sql.Open("mysql", os.Getenv("DATABASE_DSN"))
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = pool.Close() }()
	client, err := mysql.New(pool, mysql.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = client.Close() }() // before the pool, which it leaves open

	grant, err := client.Get(ctx, applock.GetRequest{
		Object: applock.Object{Type: "customer", ID: "42"}, Owner: applock.Owner{Operator: "JDOE"},
	})
	if err != nil {
		log.Fatal(err) // a *applock.HeldError tells who has it
	}
	// The data is written while the lock is held, or not at all. After a deadlock (1213) it is tried again.
	err = client.InSQLTx(ctx, func(tx *sql.Tx, locks *applock.Client) error {
		if err := locks.Assert(ctx, grant.Key()); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, "INSERT INTO note (customer, text) VALUES (?, ?)", "42", "has moved")
		return err
	})
	fmt.Println(err)
}
