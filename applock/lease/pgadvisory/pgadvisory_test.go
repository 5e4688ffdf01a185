package pgadvisory_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
	"github.com/applock/applock/applock/lease/internal/sessions/sessionstest"
	"github.com/applock/applock/applock/lease/pgadvisory"
	"github.com/applock/applock/internal/testing/testdb"
)

func TestSessions(t *testing.T) {
	t.Parallel()
	dsn := testdb.Require(t, "postgres")
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatal("the DSN cannot be parsed")
	}
	place := func(namespace string) string { return namespace + " " + dsn }
	sessionstest.Exercise(t, sessionstest.Product{
		Open: func(t testing.TB, namespace, via string, grace time.Duration) *lease.Leases {
			t.Helper()
			return mustOpen(t, pgadvisory.Config{DSN: through(t, dsn, via), Namespace: namespace, Grace: grace})
		},
		Address: net.JoinHostPort(config.Host, strconv.Itoa(int(config.Port))),
		Holder: func(t testing.TB, namespace string, object applock.Object) int {
			t.Helper()
			return holderOf(t, place(namespace), object)
		},
		Alive: func(t testing.TB, session int) bool {
			t.Helper()
			var alive bool
			row := connect(t, place("")).QueryRow(t.Context(), "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $1)", session)
			if err := row.Scan(&alive); err != nil {
				t.Fatal(err)
			}
			return alive
		},
		Kill: func(t testing.TB, session int) {
			t.Helper()
			kill(t, place(""), session)
		},
	})
}

func mustOpen(t testing.TB, config pgadvisory.Config) *lease.Leases {
	t.Helper()
	leases, err := pgadvisory.New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = leases.Close() })
	return leases
}

// through returns a DSN with another address.
func through(t testing.TB, dsn, address string) string {
	t.Helper()
	if address == "" {
		return dsn
	}
	parsed, err := url.Parse(dsn)
	if err != nil {
		t.Fatal("the DSN is not a URL")
	}
	parsed.Host = address
	return parsed.String()
}

func customer(id string) applock.Object { return applock.Object{Type: "customer", ID: id} }

func request(object applock.Object) applock.AcquireRequest {
	return applock.AcquireRequest{Object: object, MaxHold: time.Minute}
}

// Goal: programs in other languages exclude ours, and are excluded. Method: the SQL of the documentation makes the
// same keys, and takes locks, also shared ones, that refuse ours; the refusal tells the session and its name.
func TestOtherLanguages(t *testing.T) {
	t.Parallel()
	place := newPlace(t)
	other := connect(t, place)
	for _, object := range []applock.Object{customer("42"), customer("a:b"), customer("ä🔒'\\"), customer(strings.Repeat("x", 255))} {
		var key int64
		const sql = "SELECT ('x' || left(encode(sha256(convert_to('applock:' || $1, 'UTF8')), 'hex'), 16))::bit(64)::bigint"
		if err := other.QueryRow(t.Context(), sql, object.String()).Scan(&key); err != nil {
			t.Fatal(err)
		}
		if want := pgadvisory.Key("", object); key != want {
			t.Errorf("the key of %s is %d in SQL, and %d here", object, key, want)
		}
	}
	leases := mustOpen(t, configOf(place))
	key := pgadvisory.Key(configOf(place).Namespace, customer("42"))
	for _, kind := range []string{"", "_shared"} {
		if _, err := other.Exec(t.Context(), fmt.Sprintf("SELECT pg_advisory_lock%s(%d)", kind, key)); err != nil {
			t.Fatal(err)
		}
		_, err := leases.TryAcquire(t.Context(), request(customer("42")))
		var held *applock.HeldError
		if want := fmt.Sprintf("session %d ()", other.PgConn().PID()); !errors.As(err, &held) || held.Holder.Owner.Operator != want {
			t.Errorf("refused: %v, want %q as the holder", err, want)
		}
		waiter := make(chan error, 1)
		go func() {
			waiter <- leases.Do(t.Context(), request(customer("42")), func(context.Context, applock.Lease) error { return nil })
		}()
		if len(waiter) > 0 {
			t.Fatalf("the waiter got the lock, or %v", <-waiter)
		}
		if _, err := other.Exec(t.Context(), fmt.Sprintf("SELECT pg_advisory_unlock%s(%d)", kind, key)); err != nil {
			t.Fatal(err)
		}
		if err := <-waiter; err != nil {
			t.Error(err)
		}
	}
	lease, err := leases.Acquire(t.Context(), request(customer("42")))
	if err != nil {
		t.Fatal(err)
	}
	var got bool
	if err := other.QueryRow(t.Context(), "SELECT pg_try_advisory_lock($1)", key).Scan(&got); err != nil || got {
		t.Errorf("the other program got the lock: %t, %v", got, err)
	}
	if err := lease.Release(t.Context()); err != nil {
		t.Error(err)
	}
}

// Goal: locks that look alike to the server but are not on our objects are left alone. Method: the same bits as a
// pair of keys, and in another database.
func TestOtherLocks(t *testing.T) {
	t.Parallel()
	place := newPlace(t)
	namespace := configOf(place).Namespace
	key := pgadvisory.Key(namespace, customer("42"))
	elsewhere := namespace + " " + testdb.Postgres(t)
	if _, err := connect(t, place).Exec(t.Context(), "SELECT pg_advisory_lock($1, $2)", int32(key>>32), int32(key)); err != nil {
		t.Fatal(err)
	}
	if _, err := connect(t, elsewhere).Exec(t.Context(), "SELECT pg_advisory_lock($1)", key); err != nil {
		t.Fatal(err)
	}
	leases := mustOpen(t, configOf(place))
	lease, err := leases.TryAcquire(t.Context(), request(customer("42")))
	if err != nil {
		t.Fatal(err)
	}
	freed := make(chan error, 1)
	other := mustOpen(t, configOf(place))
	if _, err := other.TryAcquire(t.Context(), request(customer("42"))); !errors.Is(err, applock.ErrHeld) {
		t.Fatalf("try to acquire: %v, want ErrHeld", err)
	}
	go func() {
		freed <- other.Do(t.Context(), request(customer("42")), func(context.Context, applock.Lease) error { return nil })
	}()
	if err := lease.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-freed:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(5 * time.Minute):
		t.Error("the waiter takes other locks for the one it waits for")
	}
}

// Goal: a pooler in transaction mode is refused with the reason, before anything is changed in sessions that
// others use. Method: PgBouncer; the setting that is made first is not there.
func TestAPoolerIsRefused(t *testing.T) {
	t.Parallel()
	dsn := testdb.PgBouncer(t, testdb.Postgres(t))
	leases := mustOpen(t, pgadvisory.Config{DSN: dsn})
	_, err := leases.TryAcquire(t.Context(), request(customer("42")))
	if !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "pooler") {
		t.Errorf("try to acquire: %v, want the pooler to be named", err)
	}
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatal("the DSN cannot be parsed")
	}
	config.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
	conn, err := pgx.ConnectConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	var timeout string
	if err := conn.QueryRow(t.Context(), "SHOW idle_session_timeout").Scan(&timeout); err != nil || timeout != "0" {
		t.Errorf("the session of others has idle_session_timeout = %s, %v", timeout, err)
	}
}

// Goal: a caller who wrongly sets SessionPooler notices it when the session changes: the holder by a check; a caller that acquires by an
// error, and then the holder, too. Method: another client begins a transaction in the session with the first lock; in the second part it
// ends before a check can see it.
func TestAWrongSessionPooler(t *testing.T) {
	t.Parallel()
	for name, acquire := range map[string]bool{"Check": false, "Acquire": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn := withSimpleProtocol(testdb.PgBouncer(t, testdb.Postgres(t)))
			leases := mustOpen(t, pgadvisory.Config{DSN: dsn, SessionPooler: true})
			lease, err := leases.TryAcquire(t.Context(), request(customer("1")))
			if err != nil {
				t.Fatal(err)
			}
			other, err := pgx.Connect(t.Context(), dsn)
			if err != nil {
				t.Fatal(err)
			}
			defer other.Close(context.WithoutCancel(t.Context()))
			tx, err := other.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
			if acquire {
				_, err = leases.TryAcquire(t.Context(), request(customer("2")))
				if !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "SessionPooler") {
					t.Errorf("try to acquire: %v, want SessionPooler to be named", err)
				}
				if err := tx.Rollback(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			select {
			case <-lease.Context().Done():
			case <-time.After(5 * time.Minute):
				t.Error("the holder has not heard of the loss")
			}
		})
	}
}

func withSimpleProtocol(dsn string) string {
	separator := "?"
	if strings.Contains(dsn, "?") {
		separator = "&"
	}
	return dsn + separator + "default_query_exec_mode=simple_protocol"
}

// Goal: the program shows in pg_stat_activity and in the refusals of others; by the name that the DSN gives, if it
// does. Method: the refusals.
func TestProgramName(t *testing.T) {
	t.Parallel()
	place := newPlace(t)
	names := map[string]string{ // by the option of the DSN
		"":                            `^session \d+ \(applock \S+/\d+\)$`,
		"application_name=ledger%20a": `^session \d+ \(ledger a\)$`,
	}
	for option, pattern := range names {
		config := configOf(place)
		if option != "" {
			separator := "?"
			if strings.Contains(config.DSN, "?") {
				separator = "&"
			}
			config.DSN += separator + option
		}
		object := customer("of " + option)
		lease, err := mustOpen(t, config).Acquire(t.Context(), request(object))
		if err != nil {
			t.Fatal(err)
		}
		_, err = mustOpen(t, configOf(place)).TryAcquire(t.Context(), request(object))
		var held *applock.HeldError
		if !errors.As(err, &held) || !regexp.MustCompile(pattern).MatchString(held.Holder.Owner.Operator) {
			t.Errorf("refused: %v, want the holder to match %s", err, pattern)
		}
		if err := lease.Release(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// Goal: a bad configuration is refused without repeating the password. Method: DSNs that cannot be parsed, and a
// bad namespace.
func TestBadConfig(t *testing.T) {
	t.Parallel()
	bad := map[string]pgadvisory.Config{
		"dsn":       {DSN: "postgres://app:sesame@host:notaport/shop"},
		"namespace": {DSN: "postgres://app:sesame@host/shop", Namespace: "a:b"},
	}
	for argument, config := range bad {
		_, err := pgadvisory.New(config)
		var invalid *applock.InvalidError
		if !errors.As(err, &invalid) || invalid.Argument != argument {
			t.Errorf("new: %v, want %s to be refused", err, argument)
		}
		if err != nil && strings.Contains(err.Error(), "sesame") {
			t.Errorf("the password is in %q", err)
		}
	}
}

// A nightly job on one node at a time: who comes second finds it done, or goes without.
func Example() {
	if err := reconcile(context.Background(), "postgres://app@db.example.org/shop"); err != nil {
		log.Fatal(err)
	}
}

func reconcile(ctx context.Context, dsn string) error {
	leases, err := pgadvisory.New(pgadvisory.Config{DSN: dsn})
	if err != nil {
		return err
	}
	defer func() { _ = leases.Close() }()
	nightly := applock.AcquireRequest{
		Object:  applock.Object{Type: "job", ID: "reconciliation"},
		MaxHold: time.Hour,
	}
	lease, err := leases.TryAcquire(ctx, nightly)
	if errors.Is(err, applock.ErrHeld) {
		return nil // another node is at it
	}
	if err != nil {
		return err
	}
	workErr := work(lease.Context()) // which ends if the lease is lost
	return errors.Join(workErr, lease.Release(ctx))
}

func work(ctx context.Context) error { return ctx.Err() }

// Goal: the example works. Method: run it on a server.
func TestExample(t *testing.T) {
	t.Parallel()
	if err := reconcile(t.Context(), testdb.Require(t, "postgres")); err != nil {
		t.Error(err)
	}
}
