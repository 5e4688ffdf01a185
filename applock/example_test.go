package applock_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/migrate"
	"github.com/applock/applock/applock/open"
	"github.com/applock/applock/applock/sqlite"
)

// openExample returns a client on a new, migrated SQLite file, and what removes it.
func openExample(ctx context.Context) (*applock.Client, func()) {
	folder, err := os.MkdirTemp("", "applock-example")
	if err != nil {
		log.Fatal(err)
	}
	client, err := open.ByDSN(ctx, "sqlite:"+filepath.Join(folder, "applock.db"), open.Config{})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := migrate.Up(ctx, client, migrate.UpRequest{}); err != nil {
		log.Fatal(err)
	}
	return client, func() {
		_ = client.Close()
		_ = os.RemoveAll(folder)
	}
}

// openExampleFile returns a handle on a new SQLite file, a client on it, and what removes both. A transaction begins as
// one that writes, because the locks are in the same file as the data.
func openExampleFile(ctx context.Context) (*sql.DB, *applock.Client, func()) {
	folder, err := os.MkdirTemp("", "applock-example")
	if err != nil {
		log.Fatal(err)
	}
	handle, err := sql.Open("sqlite", "file:"+filepath.Join(folder, "shop.db")+"?_pragma=journal_mode(WAL)&_txlock=immediate")
	if err != nil {
		log.Fatal(err)
	}
	client, err := sqlite.New(handle, sqlite.Config{})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := migrate.Up(ctx, client, migrate.UpRequest{}); err != nil {
		log.Fatal(err)
	}
	return handle, client, func() {
		_ = client.Close()
		_ = handle.Close()
		_ = os.RemoveAll(folder)
	}
}

// The session that the README shows in SQL, on the command line and in Go.
func Example() {
	ctx := context.Background()
	client, remove := openExample(ctx)
	defer remove()
	object := applock.Object{Type: "customer", ID: "42"}
	jdoe := applock.Owner{Operator: "JDOE", Department: "CS"}
	asmith := applock.Owner{Operator: "ASMITH", Department: "CS"}

	grant, err := client.Get(ctx, applock.GetRequest{Object: object, Owner: jdoe})
	fmt.Println(grant.Owner, err)
	_, err = client.Get(ctx, applock.GetRequest{Object: object, Owner: asmith})
	fmt.Println(errors.Is(err, applock.ErrHeld))
	lock, err := client.Inquire(ctx, object)
	fmt.Println(lock.Owner, err)
	grant, err = client.Transfer(ctx, applock.TransferRequest{Object: object, From: "JDOE", To: asmith})
	fmt.Println(grant.Owner, err)
	released, err := client.Release(ctx, applock.ReleaseRequest{Key: grant.Key()})
	fmt.Println(released, err)
	// Output:
	// JDOE (CS) <nil>
	// true
	// JDOE (CS) <nil>
	// ASMITH (CS) <nil>
	// RELEASED <nil>
}

// Getting what one has already renews it: the grant and its fence stay the same.
func ExampleClient_Get() {
	ctx := context.Background()
	client, remove := openExample(ctx)
	defer remove()
	request := applock.GetRequest{
		Object: applock.Object{Type: "customer", ID: "42"},
		Owner:  applock.Owner{Operator: "JDOE", Department: "CS"},
		TTL:    8 * time.Hour,
	}

	first, err := client.Get(ctx, request)
	fmt.Println(first.Outcome, first.Left, err)
	second, err := client.Get(ctx, request)
	fmt.Println(second.Outcome, second.Left, err)
	fmt.Println("the same grant:", first.Fence == second.Fence)
	// Output:
	// ACQUIRED 8h0m0s <nil>
	// RENEWED 8h0m0s <nil>
	// the same grant: true
}

// Two desks: two people have one each, and the third is told who has them.
func ExampleClient_GetPermit() {
	ctx := context.Background()
	client, remove := openExample(ctx)
	defer remove()
	room := applock.Object{Type: "room", ID: "desk"}
	for _, operator := range []string{"JDOE", "ASMITH", "BROWN"} {
		request := applock.GetPermitRequest{Object: room, Permits: 2, Owner: applock.Owner{Operator: operator}, TTL: time.Hour}
		permit, err := client.GetPermit(ctx, request)
		var full *applock.FullError
		if errors.As(err, &full) {
			fmt.Println(operator, "waits for", full.Slots[0].Holder.Owner.Operator, "or", full.Slots[1].Holder.Owner.Operator)
			continue
		}
		fmt.Println(operator, permit.Outcome, permit.Object, err)
	}
	// Output:
	// JDOE ACQUIRED room:desk#1 <nil>
	// ASMITH ACQUIRED room:desk#2 <nil>
	// BROWN waits for JDOE or ASMITH
}

// A colleague leaves: what she holds is looked at, then handed over, each object with the same reason.
func ExampleClient_TransferAll() {
	ctx := context.Background()
	client, remove := openExample(ctx)
	defer remove()
	for _, id := range []string{"1", "2"} {
		order := applock.Object{Type: "order", ID: id}
		if _, err := client.Get(ctx, applock.GetRequest{Object: order, Owner: applock.Owner{Operator: "JDOE"}}); err != nil {
			fmt.Println(err)
		}
	}
	request := applock.TransferAllRequest{
		From: "JDOE", To: applock.Owner{Operator: "ASMITH"}, Actor: "MLEE", Reason: "JDOE has left",
	}
	for _, request.DryRun = range []bool{true, false} {
		changes, err := client.TransferAll(ctx, request)
		if err != nil {
			fmt.Println(err) // changes has what was done before
		}
		for _, change := range changes {
			fmt.Println(change.Object, change.Outcome)
		}
	}
	// Output:
	// order:1 WOULD_TRANSFER
	// order:2 WOULD_TRANSFER
	// order:1 TRANSFERRED
	// order:2 TRANSFERRED
}

// What is left on a desk that is closed becomes free. The objects that another transaction is changing are told, and left.
func ExampleClient_ReleaseAll() {
	ctx := context.Background()
	client, remove := openExample(ctx)
	defer remove()
	order := applock.Object{Type: "order", ID: "1"}
	if _, err := client.Get(ctx, applock.GetRequest{Object: order, Owner: applock.Owner{Operator: "JDOE"}}); err != nil {
		fmt.Println(err)
	}
	changes, err := client.ReleaseAll(ctx, applock.ReleaseAllRequest{Operator: "JDOE", Actor: "MLEE", Reason: "closed"})
	if err != nil {
		fmt.Println(err) // changes has what was done before
	}
	for _, change := range changes {
		fmt.Println(change.Object, change.Outcome)
	}
	_, err = client.Inquire(ctx, order)
	fmt.Println(errors.Is(err, applock.ErrNotHeld))
	// Output:
	// order:1 RELEASED
	// true
}

// A release that names the fence ends that grant and no other, and may be repeated.
func ExampleClient_Release() {
	ctx := context.Background()
	client, remove := openExample(ctx)
	defer remove()
	object := applock.Object{Type: "customer", ID: "42"}
	grant, err := client.Get(ctx, applock.GetRequest{Object: object, Owner: applock.Owner{Operator: "JDOE"}})
	if err != nil {
		log.Fatal(err)
	}
	request := applock.ReleaseRequest{Key: applock.Key{Object: object, Operator: "JDOE", Fence: grant.Fence}}

	released, err := client.Release(ctx, request)
	fmt.Println(released, err)
	released, err = client.Release(ctx, request)
	fmt.Println(released, err)
	// Output:
	// RELEASED <nil>
	// FREE <nil>
}

// Who works on this customer? Asking changes nothing.
func ExampleClient_Renew() {
	ctx := context.Background()
	client, remove := openExample(ctx)
	defer remove()
	object := applock.Object{Type: "job", ID: "nightly"}

	grant, err := client.Get(ctx, applock.GetRequest{Object: object, Owner: applock.Owner{Operator: "host:4711"}, TTL: 90 * time.Second})
	fmt.Println(grant.Outcome, err)
	renewed, err := client.Renew(ctx, grant.Key(), 0)
	fmt.Println(renewed.Outcome, renewed.Left, err)
	_, err = client.Release(ctx, applock.ReleaseRequest{Key: grant.Key()})
	fmt.Println(err)
	_, err = client.Renew(ctx, grant.Key(), 0)
	fmt.Println(errors.Is(err, applock.ErrLost))
	// Output:
	// ACQUIRED <nil>
	// RENEWED 1m30s <nil>
	// <nil>
	// true
}

// A desk lasts until the end of the day. Each grant has its own answer, and one that has ended is not begun again.
func ExampleClient_RenewAll() {
	ctx := context.Background()
	client, remove := openExample(ctx)
	defer remove()
	request := applock.RenewAllRequest{TTL: 8 * time.Hour}
	for _, id := range []string{"1", "2"} {
		grant, err := client.Get(ctx, applock.GetRequest{Object: applock.Object{Type: "order", ID: id}, Owner: applock.Owner{Operator: "JDOE"}, TTL: time.Hour})
		if err != nil {
			log.Fatal(err)
		}
		request.Keys = append(request.Keys, grant.Key())
	}
	if _, err := client.Release(ctx, applock.ReleaseRequest{Key: request.Keys[1]}); err != nil {
		log.Fatal(err)
	}
	changes, err := client.RenewAll(ctx, request)
	for _, change := range changes {
		fmt.Println(change.Object, change.Outcome, change.Left > 7*time.Hour)
	}
	request.Keys[1] = request.Keys[0]
	_, twice := client.RenewAll(ctx, request)
	fmt.Println(err, errors.Is(twice, applock.ErrInvalid))
	// Output:
	// order:1 RENEWED true
	// order:2 FREE false
	// <nil> true
}

func ExampleClient_Inquire() {
	ctx := context.Background()
	client, remove := openExample(ctx)
	defer remove()
	object := applock.Object{Type: "customer", ID: "42"}
	request := applock.GetRequest{Object: object, Owner: applock.Owner{Operator: "JDOE", Department: "CS"}, TTL: time.Hour}
	if _, err := client.Get(ctx, request); err != nil {
		log.Fatal(err)
	}

	lock, err := client.Inquire(ctx, object)
	fmt.Println(lock.Owner, "has it for", lock.ExpiresAt.Sub(lock.LockedAt), err)
	_, err = client.Inquire(ctx, applock.Object{Type: "customer", ID: "43"})
	fmt.Println("nobody has that one:", errors.Is(err, applock.ErrNotHeld))
	// Output:
	// JDOE (CS) has it for 1h0m0s <nil>
	// nobody has that one: true
}

// Who is refused is told why.
func ExampleClient_Note() {
	ctx := context.Background()
	client, remove := openExample(ctx)
	defer remove()
	object := applock.Object{Type: "customer", ID: "42"}
	grant, err := client.Get(ctx, applock.GetRequest{Object: object, Owner: applock.Owner{Operator: "JDOE", Department: "CS"}})
	if err != nil {
		log.Fatal(err)
	}
	err = client.Note(ctx, grant.Key(), "waits for documents until Friday")
	fmt.Println(err)

	_, err = client.Get(ctx, applock.GetRequest{Object: object, Owner: applock.Owner{Operator: "ASMITH"}})
	var held *applock.HeldError
	if errors.As(err, &held) {
		fmt.Println(held.Holder.Owner, held.Holder.Note)
	}
	// Output:
	// <nil>
	// JDOE (CS) waits for documents until Friday
}

// A supervisor hands a customer to a colleague. That is a new grant, with a greater fence.
func ExampleClient_Transfer() {
	ctx := context.Background()
	client, remove := openExample(ctx)
	defer remove()
	object := applock.Object{Type: "customer", ID: "42"}
	old, err := client.Get(ctx, applock.GetRequest{Object: object, Owner: applock.Owner{Operator: "JDOE", Department: "CS"}})
	if err != nil {
		log.Fatal(err)
	}
	request := applock.TransferRequest{Object: object, From: "JDOE", To: applock.Owner{Operator: "ASMITH", Department: "CS"}}

	grant, err := client.Transfer(ctx, request)
	fmt.Println(grant.Outcome, "to", grant.Owner, err)
	fmt.Println("a greater fence:", grant.Fence > old.Fence)
	_, err = client.Transfer(ctx, request)
	fmt.Println("JDOE has nothing to hand over:", errors.Is(err, applock.ErrHeld))
	// Output:
	// TRANSFERRED to ASMITH (CS) <nil>
	// a greater fence: true
	// JDOE has nothing to hand over: true
}

// History tells who did what to whose lock, and why.
func ExampleClient_History() {
	ctx := context.Background()
	client, remove := openExample(ctx)
	defer remove()
	object := applock.Object{Type: "customer", ID: "42"}
	if _, err := client.Get(ctx, applock.GetRequest{Object: object, Owner: applock.Owner{Operator: "JDOE", Department: "CS"}}); err != nil {
		log.Fatal(err)
	}
	request := applock.TransferRequest{
		Object: object, From: "JDOE", To: applock.Owner{Operator: "ASMITH", Department: "CS"}, Actor: "BOSS", Reason: "on holiday",
	}
	if _, err := client.Transfer(ctx, request); err != nil {
		log.Fatal(err)
	}

	for event, err := range client.History(ctx, applock.HistoryRequest{ObjectType: "customer", ObjectID: "42"}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s by %s: %s to %s, %q\n", event.Kind, event.Actor, event.From, event.To, event.Reason)
	}
	// Output:
	// TRANSFERRED by BOSS: JDOE (CS) to ASMITH (CS), "on holiday"
}

// A supervisor takes a customer whose holder has gone home, and says why. The former holder reads it in the inbox.
func ExampleClient_Take() {
	ctx := context.Background()
	client, remove := openExample(ctx)
	defer remove()
	object := applock.Object{Type: "customer", ID: "42"}
	shown, err := client.Get(ctx, applock.GetRequest{Object: object, Owner: applock.Owner{Operator: "JDOE", Department: "CS"}})
	if err != nil {
		log.Fatal(err)
	}

	request := applock.TakeRequest{
		Object: object, Owner: applock.Owner{Operator: "BOSS"}, Reason: "the customer is on the telephone", ExpectedFence: shown.Fence,
	}
	taken, err := client.Take(ctx, request)
	fmt.Println(taken.Outcome, "by", taken.Owner, "from", taken.From, err)
	_, err = client.Take(ctx, request)
	fmt.Println("that grant has ended:", errors.Is(err, applock.ErrHeld))
	// Output:
	// TAKEN by BOSS from JDOE (CS) <nil>
	// that grant has ended: true
}

// An administrator removes old events once a month. What tells of purges stays for 400 days.
func ExampleClient_PurgeHistory() {
	ctx := context.Background()
	client, remove := openExample(ctx)
	defer remove()
	result, err := client.PurgeHistory(ctx, applock.PurgeRequest{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result, "events are gone")
	// Output:
	// 0 events are gone
}

// A refusal says who has the object, and until when.
func ExampleHeldError() {
	ctx := context.Background()
	client, remove := openExample(ctx)
	defer remove()
	object := applock.Object{Type: "customer", ID: "42"}
	jdoe := applock.GetRequest{Object: object, Owner: applock.Owner{Operator: "JDOE", Department: "CS"}, TTL: time.Hour}
	if _, err := client.Get(ctx, jdoe); err != nil {
		log.Fatal(err)
	}

	_, err := client.Get(ctx, applock.GetRequest{Object: object, Owner: applock.Owner{Operator: "ASMITH"}})
	var held *applock.HeldError
	if errors.As(err, &held) {
		fmt.Println(held.Object, "is held by", held.Holder.Owner.Operator, "of", held.Holder.Owner.Department)
		fmt.Println("for at most an hour:", time.Until(held.Holder.ExpiresAt) <= time.Hour)
	}
	// Output:
	// customer:42 is held by JDOE of CS
	// for at most an hour: true
}

// Bad input names the argument, and nothing has been sent.
func ExampleInvalidError() {
	ctx := context.Background()
	client, remove := openExample(ctx)
	defer remove()

	_, err := client.Get(ctx, applock.GetRequest{Object: applock.Object{Type: "customer", ID: "42"}})
	fmt.Println(err)
	var invalid *applock.InvalidError
	fmt.Println(errors.As(err, &invalid), invalid.Argument)
	// Output:
	// get customer:42: Owner.Operator must not be empty
	// true Owner.Operator
}

// List iterates over any number of locks; it reads them page by page.
func ExampleClient_List() {
	ctx := context.Background()
	client, remove := openExample(ctx)
	defer remove()
	for _, id := range []string{"7", "42"} {
		request := applock.GetRequest{Object: applock.Object{Type: "customer", ID: id}, Owner: applock.Owner{Operator: "JDOE"}}
		if _, err := client.Get(ctx, request); err != nil {
			log.Fatal(err)
		}
	}

	for lock, err := range client.List(ctx, applock.ListRequest{Operator: "JDOE"}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(lock.Object)
	}
	// Output:
	// customer:42
	// customer:7
}

// In the caller's transaction the lock is there when the transaction commits, and not before.
func ExampleClient_WithSQLTx() {
	ctx := context.Background()
	handle, client, remove := openExampleFile(ctx)
	defer remove()
	object := applock.Object{Type: "customer", ID: "42"}

	tx, err := handle.BeginTx(ctx, nil)
	if err != nil {
		log.Fatal(err)
	}
	_, err = client.WithSQLTx(tx).Get(ctx, applock.GetRequest{Object: object, Owner: applock.Owner{Operator: "JDOE"}})
	fmt.Println("in the transaction:", err)
	_, err = client.Inquire(ctx, object)
	fmt.Println("outside, before the commit:", errors.Is(err, applock.ErrNotHeld))
	fmt.Println("commit:", tx.Commit())
	lock, err := client.Inquire(ctx, object)
	fmt.Println("outside, after the commit:", lock.Owner, err)
	// Output:
	// in the transaction: <nil>
	// outside, before the commit: true
	// commit: <nil>
	// outside, after the commit: JDOE <nil>
}

// The note is written while the lock is held, or not at all; a transaction that the database could not put in order begins again.
func ExampleClient_InSQLTx() {
	ctx := context.Background()
	handle, client, remove := openExampleFile(ctx)
	defer remove()
	if _, err := handle.ExecContext(ctx, "CREATE TABLE note (customer TEXT, text TEXT)"); err != nil {
		log.Fatal(err)
	}
	grant, err := client.Get(ctx, applock.GetRequest{Object: applock.Object{Type: "customer", ID: "42"}, Owner: applock.Owner{Operator: "JDOE"}})
	if err != nil {
		log.Fatal(err)
	}

	write := func(tx *sql.Tx, locks *applock.Client) error {
		if err := locks.Assert(ctx, grant.Key()); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, "INSERT INTO note VALUES ('42', 'has moved')")
		return err
	}
	fmt.Println("while the lock is held:", client.InSQLTx(ctx, write))
	if _, err := client.Release(ctx, applock.ReleaseRequest{Key: grant.Key()}); err != nil {
		log.Fatal(err)
	}
	fmt.Println("after it was lost:", errors.Is(client.InSQLTx(ctx, write), applock.ErrLost))
	// Output:
	// while the lock is held: <nil>
	// after it was lost: true
}

// Assert, first in the transaction that writes, keeps out a holder that lost its lock without noticing.
func ExampleClient_Assert() {
	ctx := context.Background()
	client, remove := openExample(ctx)
	defer remove()
	object := applock.Object{Type: "customer", ID: "42"}
	old, err := client.Get(ctx, applock.GetRequest{Object: object, Owner: applock.Owner{Operator: "JDOE"}})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := client.Transfer(ctx, applock.TransferRequest{Object: object, From: "JDOE", To: applock.Owner{Operator: "ASMITH"}}); err != nil {
		log.Fatal(err)
	}

	err = client.Assert(ctx, applock.Key{Object: object, Operator: "JDOE", Fence: old.Fence})
	fmt.Println(errors.Is(err, applock.ErrLost))
	// Output:
	// true
}

// Invoices get numbers without a gap: one transaction at a time counts on. Nothing is locked beyond its end.
func ExampleClient_Serialize() {
	ctx := context.Background()
	handle, client, remove := openExampleFile(ctx)
	defer remove()
	if _, err := handle.ExecContext(ctx, "CREATE TABLE invoice (number INTEGER)"); err != nil {
		log.Fatal(err)
	}
	sequence := applock.Object{Type: "sequence", ID: "invoice"}

	for range 2 {
		tx, err := handle.BeginTx(ctx, nil)
		if err != nil {
			log.Fatal(err)
		}
		if err := client.WithSQLTx(tx).Serialize(ctx, sequence); err != nil {
			log.Fatal(err)
		}
		var number int
		row := tx.QueryRowContext(ctx, "INSERT INTO invoice SELECT coalesce(max(number), 0) + 1 FROM invoice RETURNING number")
		if err := row.Scan(&number); err != nil {
			log.Fatal(err)
		}
		fmt.Println("invoice", number, tx.Commit())
	}
	err := client.Serialize(ctx, sequence)
	fmt.Println("without a transaction:", errors.Is(err, applock.ErrInvalid))
	// Output:
	// invoice 1 <nil>
	// invoice 2 <nil>
	// without a transaction: true
}

// Purge removes the rows of objects that have been free for long, from cron.
func ExampleClient_Purge() {
	ctx := context.Background()
	client, remove := openExample(ctx)
	defer remove()

	result, err := client.Purge(ctx, applock.PurgeRequest{OlderThan: 30 * 24 * time.Hour})
	fmt.Println(result, err)
	// Output:
	// 0 <nil>
}

// A program that starts makes sure that the database has what it needs.
func ExampleClient_Version() {
	ctx := context.Background()
	client, remove := openExample(ctx)
	defer remove()

	version, err := client.Version(ctx)
	fmt.Println(version >= applock.ContractVersion, err)
	// Output:
	// true <nil>
}
