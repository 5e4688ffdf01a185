// Package access says who reads a page, and what the rights of the database user behind it let that person do.
package access

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/applock/applock/applock"
)

// A Right is the name of what a visitor may do: a change of a lock, or one of the others.
const (
	Transfer = "transfer"
	Take     = "take"
	Release  = "release"
	Extend   = "extend"
	Note     = "note"
	// Ask and Answer are the rights to ask for a lock, and to answer the requests of others.
	Ask    = "ask"
	Answer = "answer"
	// Policy is the right to set and drop policies.
	Policy = "policy"
	// Others is the right to change the locks of others: that of a database user who may hand over or take. A user of the role operator
	// may release any lock, since there the program decides for which operator it speaks. The console speaks for the person.
	Others = "others"
)

// Changes returns the changes of one lock, in the order of the page.
func Changes() []string { return append(ChangesOfMany(), Note) }

// ChangesOfMany returns the changes that accept several locks.
func ChangesOfMany() []string { return []string{Transfer, Take, Release, Extend} }

// Client is the client of all the console's requests, so that a person's request counts once, however many pages are open.
const Client = "console"

// Visitor is the reader of a page.
type Visitor struct {
	// Person is the name of who has signed in. It is empty for somebody who may only look, and for a live page that people share.
	Person string
	// Role is the person's role here. It is empty for the console's own client.
	Role string
	// Rights are what the visitor may do, limited by the rights of the database user.
	Rights map[string]bool
	// Departments bound the changes of the locks of others; nil is none.
	Departments []string
	// Polls is true if an open page checks for changes.
	Polls bool
}

// May returns those of the rights that the visitor has on a lock of this holder.
func (v Visitor) May(holder applock.Owner, rights []string) []string {
	others := holder.Operator == "" || holder.Operator != v.Person
	return slices.DeleteFunc(slices.Clone(rights), func(right string) bool {
		return !v.Rights[right] || others && right != Ask && (!v.Rights[Others] || !v.Reaches(holder))
	})
}

// Reaches reports whether a holder is the visitor, or within the visitor's departments.
func (v Visitor) Reaches(holder applock.Owner) bool {
	return v.Departments == nil || holder.Operator == v.Person || slices.Contains(v.Departments, holder.Department)
}

// Granted returns the names of the visitor's rights, sorted.
func (v Visitor) Granted() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(v.Rights)), func(right string) bool { return !v.Rights[right] })
}

// kept is how long the rights of a database user are cached.
const kept = time.Minute

// Rights caches what a client's database user may do. It decides what pages offer; the database itself enforces it. It is safe for concurrent
// use.
type Rights struct {
	probes map[string]Probe

	mutex   sync.Mutex
	granted map[string]bool
	until   time.Time
}

// Probe is a call that changes nothing. It fails with a lack of privilege if the user does not have the right.
type Probe = func(ctx context.Context) error

// NewRights returns the rights of a database user. It makes the calls, one for each right, when the rights are needed.
func NewRights(probes map[string]Probe) *Rights { return &Rights{probes: probes} }

// Read returns what the client's user may do.
func (r *Rights) Read(ctx context.Context) map[string]bool {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if time.Now().Before(r.until) {
		return r.granted
	}
	granted, sure := map[string]bool{}, true
	for right, probe := range r.probes {
		err := probe(ctx)
		granted[right] = !errors.Is(err, applock.ErrPrivilege)
		sure = sure && (err == nil || errors.Is(err, applock.ErrPrivilege) || errors.Is(err, applock.ErrNotHeld))
	}
	if sure {
		r.granted, r.until = granted, time.Now().Add(kept)
	}
	return granted
}

// Supervises asks the database whether its user may change the locks of others, since cached rights may have ended.
func (r *Rights) Supervises(ctx context.Context) (bool, error) {
	err := r.probes[Others](ctx)
	switch {
	case errors.Is(err, applock.ErrPrivilege):
		return false, nil
	case err == nil || errors.Is(err, applock.ErrNotHeld):
		return true, nil
	}
	return false, err
}
