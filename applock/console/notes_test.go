package console

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
	"github.com/applock/applock/internal/clients"
	"github.com/applock/applock/internal/db"
)

// Goal: the form of a note has the note that is there, also one of several lines; it can be changed and cleared, and what somebody else
// has changed meanwhile, by the same grant, is not overwritten: both texts are shown, and to send it again is to decide again. Method: the
// forms, with a change before the plan and before the confirmation.
func TestNoteOfAnother(t *testing.T) {
	t.Parallel()
	d := newDesk(t, supervisor())
	grant := d.get(t, "customer:42", "JDOE", time.Hour)
	d.note(t, grant, "first line\nsecond <line>")
	page := d.see(t, "/note?name=customer%3A42", http.StatusOK)
	check(t, page, "first line\nsecond &lt;line&gt;</textarea>")
	form := formOf(page)
	form.Set("reason", "mine\r\nof two lines") // as browsers send it
	_, plan := d.follow(t, d.submit("/note", form))
	check(t, plan, "first line", "of two lines", "<button>Save the note on customer:42</button>")
	confirmed := formOf(plan)

	d.note(t, grant, "theirs")
	again := d.submit("/note", confirmed)
	check(t, again.Body.String(), "somebody has changed the note", "theirs", "mine")
	if note := d.holder(t, "customer:42").Note; again.Code != http.StatusConflict || note != "theirs" {
		t.Errorf("status %d, the note is %q", again.Code, note)
	}
	if w := d.submit("/note", form); w.Code != http.StatusConflict { // the plan says it, too
		t.Errorf("the plan has status %d", w.Code)
	}
	form = formOf(again.Body.String())
	form.Set("reason", "mine\r\nof two lines")
	_, plan = d.follow(t, d.submit("/note", form))
	status, answer := d.follow(t, d.submit("/note", formOf(plan)))
	check(t, answer, "NOTED</strong> The note is saved.")
	if note := d.holder(t, "customer:42").Note; status != http.StatusOK || note != "mine\nof two lines" {
		t.Errorf("status %d, the note is %q", status, note)
	}

	form = formOf(d.see(t, "/note?name=customer%3A42", http.StatusOK))
	form.Set("reason", "")
	_, plan = d.follow(t, d.submit("/note", form))
	check(t, plan, "<button>Clear the note on customer:42</button>", "(no note)")
	_, answer = d.follow(t, d.submit("/note", formOf(plan)))
	check(t, answer, "NOTED")
	if note := d.holder(t, "customer:42").Note; note != "" {
		t.Errorf("the note is %q", note)
	}
	form = formOf(d.see(t, "/note?name=customer%3A42", http.StatusOK))
	form.Set("reason", "")
	w := d.submit("/note", form)
	check(t, w.Body.String(), "“Note” is missing.")
}

// meeting is a database at which two who look at a lock wait for each other, at most a moment: so both know it before either changes it.
type meeting struct {
	db.Driver
	looked atomic.Int32
	met    chan struct{}
}

func (m *meeting) ApplLockLive(ctx context.Context, params db.ApplLockLiveParams) ([]db.Lock, error) {
	locks, err := m.Driver.ApplLockLive(ctx, params)
	if m.looked.Add(1) == 2 {
		close(m.met)
	}
	select {
	case <-m.met:
	case <-time.After(200 * time.Millisecond):
	}
	return locks, err
}

// Goal: of two supervisors who save a note at once one is refused. Method: two confirmations whose looks at the note meet, if they can.
func TestTwoNotesAtOnce(t *testing.T) {
	t.Parallel()
	behind := newDesk(t, Config{})
	grant := behind.get(t, "customer:42", "JDOE", time.Hour)
	config := supervisor()
	config.Timeout = time.Hour
	d := deskOn(clients.New[*applock.Client](&meeting{Driver: clients.Driver(behind.client), met: make(chan struct{})}, nil, lease.Hooks{}), config)
	d.console.own.rights = allRights
	var saved, refused atomic.Int32
	var both sync.WaitGroup
	for _, text := range []string{"one", "two"} {
		both.Go(func() {
			switch w := d.submit("/note", confirmedForm(grant, text)); w.Code {
			case http.StatusSeeOther:
				saved.Add(1)
			case http.StatusConflict:
				refused.Add(1)
			}
		})
	}
	both.Wait()
	if saved.Load() != 1 || refused.Load() != 1 {
		t.Errorf("%d saved, %d refused", saved.Load(), refused.Load())
	}
}
