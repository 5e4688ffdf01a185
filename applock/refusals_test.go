package applock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
	"github.com/applock/applock/applock/mysql"
	"github.com/applock/applock/applock/postgres"
	"github.com/applock/applock/applock/sqlite"
	"github.com/applock/applock/internal/clients"
	"github.com/applock/applock/internal/db"
)

// Goal: a constructor refuses a pool that is nil. Method: each.
func TestNilPoolIsInvalid(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func() (*applock.Client, error){
		"postgres": func() (*applock.Client, error) { return postgres.New(nil, postgres.Config{}) },
		"mysql":    func() (*applock.Client, error) { return mysql.New(nil, mysql.Config{}) },
		"sqlite":   func() (*applock.Client, error) { return sqlite.New(nil, sqlite.Config{}) },
	} {
		if _, err := open(); !errors.Is(err, applock.ErrInvalid) {
			t.Errorf("%s: %v, want ErrInvalid", name, err)
		}
	}
}

// Goal: who asks a refusal for a HeldError gets one, also of permits. Method: errors.As on a FullError.
func TestFullErrorIsAHeldError(t *testing.T) {
	t.Parallel()
	slot := applock.Object{Type: "room", ID: "desk#2"}
	full := &applock.FullError{Slots: []*applock.HeldError{{Object: slot, Holder: applock.Holder{Owner: applock.Owner{Operator: "JDOE"}, Fence: 7}}}}
	var held *applock.HeldError
	if !errors.As(full, &held) || held.Object != slot || held.Holder.Owner.Operator != "JDOE" || held.Holder.Fence != 7 {
		t.Errorf("as a HeldError it is %+v", held)
	}
	if !errors.As(&applock.FullError{Object: slot}, &held) || held.Object != slot {
		t.Errorf("without holders it is %+v", held)
	}
}

// saying is a driver whose asserts fail with a text, and whose renewals are always left out.
type saying struct {
	db.Driver
	text string
}

func (d saying) AssertApplLock(context.Context, db.AssertApplLockParams) error {
	return &db.Error{Kind: db.KindAssertion, Err: errors.New(d.text)}
}

func (saying) RenewApplLocks(context.Context, db.RenewApplLocksParams) ([]db.RenewedGrant, error) {
	return nil, nil
}

// Goal: a failed Assert tells who has the lock, whatever dialect says it. Method: the messages of all dialects.
func TestAssertTellsTheHolder(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]applock.Holder{
		"ERROR: assert_appl_lock: JDOE does not hold customer:42 with fence 7: A: B holds it with fence 9 (SQLSTATE LK002)": {
			Owner: applock.Owner{Operator: "A: B"}, Fence: 9,
		},
		"Error 1644 (LK002): assert_appl_lock: ASMITH holds it with fence 9":             {Owner: applock.Owner{Operator: "ASMITH"}, Fence: 9},
		"assert_appl_lock: held with fence 9 by ASMITH":                                  {Owner: applock.Owner{Operator: "ASMITH"}, Fence: 9},
		"assert_appl_lock: JDOE does not hold customer:42 with fence 7: nobody holds it": {},
		"assert_appl_lock: nobody holds it":                                              {},
	} {
		client := clients.New[*applock.Client](saying{text: text}, nil, lease.Hooks{})
		err := client.Assert(t.Context(), applock.Key{Object: applock.Object{Type: "customer", ID: "42"}, Operator: "JDOE", Fence: 7})
		var lost *applock.LostError
		if !errors.As(err, &lost) || lost.Holder != want {
			t.Errorf("%s: %+v", text, lost)
		}
		reason := "nobody holds it"
		if want.Owner.Operator != "" {
			reason = "held by " + want.Owner.Operator
		}
		if lost.Reason != reason {
			t.Errorf("%s: the reason is %q, want %q", text, lost.Reason, reason)
		}
	}
}

// Goal: a renewal that is cut short beside another transaction tells of the end of its context, so that nobody repeats it at once for ever.
// Method: a driver that never renews, and a context of 30 ms.
func TestBusyRenewalTellsOfItsContext(t *testing.T) {
	t.Parallel()
	client := clients.New[*applock.Client](saying{}, nil, lease.Hooks{})
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	_, err := client.Renew(ctx, applock.Key{Object: applock.Object{Type: "customer", ID: "42"}, Operator: "JDOE", Fence: 7}, time.Minute)
	if !errors.Is(err, applock.ErrBusy) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v, want ErrBusy with the end of the context", err)
	}
}
