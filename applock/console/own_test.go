package console

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
	"github.com/applock/applock/internal/clients"
	"github.com/applock/applock/internal/db"
)

// operatorRole is a database whose user gets this answer to a hand-over and a take: by default that of the role operator, nil for none.
type operatorRole struct {
	db.Driver
	answer atomic.Pointer[db.Error]
}

func (o *operatorRole) says(kind db.Kind) {
	o.answer.Store(&db.Error{Kind: kind, Err: errors.New("no")})
}

func (o *operatorRole) TransferApplLock(ctx context.Context, params db.TransferApplLockParams) (db.TransferApplLockResult, error) {
	if answer := o.answer.Load(); answer != nil {
		return db.TransferApplLockResult{}, answer
	}
	return o.Driver.TransferApplLock(ctx, params)
}

func (o *operatorRole) TakeApplLock(ctx context.Context, params db.TakeApplLockParams) (db.TakeApplLockResult, error) {
	if answer := o.answer.Load(); answer != nil {
		return db.TakeApplLockResult{}, answer
	}
	return o.Driver.TakeApplLock(ctx, params)
}

// operators is the database of people of role operator.
func (d desk) operators() (*database, *operatorRole) {
	role := &operatorRole{Driver: d.calls}
	role.says(db.KindPrivilege)
	return newDatabase(clients.New(role, nil, lease.Hooks{}), d.console.config), role
}

// withRoles is a logged console for operators and supervisors.
func withRoles(t *testing.T) (d desk, role *operatorRole, log *bytes.Buffer) {
	t.Helper()
	d, log = logged(t)
	d.console.config.Roles = []Role{{Name: "operators"}, {Name: "supervisors"}}
	operators, role := d.operators()
	d.console.databases = []*database{operators, d.console.own}
	return d, role, log
}

// send sends a form of MLEE, and returns the page to which it leads.
func (d desk) send(address, groups string, form url.Values) (status int, page string) {
	w := d.as(http.MethodPost, address, groups, form)
	if w.Code == http.StatusSeeOther {
		w = d.as(http.MethodGet, "/"+w.Header().Get("Location"), groups, nil)
	}
	return w.Code, w.Body.String()
}

// anyForm has what any action asks for, about these grants.
func anyForm(keys ...applock.Key) url.Values {
	form := url.Values{
		"reason": {"typed"}, "to": {"ASMITH"}, "unknown": {"ASMITH"}, "confirmed": {"yes"}, "message": {"typed"}, "asker": {"ASMITH"},
		"client": {"test"}, "answer": {"NO"}, "old": {"marker"},
	}
	for _, key := range keys {
		form.Add("lock", grantOf(key))
	}
	return form
}

// eachAction calls play with each action of the console, for a lock of MLEE and for one of JDOE, which have texts.
func (d desk) eachAction(t *testing.T, play func(action, holder string, grant applock.Grant)) {
	t.Helper()
	for pattern := range d.console.table() {
		action, is := strings.CutPrefix(pattern, "POST /")
		for _, holder := range []string{"MLEE", "JDOE"} {
			if !is {
				continue
			}
			grant := d.get(t, action+":"+holder, holder, time.Hour)
			d.note(t, grant, "marker")
			request := applock.AskRequest{Object: grant.Object, Owner: applock.Owner{Operator: "ASMITH"}, Client: "test", Message: "marker"}
			if _, err := d.client.Ask(t.Context(), request); err != nil {
				t.Fatal(err)
			}
			play(action, holder, grant)
		}
	}
}

// Goal: the log has no note, message or reason, neither another's nor the person's own, and names a receiver only where there is one.
// Method: every action, done and refused.
func TestLogHasNoTexts(t *testing.T) {
	t.Parallel()
	d, _, log := withRoles(t)
	d.eachAction(t, func(action, holder string, grant applock.Grant) {
		old := grant.Key()
		old.Fence++
		for _, key := range []applock.Key{old, grant.Key()} {
			for _, groups := range []string{"operators", "supervisors"} {
				log.Reset()
				d.send("/"+action, groups, anyForm(key))
				text := log.String()
				gives := strings.Contains(text, "level=INFO") && (action == "transfer" || action == "take")
				if strings.Contains(text, "marker") || strings.Contains(text, "typed") || strings.Contains(text, " to=") != gives {
					t.Errorf("%s of the %s on a lock of %s: %s", action, groups, holder, text)
				}
			}
		}
	})
}
