package applock_test

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/migrate"
	"github.com/applock/applock/applock/open"
	"github.com/applock/applock/applock/postgres"
	mysqldriver "github.com/applock/applock/internal/db/mysql"
	"github.com/applock/applock/internal/testing/testclient"
	"github.com/applock/applock/internal/testing/testdb"
)

// Goal: a DSN that cannot be used is ErrInvalid, names what to write, and never repeats a password.
// Method: broken DSNs, each with the same password in it.
func TestOpenRefusesBadDSN(t *testing.T) {
	t.Parallel()
	const secret = "s3cr3tp4ss"
	for _, dsn := range []string{
		"",
		"applock.db",
		"oracle://scott:" + secret + "@host/db",
		"sqlite:",
		"postgres://user:" + secret + "%zz@host/db",
		"postgres://user:" + secret + "/x@host:5432/db",
		"postgres://user:" + secret + "@host:port/db",
		"postgres://user:x@" + secret + "@host/db",
		"postgres://user:12/" + secret + "@host/db",
		"postgres://user:12?" + secret + "@host/db",
		"postgres://user:" + secret + "@host/db?sslmode=nonsense",
		"postgres://user@host/db?password=" + secret + "&sslmode=nonsense",
		"postgres://user@host/db?sslpassword=" + secret + "&sslmode=nonsense",
		"postgres://user@host/db?x=y;password=" + secret + "&sslmode=nonsense",
		"postgres://user:70000/" + secret, // the host is forgotten
		"postgres://user:" + secret + "@host/db?connect_timeout=soon",
		"postgres://user:" + secret + "@host/db?pool_max_conns=" + secret,
		"postgres://user@host/db?password=" + secret + "&pool_max_conns=" + secret,
		"mysql://user:" + secret + "%zz@host/db",
		"mysql://user:" + secret + "/x@host:3306/db",
		"mysql://user:" + secret + "@host:port/db",
		"mysql://user:x@" + secret + "@host/db",
		"mysql://user:12/" + secret + "@host/db",
		"mysql://user:12?" + secret + "@host/db",
		"mysql://user:12#" + secret + "@host/db",
		"user:" + secret + "@tcp(host)/db?timeout=soon",
		"mysql://user:" + secret + "@host/db?parseTime=" + secret,
		"mysql://user:" + secret + "@host/db?tls=nonsense",
		"mysql://user:" + secret + "@host/db?timeout=soon",
		"mysql:user:" + secret + "@host/db",
		"mysql:user:" + secret + "@tcp(host:3306)",
		"mysql:user:x/" + secret + "@tcp(host:3306)",
		"user:" + secret + "@tcp(host:3306)",
		"user:" + secret + "@tcp(host:3306/db",
		"user:" + secret + "@tcp(host:3306)/db?parseTime=nonsense",
		"user:x/" + secret + "@tcp(host:3306)",
		"user:" + secret + "@udp(host:3306)/db",
	} {
		_, err := open.ByDSN(t.Context(), dsn, open.Config{})
		var invalid *applock.InvalidError
		if !errors.As(err, &invalid) || invalid.Argument != "dsn" {
			t.Errorf("%q: %v, want ErrInvalid of dsn", dsn, err)
		}
		if strings.Contains(fmt.Sprint(err), secret) || strings.Contains(fmt.Sprint(err), secret[:6]) {
			t.Errorf("%q: the error repeats the password: %v", dsn, err)
		}
	}
	for dsn, schema := range map[string]string{
		"sqlite:x.db":                             "locks",
		"mysql://user:" + secret + "@host/db":     "Locks",
		"user:" + secret + "@tcp(host:3306)/db":   "locks`x",
		"postgres://user:" + secret + "@host/db":  "l.ocks",
		"mysql://user:" + secret + "@host/db?x=y": strings.Repeat("l", 31),
	} {
		_, err := open.ByDSN(t.Context(), dsn, open.Config{Schema: schema})
		var invalid *applock.InvalidError
		if !errors.As(err, &invalid) || invalid.Argument != "Schema" || strings.Contains(err.Error(), secret) {
			t.Errorf("the schema %q in %q: %v, want ErrInvalid of Schema", schema, dsn, err)
		}
	}
}

// Goal: what goes wrong between here and the database says what to do, and never repeats a password.
// Method: each mishap on a real server; on MySQL with the DSN in both forms.
func TestDatabaseErrorsSayWhatToDo(t *testing.T) {
	t.Parallel()
	testdb.EachProduct(t, testdb.Servers(), func(t *testing.T, product string) {
		for _, mishap := range mishaps(t, product) {
			dsns := []string{mishap.dsn}
			if product != onPostgres {
				dsns = append(dsns, inOwnForm(t, mishap.dsn))
			}
			for _, dsn := range dsns {
				mishap.check(t, dsn)
			}
		}
	})
}

// mishap is a DSN that leads nowhere, and what the error says.
type mishap struct{ name, dsn, want string }

// mishapSecret is the password that no error may repeat.
const mishapSecret = "s3cr3tp4ss"

func mishaps(t *testing.T, product string) []mishap {
	t.Helper()
	dsn := testdb.New(t, product)
	parsed, err := url.Parse(dsn)
	if err != nil {
		t.Fatal("the DSN cannot be parsed")
	}
	change := func(edit func(*url.URL)) string {
		changed := *parsed
		edit(&changed)
		return changed.String()
	}
	all := []mishap{
		{"server down", change(func(u *url.URL) {
			u.User, u.Host = url.UserPassword("applock", mishapSecret), closedPort(t)
		}), "cannot reach the database"},
		{"no such database", change(func(u *url.URL) { u.Path = "/no_such_database" }), "no such database"},
		{"no schema", dsn, "applockctl migrate up"},
	}
	if product != onPostgres { // which may let everybody in
		all = append(all,
			mishap{"wrong password", change(func(u *url.URL) { u.User = url.UserPassword("root", mishapSecret) }), "refused the user or the password"},
			mishap{"no database", change(func(u *url.URL) { u.Path = "/" }), "no such database"})
	}
	return all
}

func (m mishap) check(t *testing.T, dsn string) {
	t.Helper()
	client, err := open.ByDSN(t.Context(), dsn, open.Config{})
	if err != nil {
		t.Fatalf("%s: %v", m.name, err)
	}
	defer func() { _ = client.Close() }()
	_, err = client.Get(t.Context(), applock.GetRequest{
		Object: applock.Object{Type: "customer", ID: "42"},
		Owner:  applock.Owner{Operator: "JDOE"},
	})
	if err == nil || !strings.Contains(err.Error(), m.want) || errors.Is(err, applock.ErrOutcomeUnknown) {
		t.Errorf("%s: %v, want an error with %q", m.name, err, m.want)
	}
	if strings.Contains(fmt.Sprint(err), mishapSecret) {
		t.Errorf("%s: the error repeats the password: %v", m.name, err)
	}
}

// Goal: where nothing can be changed, every change says so, nothing has changed, and what only reads answers. Method: sessions that
// are read only, beside a client that has a lock; TestHeavyVerifyReplica has a standby.
func TestReadOnlySession(t *testing.T) {
	t.Parallel()
	for product, setting := range map[string]string{
		onPostgres: "default_transaction_read_only=on", onMariaDB: "tx_read_only=1", onMySQL: "transaction_read_only=1",
	} {
		t.Run(product, func(t *testing.T) {
			t.Parallel()
			dsn := testclient.Lent(t, product)
			held, free := applock.Object{Type: "customer", ID: "42"}, applock.Object{Type: "customer", ID: "43"}
			jdoe := applock.Owner{Operator: "JDOE"}
			writer := testclient.Open(t, dsn, "", nil)
			grant, err := writer.Get(t.Context(), applock.GetRequest{Object: held, Owner: jdoe})
			if err != nil {
				t.Fatal(err)
			}
			parsed, err := url.Parse(dsn)
			if err != nil {
				t.Fatal("the DSN cannot be parsed")
			}
			parsed.RawQuery = strings.TrimPrefix(parsed.RawQuery+"&"+setting, "&")
			reader := testclient.Open(t, parsed.String(), "", nil)
			errs := map[string]error{}
			_, errs["release"] = reader.Release(t.Context(), applock.ReleaseRequest{Key: applock.Key{Object: held, Operator: "JDOE"}})
			_, errs["get"] = reader.Get(t.Context(), applock.GetRequest{Object: free, Owner: jdoe})
			_, errs["renew"] = reader.Get(t.Context(), applock.GetRequest{Object: held, Owner: jdoe})
			errs["note"] = reader.Note(t.Context(), applock.Key{Object: held, Operator: "JDOE"}, "waits for documents")
			for operation, err := range errs {
				if !errors.Is(err, applock.ErrReadOnly) || errors.Is(err, applock.ErrOutcomeUnknown) {
					t.Errorf("%s: %v, want ErrReadOnly", operation, err)
				}
			}
			lock, err := reader.Inquire(t.Context(), held)
			if err != nil || lock.Fence != grant.Fence || !lock.ExpiresAt.Equal(grant.ExpiresAt) {
				t.Errorf("inquire: %v, %v, want the grant as it was: %v", lock, err, grant)
			}
		})
	}
}

// inOwnForm returns a DSN of MySQL in the form of its Go client, user:password@tcp(host:port)/database.
func inOwnForm(t *testing.T, dsn string) string {
	t.Helper()
	config, err := mysqldriver.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	return config.FormatDSN()
}

// closedPort returns an address of this machine where nobody listens.
func closedPort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	return address
}

func openSQLite(t *testing.T) *applock.Client {
	t.Helper()
	return testclient.Open(t, testclient.Lent(t, onSQLite), "", nil)
}

// Goal: what only Go can pass is refused by Go. Method: text that is no text, and odd durations.
func TestInvalidInGo(t *testing.T) {
	t.Parallel()
	client := openSQLite(t)
	get := func(object applock.Object, owner applock.Owner, ttl time.Duration) error {
		_, err := client.Get(t.Context(), applock.GetRequest{Object: object, Owner: owner, TTL: ttl})
		return err
	}
	object, owner := applock.Object{Type: "customer", ID: "42"}, applock.Owner{Operator: "JDOE"}
	for want, err := range map[string]error{
		"Object.Type":      get(applock.Object{Type: "a\x00b", ID: "42"}, owner, 0),
		"Object.ID":        get(applock.Object{Type: "customer", ID: "\xff"}, owner, 0),
		"Owner.Operator":   get(object, applock.Owner{Operator: "\x00"}, 0),
		"Owner.Department": get(object, applock.Owner{Operator: "JDOE", Department: "\xc3"}, 0),
		"TTL":              get(object, owner, 1500*time.Millisecond),
	} {
		var invalid *applock.InvalidError
		if !errors.As(err, &invalid) || invalid.Argument != want || !errors.Is(err, applock.ErrInvalid) {
			t.Errorf("%v, want ErrInvalid of %s", err, want)
		}
	}
	if _, err := client.Inquire(t.Context(), object); !errors.Is(err, applock.ErrNotHeld) {
		t.Errorf("inquire: %v, want ErrNotHeld: nothing has changed", err)
	}
}

// Goal: the history is told of each get which must be new and was refused, the operator's own, too. Method: both, of a type
// whose policy asks for all.
func TestNewTellsItsRefusal(t *testing.T) {
	t.Parallel()
	client := openSQLite(t)
	policy := applock.Policy{Type: "customer", HistoryLevel: applock.HistoryAll}
	if err := client.SetPolicy(t.Context(), applock.SetPolicyRequest{Policy: policy, Actor: "DBA"}); err != nil {
		t.Fatal(err)
	}
	object := applock.Object{Type: "customer", ID: "42"}
	for _, operator := range []string{"JDOE", "JDOE", "ASMITH"} {
		_, err := client.Get(t.Context(), applock.GetRequest{Object: object, Owner: applock.Owner{Operator: operator}, New: true})
		if err != nil && !errors.Is(err, applock.ErrHeld) {
			t.Fatal(err)
		}
	}
	var told []applock.EventKind
	for event, err := range client.History(t.Context(), applock.HistoryRequest{ObjectType: "customer", ObjectID: "42"}) {
		if err != nil {
			t.Fatal(err)
		}
		told = append(told, event.Kind)
	}
	if want := []applock.EventKind{applock.EventAcquired, applock.EventRefused, applock.EventRefused}; !slices.Equal(told, want) {
		t.Errorf("the history has %v, want %v", told, want)
	}
}

// Goal: TYPE:ID is read at the first colon and written back the same.
func TestParseObject(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]applock.Object{
		"customer:42":       {Type: "customer", ID: "42"},
		"url:https://a.b:1": {Type: "url", ID: "https://a.b:1"},
		"a:":                {Type: "a"},
	} {
		got, err := applock.ParseObject(text)
		if err != nil || got != want || got.String() != text {
			t.Errorf("%q: %#v %q, %v, want %#v", text, got, got, err, want)
		}
	}
	for _, text := range []string{"", "customer"} {
		if _, err := applock.ParseObject(text); !errors.Is(err, applock.ErrInvalid) {
			t.Errorf("%q: %v, want ErrInvalid", text, err)
		}
	}
}

// Goal: one debug record for each operation, with fixed keys. Method: a logger that writes to memory.
func TestLogger(t *testing.T) {
	t.Parallel()
	var records bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&records, &slog.HandlerOptions{Level: slog.LevelDebug}))
	dsn := "sqlite:" + filepath.Join(t.TempDir(), "applock.db")
	client := testclient.Open(t, dsn, "", logger)
	if _, err := migrate.Up(t.Context(), client, migrate.UpRequest{}); err != nil {
		t.Fatal(err)
	}
	_, err := client.Get(t.Context(), applock.GetRequest{
		Object: applock.Object{Type: "customer", ID: "42"},
		Owner:  applock.Owner{Operator: "JDOE"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"level=DEBUG", "msg=get_appl_lock", "object=customer:42", "operator=JDOE", "fence=", "outcome=ACQUIRED"} {
		if !strings.Contains(records.String(), want) {
			t.Errorf("the record lacks %q: %s", want, records.String())
		}
	}
}

// Goal: closing a client leaves what was handed to it open, and ends what Open opened.
// Method: close, then use the handle; and the client of Open.
func TestCloseLeavesCallersHandleOpen(t *testing.T) {
	t.Parallel()
	for product, newClient := range map[string]func(testing.TB, *sql.DB) *applock.Client{
		onSQLite:  testclient.SQLite,
		onMariaDB: testclient.MySQL,
		onMySQL:   testclient.MySQL,
	} {
		t.Run(product, func(t *testing.T) {
			t.Parallel()
			place := newRealPlace(t, product)
			client := newClient(t, place.handle)
			if err := client.Close(); err != nil {
				t.Fatal(err)
			}
			if err := place.handle.PingContext(t.Context()); err != nil {
				t.Errorf("the caller's handle after Close: %v", err)
			}
			if _, err := client.Version(t.Context()); !errors.Is(err, applock.ErrClosed) {
				t.Errorf("the client after Close: %v, want ErrClosed", err)
			}
			if _, err := newClient(t, place.handle).Version(t.Context()); err != nil {
				t.Errorf("another client on the handle: %v", err)
			}
			if err := place.client.Close(); err != nil {
				t.Fatal(err)
			}
			if _, err := place.client.Version(t.Context()); !errors.Is(err, applock.ErrClosed) {
				t.Errorf("the client of Open after Close: %v, want ErrClosed", err)
			}
		})
	}
}

// Goal: in a *sql.Tx of the application a lock comes with its commit and not with its rollback; a transaction that is nil
// or of another engine is ErrInvalid, and nothing is done outside of it instead.
// Method: an order and a lock in one transaction, rolled back and committed; then each operation with what is none.
func TestWithTx(t *testing.T) {
	t.Parallel()
	testdb.EachProduct(t, testdb.Products(), func(t *testing.T, product string) {
		place := newRealPlace(t, product)
		place.exec(t, createOrders)
		for _, commit := range []bool{false, true} {
			insertOrder(t, place, place.client, commit)
			_, err := place.client.Inquire(t.Context(), orderLock.Object)
			if errors.Is(err, applock.ErrNotHeld) == commit {
				t.Errorf("after commit %t: %v", commit, err)
			}
			if n := place.count(t, "SELECT count(*) FROM shop_order"); (n == 1) != commit {
				t.Errorf("after commit %t: %d orders", commit, n)
			}
		}
		other := orderLock
		other.Object.ID = "43"
		for name, client := range map[string]*applock.Client{
			"nil": place.client.WithSQLTx(nil), "a transaction of PostgreSQL": postgres.WithTx(place.client, nil),
		} {
			for operation, err := range everyOperation(t, client, other) {
				var invalid *applock.InvalidError
				if !errors.As(err, &invalid) || invalid.Argument != "tx" || !errors.Is(err, applock.ErrInvalid) {
					t.Errorf("%s in %s: %v, want ErrInvalid of tx", operation, name, err)
				}
			}
		}
		if _, err := place.client.Inquire(t.Context(), other.Object); !errors.Is(err, applock.ErrNotHeld) {
			t.Errorf("after all that: %v, want ErrNotHeld", err)
		}
	})
}

const createOrders = `CREATE TABLE shop_order (order_id INTEGER NOT NULL PRIMARY KEY)`

var orderLock = applock.GetRequest{
	Object: applock.Object{Type: "order", ID: "42"},
	Owner:  applock.Owner{Operator: "JDOE", Department: "SALES"},
}

// insertOrder inserts and locks an order in one transaction, for which client has the locks.
func insertOrder(t *testing.T, place realPlace, client *applock.Client, commit bool) {
	t.Helper()
	tx, err := place.handle.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }() // after the commit there is nothing to roll back
	locks := client.WithSQLTx(tx)
	if err := locks.Serialize(t.Context(), orderLock.Object); err != nil {
		t.Fatal(err)
	}
	grant, err := locks.Get(t.Context(), orderLock)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.ExecContext(t.Context(), "INSERT INTO shop_order (order_id) VALUES (42)"); err != nil {
		t.Fatal(err)
	}
	err = locks.Assert(t.Context(), grant.Key())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Inquire(t.Context(), orderLock.Object); !errors.Is(err, applock.ErrNotHeld) {
		t.Errorf("outside, before the commit: %v, want ErrNotHeld", err)
	}
	if !commit {
		return
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
}

// everyOperation returns the error of each operation.
func everyOperation(t *testing.T, client *applock.Client, request applock.GetRequest) map[string]error {
	t.Helper()
	ctx, object, operator := t.Context(), request.Object, request.Owner.Operator
	errs := map[string]error{}
	_, errs["get"] = client.Get(ctx, request)
	_, errs["release"] = client.Release(ctx, applock.ReleaseRequest{Key: applock.Key{Object: object, Operator: operator}})
	_, errs["inquire"] = client.Inquire(ctx, object)
	_, errs["take"] = client.Take(ctx, applock.TakeRequest{Object: object, Owner: request.Owner, Reason: "why"})
	_, _, errs["inbox"] = client.Inbox(ctx, applock.InboxRequest{Operator: operator})
	_, errs["transfer"] = client.Transfer(ctx, applock.TransferRequest{Object: object, From: operator + "2", To: request.Owner})
	for _, err := range client.List(ctx, applock.ListRequest{}) {
		errs["list"] = err
	}
	_, errs["purge"] = client.Purge(ctx, applock.PurgeRequest{})
	errs["assert"] = client.Assert(ctx, applock.Key{Object: object, Operator: operator, Fence: 1})
	errs["serialize"] = client.Serialize(ctx, object)
	_, errs["version"] = client.Version(ctx)
	return errs
}

// Goal: both forms of a DSN for MySQL name the same database, and a lock has the same times through both, in UTC.
// Method: lock through the one, with options that would shift times, look through the other.
func TestOpenMySQL(t *testing.T) {
	t.Parallel()
	testdb.EachProduct(t, testdb.MySQLProducts(), func(t *testing.T, product string) {
		dsn := testclient.Lent(t, product)
		const elsewhere = "?loc=Asia%2FTokyo&time_zone=%27%2B09%3A00%27"
		var granted applock.Grant
		for i, dsn := range []string{dsn, inOwnForm(t, dsn), dsn + elsewhere} {
			client, err := open.ByDSN(t.Context(), dsn, open.Config{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = client.Close() })
			if i == 0 {
				if granted, err = client.Get(t.Context(), orderLock); err != nil {
					t.Fatal(err)
				}
			}
			lock, err := client.Inquire(t.Context(), orderLock.Object)
			if err != nil || lock.Fence != granted.Fence || lock.ExpiresAt != granted.ExpiresAt ||
				time.Until(lock.ExpiresAt.Add(-applock.DefaultTTL)).Abs() > time.Minute {
				t.Errorf("DSN %d: got %+v, %v, want %+v", i, lock, err, granted)
			}
		}
	})
}

// Goal: on MySQL a schema is a database: two of them on one server are two independent sets of locks, and an
// application with its data in the one can have its locks in the other, in one transaction.
// Method: the same object in both; then an order and a lock on two sides of one transaction, rolled back and committed.
func TestSchemaOnMySQL(t *testing.T) {
	t.Parallel()
	testdb.EachProduct(t, testdb.MySQLProducts(), func(t *testing.T, product string) {
		shop := newRealPlace(t, product)
		config, err := mysqldriver.ParseDSN(testdb.New(t, product))
		if err != nil {
			t.Fatal(err)
		}
		elsewhere, err := open.ByDSN(t.Context(), shop.dsn, open.Config{Schema: config.DBName})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = elsewhere.Close() })
		if _, err := elsewhere.Inquire(t.Context(), orderLock.Object); !errors.Is(err, applock.ErrSchema) {
			t.Errorf("before the migration of the other database: %v, want ErrSchema", err)
		}
		if _, err := migrate.Up(t.Context(), elsewhere, migrate.UpRequest{}); err != nil {
			t.Fatal(err)
		}
		checkTwoSetsOfLocks(t, shop.client, elsewhere)
		handedIn := testclient.MySQLIn(t, shop.handle, config.DBName)
		shop.exec(t, createOrders)
		for _, commit := range []bool{false, true} {
			insertOrder(t, shop, handedIn, commit)
			_, err := elsewhere.Inquire(t.Context(), orderLock.Object)
			if errors.Is(err, applock.ErrNotHeld) == commit {
				t.Errorf("the lock in the other database after commit %t: %v", commit, err)
			}
			if n := shop.count(t, "SELECT count(*) FROM shop_order"); (n == 1) != commit {
				t.Errorf("after commit %t: %d orders", commit, n)
			}
		}
		if _, err := shop.client.Inquire(t.Context(), orderLock.Object); !errors.Is(err, applock.ErrNotHeld) {
			t.Errorf("the lock beside the order: %v, want ErrNotHeld", err)
		}
	})
}

// checkTwoSetsOfLocks locks one object in two places by two operators, and releases it again.
func checkTwoSetsOfLocks(t *testing.T, one, other *applock.Client) {
	t.Helper()
	requests := map[*applock.Client]applock.GetRequest{one: orderLock, other: orderLock}
	request := orderLock
	request.Owner.Operator = "ASMITH"
	requests[other] = request
	for client, request := range requests {
		if _, err := client.Get(t.Context(), request); err != nil {
			t.Fatal(err)
		}
	}
	for client, request := range requests {
		count := 0
		for lock, err := range client.List(t.Context(), applock.ListRequest{}) {
			if err != nil || lock.Object != request.Object || lock.Owner != request.Owner {
				t.Errorf("listed %+v, %v, want the lock of %s", lock, err, request.Owner)
			}
			count++
		}
		if count != 1 {
			t.Errorf("%d locks, want 1", count)
		}
	}
	for client, request := range requests {
		released, err := client.Release(t.Context(), applock.ReleaseRequest{Key: applock.Key{Object: request.Object, Operator: request.Owner.Operator}})
		if err != nil || released != applock.OutcomeReleased {
			t.Errorf("release of %s: %v, %v", request.Owner, released, err)
		}
	}
}
