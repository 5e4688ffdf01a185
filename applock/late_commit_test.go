package applock_test

import (
	"context"
	"errors"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
	"github.com/applock/applock/applock/migrate"
	"github.com/applock/applock/internal/clients"
	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/sqlite"
	"github.com/applock/applock/internal/testing/testclient"
)

// lateCommit is a database whose first commit answers late.
type lateCommit struct {
	db.Driver
	calls     atomic.Int64
	committed chan struct{}
	answer    chan struct{}
}

func (d *lateCommit) InTx(ctx context.Context, operations func(db.Driver) error) error {
	err := d.Driver.InTx(ctx, operations)
	if d.calls.Add(1) == 1 {
		close(d.committed)
		<-d.answer
	}
	return err
}

// onLateCommit returns a client whose first AcquireAll gets its answer when the test says so, and another one.
func onLateCommit(t *testing.T) (late *lateCommit, client, other *applock.Client) {
	t.Helper()
	dsn := "sqlite:" + filepath.Join(t.TempDir(), "late.db")
	driver, err := sqlite.Open(dsn)
	if err != nil {
		t.Fatal(err)
	}
	late = &lateCommit{Driver: driver, committed: make(chan struct{}), answer: make(chan struct{})}
	client = clients.New[*applock.Client](late, nil, lease.Hooks{})
	t.Cleanup(func() { _ = client.Close() })
	if _, err := migrate.Up(t.Context(), client, migrate.UpRequest{}); err != nil {
		t.Fatal(err)
	}
	return late, client, testclient.Open(t, dsn, "", nil)
}

// Goal: Close lets an AcquireAll end that is under way, and gives back what it has taken. Method: close after its commit,
// before the answer.
func TestCloseDuringAcquireAll(t *testing.T) {
	t.Parallel()
	late, client, other := onLateCommit(t)
	object := applock.Object{Type: "job", ID: "nightly"}
	result := make(chan error, 1)
	go func() {
		_, err := client.TryAcquireAll(t.Context(), applock.AcquireAllRequest{Objects: []applock.Object{object}, MaxHold: time.Hour})
		result <- err
	}()
	<-late.committed
	time.AfterFunc(200*time.Millisecond, func() { close(late.answer) })
	if err := client.Close(); err != nil {
		t.Fatal(err)
	}
	if lock, err := other.Inquire(t.Context(), object); !errors.Is(err, applock.ErrNotHeld) {
		t.Errorf("inquire: %+v, %v, want applock.ErrNotHeld", lock, err)
	}
	if err := <-result; err == nil {
		t.Error("leases of a client that is closed")
	}
}

// Goal: the late answer to an AcquireAll that was cancelled does not take the locks away from the operator's next one.
// Method: repeat it before the answer, which is not ErrHeld because nobody was seen, and until it succeeds.
func TestCancelledAcquireAllSparesTheNext(t *testing.T) {
	t.Parallel()
	late, client, other := onLateCommit(t)
	object := applock.Object{Type: "job", ID: "nightly"}
	request := applock.AcquireAllRequest{Objects: []applock.Object{object}, Owner: applock.Owner{Operator: "etl-7"}, MaxHold: time.Hour}
	gone, cancel := context.WithCancel(t.Context())
	go func() {
		<-late.committed
		cancel()
	}()
	if _, err := client.TryAcquireAll(gone, request); !errors.Is(err, context.Canceled) {
		t.Fatalf("acquire all: %v, want that ctx has ended", err)
	}
	set, err := client.TryAcquireAll(t.Context(), request)
	close(late.answer)
	for errors.Is(err, applock.ErrBusy) {
		time.Sleep(10 * time.Millisecond)
		set, err = client.TryAcquireAll(t.Context(), request)
	}
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(500 * time.Millisecond) // for what should not come
	if lock, err := other.Inquire(t.Context(), object); err != nil || set.Context().Err() != nil {
		t.Errorf("inquire: %+v, %v, and the set ended with %v, want both to last", lock, err, context.Cause(set.Context()))
	}
}
