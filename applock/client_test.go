package applock_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/testdb"
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
		"postgres://user:" + secret + "@host/db?sslmode=nonsense",
		"postgres://user@host/db?password=" + secret + "&sslmode=nonsense",
		"postgres://user:" + secret + "@host/db?connect_timeout=soon",
	} {
		_, err := applock.Open(t.Context(), applock.Config{DSN: dsn})
		var invalid *applock.InvalidError
		if !errors.As(err, &invalid) || invalid.Argument != "dsn" {
			t.Errorf("%q: %v, want ErrInvalid of dsn", dsn, err)
		}
		if strings.Contains(fmt.Sprint(err), secret) || strings.Contains(fmt.Sprint(err), secret[:6]) {
			t.Errorf("%q: the error repeats the password: %v", dsn, err)
		}
	}
	_, err := applock.Open(t.Context(), applock.Config{DSN: "sqlite:x.db", Schema: "locks"})
	var invalid *applock.InvalidError
	if !errors.As(err, &invalid) || invalid.Argument != "schema" {
		t.Errorf("a schema on SQLite: %v, want ErrInvalid of schema", err)
	}
}

// Goal: what goes wrong between here and the database says what to do, and never repeats a password.
// Method: each mishap on a real server.
func TestDatabaseErrorsSayWhatToDo(t *testing.T) {
	t.Parallel()
	dsn := testdb.Postgres(t)
	parsed, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	const secret = "s3cr3tp4ss"
	change := func(edit func(*url.URL)) string {
		changed := *parsed
		edit(&changed)
		return changed.String()
	}
	for name, test := range map[string]struct{ dsn, want string }{
		"server down": {change(func(u *url.URL) {
			u.User, u.Host = url.UserPassword("applock", secret), closedPort(t)
		}), "cannot reach the database"},
		"no such database": {change(func(u *url.URL) { u.Path = "/no_such_database" }), "no such database"},
		"no schema":        {dsn, "applockctl migrate up"},
	} {
		client, err := applock.Open(t.Context(), applock.Config{DSN: test.dsn})
		if err != nil {
			t.Fatal(err)
		}
		_, err = client.Get(t.Context(), applock.GetRequest{
			Object: applock.Object{Type: "customer", ID: "42"},
			Owner:  applock.Owner{Operator: "JDOE"},
		})
		if err == nil || !strings.Contains(err.Error(), test.want) || errors.Is(err, applock.ErrOutcomeUnknown) {
			t.Errorf("%s: %v, want an error with %q", name, err, test.want)
		}
		if strings.Contains(fmt.Sprint(err), secret) {
			t.Errorf("%s: the error repeats the password: %v", name, err)
		}
		_ = client.Close()
	}
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
	client, err := applock.Open(t.Context(), applock.Config{DSN: "sqlite:" + filepath.Join(t.TempDir(), "applock.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	if _, err := client.MigrateUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	return client
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
		"object_type":   get(applock.Object{Type: "a\x00b", ID: "42"}, owner, 0),
		"object_id":     get(applock.Object{Type: "customer", ID: "\xff"}, owner, 0),
		"operator_id":   get(object, applock.Owner{Operator: "\x00"}, 0),
		"department_id": get(object, applock.Owner{Operator: "JDOE", Department: "\xc3"}, 0),
		"ttl_seconds":   get(object, owner, 1500*time.Millisecond),
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
	client := openSQLite(t).WithLogger(logger)
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

// Goal: closing a client leaves what was handed to it open. Method: close, then use the handle.
func TestCloseLeavesCallersHandleOpen(t *testing.T) {
	t.Parallel()
	handle := sqliteHandle(t)
	if err := applock.NewSQLite(handle).Close(); err != nil {
		t.Fatal(err)
	}
	if err := handle.PingContext(context.WithoutCancel(t.Context())); err != nil {
		t.Errorf("the caller's handle after Close: %v", err)
	}
}

func sqliteHandle(t *testing.T) *sql.DB {
	t.Helper()
	handle, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "shop.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = handle.Close() })
	return handle
}
