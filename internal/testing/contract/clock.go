package contract

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/db"
)

// Goal: each later grant of an object has a greater fence, also after the clock was set back. Method: the test writes fences from the
// future into the table, as a clock that ran ahead would have left them.
func fences(t *testing.T, backend Backend) {
	t.Parallel()
	place := backend.New(t)
	ctx := t.Context()
	first := mustGet(t, place.Client, customer(1), "JDOE")
	future := int64(first.Fence) + int64(48*time.Hour/time.Microsecond)
	if _, err := place.SQL.ExecContext(ctx, fmt.Sprintf("UPDATE %s SET fence = %d", place.Table, future)); err != nil {
		t.Fatal(err)
	}
	// The grant begins in the future. Getting it again is still a renewal.
	if err := place.Advance(ctx, -time.Hour); err != nil {
		t.Fatal(err)
	}
	if renewed := mustGet(t, place.Client, customer(1), "JDOE"); int64(renewed.Fence) != future || renewed.Outcome != applock.OutcomeRenewed {
		t.Errorf("renewed: %v, want a renewal of fence %d", renewed, future)
	}
	moved, err := place.Client.Transfer(ctx, applock.TransferRequest{Object: customer(1), From: "JDOE", To: applock.Owner{Operator: "ASMITH"}})
	if err != nil || int64(moved.Fence) != future+1 {
		t.Errorf("transferred fence %d, %v, want %d", moved.Fence, err, future+1)
	}
	if _, err := place.Client.Release(ctx, applock.ReleaseRequest{Key: applock.Key{Object: customer(1), Operator: "ASMITH"}}); err != nil {
		t.Fatal(err)
	}
	// A purge must keep a row whose fence lies in the future, however long it has been free. Otherwise the next fence would be the
	// current time, which is smaller.
	if err := place.Advance(ctx, 40*24*time.Hour); err != nil {
		t.Fatal(err)
	}
	if purged, err := place.Client.Purge(ctx, applock.PurgeRequest{}); err != nil || purged != 0 {
		t.Errorf("purged %d, %v, want 0", purged, err)
	}
	if again := mustGet(t, place.Client, customer(1), "JDOE"); int64(again.Fence) != future+2 {
		t.Errorf("fence after release %d, want %d", again.Fence, future+2)
	}
}

// Goal: a lock expires by the database's clock alone; no call is needed. Method: really wait for the end of a lock of one second.
func clock(t *testing.T, backend Backend) {
	t.Parallel()
	expiry(t, backend.New(t).Client)
}

// Goal: the time of an operation is that of its statement, not of the transaction. Method: a lock of one second ends in the transaction that got
// it, and is free for others there.
func clockInTransaction(t *testing.T, backend Backend) {
	t.Parallel()
	place := backend.New(t)
	tx, err := place.SQL.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	expiry(t, place.Client.WithSQLTx(tx))
	if err := tx.Rollback(); err != nil {
		t.Error(err)
	}
}

// expiry waits for the end of a lock of one second.
func expiry(t *testing.T, client *applock.Client) {
	t.Helper()
	ctx := t.Context()
	request := applock.GetRequest{Object: customer(0), Owner: applock.Owner{Operator: "JDOE"}, TTL: time.Second}
	if _, err := client.Get(ctx, request); err != nil {
		t.Fatal(err)
	}
	request.Object = customer(1)
	first, err := client.Get(ctx, request)
	if err != nil {
		t.Fatal(err)
	}
	other := applock.GetRequest{Object: customer(1), Owner: applock.Owner{Operator: "ASMITH"}}
	second, err := client.Get(ctx, other)
	for began := time.Now(); errors.Is(err, applock.ErrHeld) && time.Since(began) < time.Minute; {
		time.Sleep(20 * time.Millisecond)
		second, err = client.Get(ctx, other)
	}
	if err != nil || second.Fence <= first.Fence {
		t.Fatalf("take-over: %v, %v, want a fence above %d", second, err, first.Fence)
	}
	lock, err := client.Inquire(ctx, customer(1))
	if err != nil || lock.AcquiredAt.Before(first.ExpiresAt) {
		t.Errorf("taken over at %s, %v, before the end at %s", lock.AcquiredAt, err, first.ExpiresAt)
	}
	if now := lock.AcquiredAt.UnixMicro(); int64(second.Fence) < now {
		t.Errorf("fence %d after the take-over, want at least the time, %d: a purge would let it go back", second.Fence, now)
	}
	if lock, err := client.Inquire(ctx, customer(0)); !errors.Is(err, applock.ErrNotHeld) {
		t.Errorf("an expired lock: %+v, %v, want ErrNotHeld", lock, err)
	}
	if released, err := client.Release(ctx, applock.ReleaseRequest{Key: applock.Key{Object: customer(0), Operator: "JDOE"}}); err != nil || released != applock.OutcomeFree {
		t.Errorf("the release of an expired lock: %s, %v, want FREE", released, err)
	}
}

// Goal: a lock lasts for its ttl from the end of a wait, also when that ends with a rollback, after which an engine may go on with the times from
// before. Method: a get, of a free object and as a renewal, waits for a transaction that is rolled back after it has got another object: the
// waiter's lock ends no sooner than that object's would have. A get that has waited too long, because the machine is busy, begins again.
func rollbackEndsAWait(t *testing.T, backend Backend) {
	t.Parallel()
	if len(backend.Levels) == 0 {
		return // nobody waits for a row
	}
	place := backend.New(t)
	for operator, wanted := range map[string]applock.Outcome{"JDOE": applock.OutcomeRenewed, "ASMITH": applock.OutcomeAcquired} {
		mustGet(t, place.Client, customer(operator), "JDOE")
		if wanted == applock.OutcomeAcquired {
			mustRelease(t, place.Client, customer(operator), "JDOE")
		}
		request := applock.GetRequest{Object: customer(operator), Owner: applock.Owner{Operator: operator}, TTL: time.Minute}
		end, grant, err := getBehindARollback(t, place, request)
		for errors.Is(err, applock.ErrBusy) {
			end, grant, err = getBehindARollback(t, place, request)
		}
		if err != nil || grant.Outcome != wanted || grant.ExpiresAt.Before(end.Add(-backend.Slack)) {
			t.Errorf("got %+v, %v, want %s until at least %s", grant, err, wanted, end)
		}
	}
}

// getBehindARollback gets a lock while a transaction has its row. It returns when a lock would have ended that the transaction got last.
func getBehindARollback(t *testing.T, place Place, request applock.GetRequest) (end time.Time, grant applock.Grant, err error) {
	t.Helper()
	tx, err := place.SQL.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	former := place.Client.WithSQLTx(tx)
	mustGet(t, former, request.Object, "JDOE")
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		grant, err = place.Client.Get(t.Context(), request)
	}()
	for waiting := 0; waiting == 0; {
		select {
		case <-answered:
			waiting = 1
		case <-time.After(5 * time.Millisecond):
			var failure error
			if waiting, failure = place.Waiting(t.Context()); failure != nil {
				t.Fatal(failure)
			}
		}
	}
	time.Sleep(300 * time.Millisecond) // more than an engine takes for a statement that has not waited
	request.Object = customer("last of " + request.Owner.Operator)
	last, failure := former.Get(t.Context(), request)
	if failure != nil {
		t.Fatal(failure)
	}
	if failure := tx.Rollback(); failure != nil {
		t.Fatal(failure)
	}
	<-answered
	return last.ExpiresAt, grant, err
}

// Goal: a released lock stays released when the clock is set back, for its former holder and for everybody else. The fence grows, and the
// next grant lasts its full ttl, however often it is renewed without a ttl. The next purge removes the rows that are old enough and
// nothing else. Method: an hour passes backwards; then a month passes.
func clockSetBack(t *testing.T, backend Backend) {
	t.Parallel()
	place := backend.New(t)
	client, ctx := place.Client, t.Context()
	first := mustGet(t, client, customer(1), "JDOE")
	mustRelease(t, client, customer(1), "JDOE")
	if err := place.Advance(ctx, -time.Hour); err != nil {
		t.Fatal(err)
	}
	if lock, err := client.Inquire(ctx, customer(1)); !errors.Is(err, applock.ErrNotHeld) {
		t.Errorf("a released object, the clock set back: %v, %v, want ErrNotHeld", lock, err)
	}
	for lock, err := range client.List(ctx, applock.ListRequest{}) {
		t.Errorf("a released object, the clock set back: listed as %v, %v", lock, err)
	}
	assertion := applock.Key{Object: customer(1), Operator: "JDOE", Fence: first.Fence}
	if err := client.Assert(ctx, assertion); !errors.Is(err, applock.ErrLost) {
		t.Errorf("the grant that was released, the clock set back: %v, want ErrLost", err)
	}
	renewed, err := place.Driver.RenewApplLocks(ctx, db.RenewApplLocksParams{Grants: []db.RenewableGrant{grantOf(first, time.Hour)}})
	if err != nil || len(renewed) != 1 || renewed[0].Outcome != db.Free {
		t.Errorf("a renewal of the grant that was released, the clock set back: %v, %v, want FREE", renewed, err)
	}
	second, err := client.Get(ctx, applock.GetRequest{Object: customer(1), Owner: applock.Owner{Operator: "ASMITH"}, TTL: time.Minute})
	if err != nil || second.Fence <= first.Fence {
		t.Errorf("fence %d behind %d, %v", second.Fence, first.Fence, err)
	}
	for range 3 {
		if again := mustGet(t, client, customer(1), "ASMITH"); again.Outcome != applock.OutcomeRenewed || again.Left != time.Minute {
			t.Errorf("a renewal without a ttl: %+v, want RENEWED for a minute", again)
		}
	}
	mustRelease(t, client, customer(1), "ASMITH")
	for _, passed := range []struct {
		long time.Duration
		want int64
	}{{0, 0}, {31 * 24 * time.Hour, 1}} {
		if err := place.Advance(ctx, passed.long); err != nil {
			t.Fatal(err)
		}
		if result, err := client.Purge(ctx, applock.PurgeRequest{}); err != nil || result != passed.want {
			t.Errorf("purge after %s: %d, %v, want %d", passed.long, result, err, passed.want)
		}
	}
}

func mustRelease(t testing.TB, client *applock.Client, object applock.Object, operator string) {
	t.Helper()
	released, err := client.Release(t.Context(), applock.ReleaseRequest{Key: applock.Key{Object: object, Operator: operator}})
	if err != nil || released != applock.OutcomeReleased {
		t.Fatalf("release %s of %s: %v, %v", object, operator, released, err)
	}
}

// grantOf is a grant in the form that a renewal by fence takes.
func grantOf(grant applock.Grant, ttl time.Duration) db.RenewableGrant {
	return db.RenewableGrant{
		ObjectType: grant.Object.Type, ObjectID: grant.Object.ID, OperatorID: grant.Owner.Operator,
		Fence: int64(grant.Fence), TTLSeconds: int64(ttl / time.Second),
	}
}

// Goal: each renewal counts as one even when the clock stands still or runs behind the row's times: lock_ts grows by at least a
// microsecond, and the ttl and the start of the grant stay. Method: a grant whose times lie ahead is renewed repeatedly, by its operator
// and by its fence, outside a transaction and within one.
func standingTime(t *testing.T, backend Backend) {
	t.Parallel()
	place := backend.New(t)
	grant := mustGet(t, place.Client, customer(1), "JDOE")
	if err := place.Advance(t.Context(), -time.Hour); err != nil {
		t.Fatal(err)
	}
	start := inquired(t, place, customer(1))
	renewTwiceEach(t, place.Client, place.Driver, start, grant)
	middle := inquired(t, place, customer(1))
	tx := begin(t, place)
	renewTwiceEach(t, place.Client.WithSQLTx(tx), place.Driver.WithSQLTx(tx), middle, grant)
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	end := inquired(t, place, customer(1))
	for _, lock := range []applock.Lock{middle, end} {
		if !lock.AcquiredAt.Equal(start.AcquiredAt) || lock.Fence != start.Fence || lock.LockedAt.Sub(start.LockedAt) > time.Minute {
			t.Errorf("the lock was %+v and is %+v", start, lock)
		}
	}
}

// renewTwiceEach renews by operator and by fence, in turns.
func renewTwiceEach(t *testing.T, client *applock.Client, driver db.Driver, before applock.Lock, grant applock.Grant) {
	t.Helper()
	inquire := func() applock.Lock {
		lock, err := client.Inquire(t.Context(), grant.Object)
		if err != nil {
			t.Fatal(err)
		}
		return lock
	}
	for range 2 {
		if again := mustGet(t, client, grant.Object, "JDOE"); again.Outcome != applock.OutcomeRenewed || again.Left != applock.DefaultTTL {
			t.Errorf("get: %+v, want RENEWED for seven days", again)
		}
		after := inquire()
		if !after.LockedAt.After(before.LockedAt) {
			t.Errorf("get: lock_ts was %s and is %s", before.LockedAt, after.LockedAt)
		}
		renewed, err := driver.RenewApplLocks(t.Context(), db.RenewApplLocksParams{Grants: []db.RenewableGrant{grantOf(grant, applock.DefaultTTL)}})
		if err != nil || len(renewed) != 1 || renewed[0].Outcome != db.Renewed {
			t.Errorf("renew: %+v, %v, want RENEWED", renewed, err)
		}
		before = inquire()
		if !before.LockedAt.After(after.LockedAt) {
			t.Errorf("renew: lock_ts was %s and is %s", after.LockedAt, before.LockedAt)
		}
	}
}

// Goal: a fence never falls, also when the row is purged and the clock is set back before the next grant. Method: a purge must keep the
// greatest fence that it removes. The fence that the database has kept is put an hour ahead, as by a clock that was set back; then a
// client gets an object that has no row. A purge of a lower fence must not lower the kept one.
func fencesAfterPurge(t *testing.T, backend Backend) {
	t.Parallel()
	place := backend.New(t)
	ctx := t.Context()
	purge := func() {
		t.Helper()
		if err := place.Advance(ctx, 40*24*time.Hour); err != nil {
			t.Fatal(err)
		}
		if purged, err := place.Client.Purge(ctx, applock.PurgeRequest{}); err != nil || purged == 0 {
			t.Fatalf("purged %d, %v", purged, err)
		}
	}
	first := mustGet(t, place.Client, customer(1), "JDOE")
	mustRelease(t, place.Client, customer(1), "JDOE")
	purge()
	const hour = int64(time.Hour / time.Microsecond)
	if _, err := place.SQL.ExecContext(ctx, fmt.Sprintf("UPDATE %s_fence SET fence = fence + %d", place.Table, hour)); err != nil {
		t.Fatal(err)
	}
	second := mustGet(t, place.Client, customer(1), "JDOE")
	if int64(second.Fence) <= int64(first.Fence)+hour {
		t.Errorf("fence %d after a purge, want more than %d, and the hour that the clock was set back", second.Fence, first.Fence)
	}
	third := mustGet(t, place.Client, customer(2), "JDOE")
	if third.Fence <= applock.Fence(hour) || int64(third.Fence) <= int64(first.Fence)+hour {
		t.Errorf("fence %d of another object, want more than that of any that was purged", third.Fence)
	}
	if _, err := place.SQL.ExecContext(ctx, fmt.Sprintf("UPDATE %s SET fence = %d", place.Table, first.Fence)); err != nil {
		t.Fatal(err)
	}
	purge()
	if fourth := mustGet(t, place.Client, customer(3), "JDOE"); int64(fourth.Fence) <= int64(first.Fence)+hour {
		t.Errorf("fence %d after a purge of lower ones, want more than %d and an hour", fourth.Fence, first.Fence)
	}
}
