package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	postgresclient "github.com/applock/applock/applock/postgres"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/testing/testclient"
)

func inTx(t *testing.T, pool *pgxpool.Pool, work func(pgx.Tx)) {
	t.Helper()
	tx, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
	work(tx)
}

func value[T any](t *testing.T, tx pgx.Tx, query string, args ...any) T {
	t.Helper()
	var result T
	if err := tx.QueryRow(t.Context(), query, args...).Scan(&result); err != nil {
		t.Fatal(err)
	}
	return result
}

const (
	getCall     = "CALL applock.get_appl_lock('customer', $1, $2, 'CS', 3600)"
	releaseCall = "CALL applock.release_appl_lock('customer', $1, $2, NULL, NULL, NULL)"
)

func execute(t *testing.T, tx pgx.Tx, query string, args ...any) {
	t.Helper()
	if _, err := tx.Exec(t.Context(), query, args...); err != nil {
		t.Fatal(err)
	}
}

// Goal: a refusal writes nothing and locks no row. Method: a transaction that is only refused has no
// transaction id, which the first write or row lock would give it, and its statistics stay at zero.
func TestRefusalWritesNothing(t *testing.T) {
	t.Parallel()
	place := newPlace(t)
	pool := newPool(t, place.DSN) // sessions that have changed nothing
	holder := applock.Owner{Operator: "JDOE"}
	grant, err := place.Client.Get(t.Context(), applock.GetRequest{Object: applock.Object{Type: "customer", ID: "1"}, Owner: holder})
	if err != nil {
		t.Fatal(err)
	}
	for _, refused := range []struct{ name, call string }{
		{"get", "CALL applock.get_appl_lock('customer', '1', 'ASMITH', '', NULL)"},
		{"release by a stranger", "CALL applock.release_appl_lock('customer', '1', 'ASMITH', NULL, NULL, NULL)"},
		{"release of another grant", fmt.Sprintf("CALL applock.release_appl_lock('customer', '1', 'JDOE', %d, NULL, NULL)", grant.Fence-1)},
		{"release of a free object", "CALL applock.release_appl_lock('customer', '2', 'JDOE', NULL, NULL, NULL)"},
		{"transfer from a stranger", "CALL applock.transfer_appl_lock('customer', '1', 'ASMITH', 'BROWN', '', NULL, NULL, NULL)"},
		{"transfer of a free object", "CALL applock.transfer_appl_lock('customer', '2', 'JDOE', 'BROWN', '', NULL, NULL, NULL)"},
		{"take of another grant", fmt.Sprintf("CALL applock.take_appl_lock('customer', '1', 'BOSS', '', 'why', %d, NULL)", grant.Fence-1)},
		{"take of a free object", "CALL applock.take_appl_lock('customer', '2', 'BOSS', '', 'why', NULL, NULL)"},
		{"inbox", "SELECT * FROM applock.inbox_appl_locks('JDOE', NULL, NULL)"},
		{"answer by a stranger", "CALL applock.answer_appl_lock('customer', '1', 'ASMITH', 1, 'BROWN', NULL, 'GIVE', NULL)"},
		{"answer for another grant", fmt.Sprintf("CALL applock.answer_appl_lock('customer', '1', 'JDOE', %d, 'BROWN', NULL, 'GIVE', NULL)", grant.Fence-1)},
		{"answer to nobody", fmt.Sprintf("CALL applock.answer_appl_lock('customer', '1', 'JDOE', %d, 'BROWN', NULL, 'GIVE', NULL)", grant.Fence)},
		{"answer for a free object", "CALL applock.answer_appl_lock('customer', '2', 'JDOE', 1, 'BROWN', NULL, 'GIVE', NULL)"},
		{"ask for what is its own", "CALL applock.ask_appl_lock('customer', '1', 'JDOE', NULL, 'tab', NULL, NULL)"},
		{"ask for a free object", "CALL applock.ask_appl_lock('customer', '2', 'ASMITH', NULL, 'tab', NULL, NULL)"},
		{"asking", "SELECT * FROM applock.appl_lock_asking"},
		{"viewers", "SELECT * FROM applock.appl_lock_viewers"},
		{"note by a stranger", "CALL applock.note_appl_lock('customer', '1', 'ASMITH', NULL, 'why')"},
		{"note of a free object", "CALL applock.note_appl_lock('customer', '2', 'JDOE', NULL, 'why')"},
		{"transfers of nothing", "SELECT * FROM applock.transfer_appl_locks('ASMITH', NULL, 'KIM', '', NULL, NULL, NULL, NULL, NULL, NULL, NULL)"},
		{"a dry run of transfers", "SELECT * FROM applock.transfer_appl_locks('JDOE', NULL, 'KIM', '', NULL, NULL, NULL, NULL, NULL, NULL, 'Y')"},
		{"a dry run of releases", "SELECT * FROM applock.release_appl_locks('JDOE', NULL, NULL, NULL, NULL, NULL, NULL, 'Y')"},
		{"inquire", "CALL applock.inquire_appl_lock('customer', '1')"},
		{"list", "SELECT * FROM applock.appl_lock_live"},
	} {
		inTx(t, pool, func(tx pgx.Tx) {
			execute(t, tx, refused.call)
			if id := value[*string](t, tx, "SELECT pg_current_xact_id_if_assigned()::text"); id != nil {
				t.Errorf("%s: wrote or locked something in transaction %s", refused.name, *id)
			}
			if rows := value[int](t, tx, "SELECT n_tup_ins + n_tup_upd + n_tup_del FROM pg_stat_xact_user_tables WHERE relname = 'appl_lock'"); rows != 0 {
				t.Errorf("%s: changed %d rows", refused.name, rows)
			}
		})
	}
}

// Goal: renewing, releasing and taking again are HOT updates: no index entry is written.
// Method: the transaction's own statistics.
func TestUpdatesAreHOT(t *testing.T) {
	t.Parallel()
	pool := migratedPool(t)
	inTx(t, pool, func(tx pgx.Tx) {
		execute(t, tx, getCall, "1", "JDOE")
		for range 5 {
			execute(t, tx, getCall, "1", "JDOE")
			execute(t, tx, releaseCall, "1", "JDOE")
			execute(t, tx, getCall, "1", "ASMITH")
			execute(t, tx, "CALL applock.transfer_appl_lock('customer', '1', 'ASMITH', 'JDOE', '', NULL, NULL, NULL)")
			execute(t, tx, "CALL applock.take_appl_lock('customer', '1', 'BOSS', '', 'why', NULL, NULL)")
			execute(t, tx, "CALL applock.take_appl_lock('customer', '1', 'JDOE', '', 'why', NULL, NULL)")
			execute(t, tx, `SELECT applock.renew_appl_locks(jsonb_build_array(jsonb_build_object('object_type', 'customer', 'object_id', '1',
				'operator_id', 'JDOE', 'fence', l.fence, 'ttl_seconds', 60))::text) FROM applock.appl_lock AS l`)
		}
		updates := value[int](t, tx, "SELECT n_tup_upd FROM pg_stat_xact_user_tables WHERE relname = 'appl_lock'")
		hot := value[int](t, tx, "SELECT n_tup_hot_upd FROM pg_stat_xact_user_tables WHERE relname = 'appl_lock'")
		if updates != 35 || hot != updates {
			t.Errorf("%d of %d updates are HOT, want 35 of 35", hot, updates)
		}
	})
}

// Goal: after a wait, start, fence and expiry of a grant come from after the wait. Method: a get waits
// behind a transaction that takes and releases; its grant must not begin before that release.
func TestGrantBeginsAfterWait(t *testing.T) {
	t.Parallel()
	place := newPlace(t)
	pool := newPool(t, place.DSN)
	ctx := t.Context()
	object := applock.Object{Type: "customer", ID: "1"}
	tx, err := pool.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	former := postgresclient.WithTx(place.Client, tx)
	if _, err := former.Get(ctx, applock.GetRequest{Object: object, Owner: applock.Owner{Operator: "JDOE"}}); err != nil {
		t.Fatal(err)
	}
	var waiter sync.WaitGroup
	waiter.Go(func() {
		_, err := place.Client.Get(ctx, applock.GetRequest{Object: object, Owner: applock.Owner{Operator: "ASMITH"}})
		if err != nil {
			t.Errorf("get after the release: %v", err)
		}
	})
	for waiting := 0; waiting == 0; {
		if waiting, err = place.Waiting(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := former.Release(ctx, applock.ReleaseRequest{Key: applock.Key{Object: object, Operator: "JDOE"}}); err != nil {
		t.Fatal(err)
	}
	released := value[time.Time](t, tx, "SELECT released_ts FROM applock.appl_lock")
	if err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	waiter.Wait()
	lock, err := place.Client.Inquire(ctx, object)
	if err != nil {
		t.Fatal(err)
	}
	if lock.AcquiredAt.Before(released) || int64(lock.Fence) < released.UnixMicro() {
		t.Errorf("grant begins at %s with fence %d, before the release at %s", lock.AcquiredAt, lock.Fence, released)
	}
}

// Goal: FREE ends a grant for good: a release of one that has expired waits for a renewal that was in time and is not committed yet, and releases
// it. Method: what such a renewal has written, in a transaction that commits when the release waits.
func TestReleaseWaitsForARenewalInTime(t *testing.T) {
	t.Parallel()
	place := newPlace(t)
	pool := newPool(t, place.DSN)
	call(t, pool, getCall, "1", "JDOE")
	call(t, pool, "UPDATE applock.appl_lock SET expires_ts = clock_timestamp() - interval '1 second'")
	answered := make(chan applock.Outcome, 1)
	inTx(t, pool, func(tx pgx.Tx) {
		execute(t, tx, "UPDATE applock.appl_lock SET expires_ts = clock_timestamp() + interval '1 hour', lock_ts = clock_timestamp()")
		go func() {
			release := applock.ReleaseRequest{Key: applock.Key{Object: applock.Object{Type: "customer", ID: "1"}, Operator: "JDOE"}}
			outcome, err := place.Client.Release(t.Context(), release)
			for errors.Is(err, applock.ErrBusy) { // a busy machine commits later
				outcome, err = place.Client.Release(t.Context(), release)
			}
			answered <- outcome
		}()
		for waiting := 0; waiting == 0 && len(answered) == 0; {
			var err error
			if waiting, err = place.Waiting(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if err := tx.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
	if outcome := <-answered; outcome != applock.OutcomeReleased {
		t.Errorf("the release answers %s, want RELEASED", outcome)
	}
}

// Goal: a call whose connection dies under it says that its outcome is unknown, and repeating it is
// safe. Method: the server ends the session while the call waits for a row.
func TestBrokenConnectionIsUnknownOutcome(t *testing.T) {
	t.Parallel()
	place := newPlace(t)
	pool := newPool(t, place.DSN)
	ctx := t.Context()
	request := applock.GetRequest{Object: applock.Object{Type: "customer", ID: "1"}, Owner: applock.Owner{Operator: "ASMITH"}}
	inTx(t, pool, func(tx pgx.Tx) {
		execute(t, tx, getCall, "1", "JDOE")
		err := applock.ErrBusy
		for errors.Is(err, applock.ErrBusy) { // a busy machine has looked for the waiter too late
			answered := make(chan error, 1)
			go func() {
				_, err := place.Client.Get(ctx, request)
				answered <- err
			}()
			err = killWaiters(t, pool, answered)
		}
		if !errors.Is(err, applock.ErrOutcomeUnknown) {
			t.Errorf("get on a connection that dies: %v, want ErrOutcomeUnknown", err)
		}
	})
	if _, err := place.Client.Get(ctx, request); err != nil {
		t.Errorf("the same get again: %v", err)
	}
}

// killWaiters ends the sessions that wait for a row, until the call that waits has been answered, and returns its error. It is not in a
// transaction, in which pg_stat_activity stays what it was.
func killWaiters(t *testing.T, pool *pgxpool.Pool, answered <-chan error) error {
	t.Helper()
	for {
		select {
		case err := <-answered:
			return err
		case <-time.After(time.Millisecond):
		}
		if _, err := pool.Exec(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock'`); err != nil {
			t.Fatal(err)
		}
	}
}

// Goal: a call whose answer is lost says that its outcome is unknown, in each of pgx's ways to talk to the server.
// Method: a connection that is cut off when the answer is on its way; the lock is there.
func TestLostAnswerIsUnknownOutcome(t *testing.T) {
	t.Parallel()
	place := newPlace(t)
	for _, mode := range []string{"cache_statement", "cache_describe", "describe_exec", "exec", "simple_protocol"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			proxy := newProxy(t, place.DSN)
			pool := newPool(t, proxy.dsn+"&default_query_exec_mode="+mode)
			client := testclient.Postgres(t, pool)
			object := applock.Object{Type: "answer", ID: mode}
			request := applock.GetRequest{Object: object, Owner: applock.Owner{Operator: "JDOE"}}
			if _, err := client.Get(t.Context(), request); err != nil { // prepared and described by now
				t.Fatal(err)
			}
			if _, err := place.Client.Release(t.Context(), applock.ReleaseRequest{Key: applock.Key{Object: object, Operator: "JDOE"}}); err != nil {
				t.Fatal(err)
			}
			proxy.loseAnswers()
			if _, err := client.Get(t.Context(), request); !errors.Is(err, applock.ErrOutcomeUnknown) {
				t.Errorf("get: %v, want ErrOutcomeUnknown", err)
			}
			// A mode that describes first has lost that answer, and nothing has happened.
			if _, err := place.Client.Inquire(t.Context(), object); err != nil && mode != "describe_exec" {
				t.Errorf("inquire: %v, want the lock", err)
			}
		})
	}
}

// Goal: a call that is cancelled in flight says that its outcome is unknown; in a transaction it does
// not, because nothing has happened before the commit. Method: cancel while the call waits for a row.
func TestCancelledCallIsUnknownOutcome(t *testing.T) {
	t.Parallel()
	place := newPlace(t)
	pool := newPool(t, place.DSN)
	request := applock.GetRequest{Object: applock.Object{Type: "customer", ID: "1"}, Owner: applock.Owner{Operator: "ASMITH"}}
	inTx(t, pool, func(tx pgx.Tx) {
		execute(t, tx, getCall, "1", "JDOE")
		err := cancelledInItsWait(t, tx, func(ctx context.Context) error {
			_, err := place.Client.Get(ctx, request)
			return err
		})
		if !errors.Is(err, applock.ErrOutcomeUnknown) || !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled get: %v, want ErrOutcomeUnknown and the cause", err)
		}
		inTx(t, pool, func(other pgx.Tx) {
			err := cancelledInItsWait(t, tx, func(ctx context.Context) error {
				_, err := postgresclient.WithTx(place.Client, other).Get(ctx, request)
				return err
			})
			if err == nil || errors.Is(err, applock.ErrOutcomeUnknown) {
				t.Errorf("cancelled get in a transaction: %v, want an error that is not ErrOutcomeUnknown", err)
			}
		})
	})
}

// cancelledInItsWait makes a call whose context ends when it waits for a row that the transaction has.
func cancelledInItsWait(t *testing.T, tx pgx.Tx, call func(ctx context.Context) error) error {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	answer := make(chan error, 1)
	go func() { answer <- call(ctx) }()
	const blocks = "SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY (pg_blocking_pids(pid)))"
	for waits := false; !waits; {
		if err := tx.QueryRow(t.Context(), blocks).Scan(&waits); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-answer:
			t.Fatalf("the call did not wait: %v", err)
		default:
		}
	}
	cancel()
	return <-answer
}

// lockStory takes, refuses, lists, transfers, asserts and releases.
func lockStory(t *testing.T, client *applock.Client, object applock.Object) {
	t.Helper()
	ctx := t.Context()
	if _, err := client.Get(ctx, applock.GetRequest{Object: object, Owner: applock.Owner{Operator: "O'Brien", Department: `"x"\`}}); err != nil {
		t.Fatal(err)
	}
	var held *applock.HeldError
	if _, err := client.Get(ctx, applock.GetRequest{Object: object, Owner: applock.Owner{Operator: "ASMITH"}}); !errors.As(err, &held) ||
		held.Holder.Owner.Operator != "O'Brien" || held.Holder.Owner.Department != `"x"\` || held.Holder.ExpiresAt.IsZero() {
		t.Fatalf("get: %v, want held by O'Brien", err)
	}
	for lock, err := range client.List(ctx, applock.ListRequest{ObjectType: object.Type, Operator: "O'Brien"}) {
		if err != nil || lock.Owner != held.Holder.Owner {
			t.Errorf("list: %v, %v", lock, err)
		}
	}
	grant, err := client.Transfer(ctx, applock.TransferRequest{Object: object, From: "O'Brien", To: applock.Owner{Operator: "ASMITH"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Assert(ctx, applock.Key{Object: object, Operator: "ASMITH", Fence: grant.Fence}); err != nil {
		t.Error(err)
	}
	if err := client.Assert(ctx, applock.Key{Object: object, Operator: "O'Brien", Fence: grant.Fence}); !errors.Is(err, applock.ErrLost) ||
		!errors.Is(err, applock.ErrNotHeld) || !strings.Contains(err.Error(), "held by ASMITH") {
		t.Errorf("assert: %v, want ErrLost that names ASMITH", err)
	}
	if released, err := client.Release(ctx, applock.ReleaseRequest{Key: applock.Key{Object: object, Operator: "ASMITH", Fence: grant.Fence}}); err != nil || released != applock.OutcomeReleased {
		t.Errorf("release: %v, %v", released, err)
	}
}

// Goal: PostgreSQL inlines the functions that compute how long a lock lasts. Method: the plan shows their expressions.
func TestTimesAreComputedInPlace(t *testing.T) {
	t.Parallel()
	pool := migratedPool(t)
	plan := strings.Join(column(t, pool, `
		EXPLAIN (VERBOSE) SELECT applock.appl_lock_seconds_left(l.expires_ts), applock.appl_lock_next_fence(l.fence, l.lock_ts)
		FROM applock.appl_lock AS l`), "\n")
	if strings.Contains(plan, "appl_lock_seconds_left") || strings.Contains(plan, "appl_lock_next_fence") ||
		!strings.Contains(plan, "clock_timestamp()") {
		t.Errorf("the plan calls the functions:\n%s", plan)
	}
}
