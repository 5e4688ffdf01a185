package weblock

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/applock/applock/applock"
)

// open gets the lock for a page, or goes on with the person's grant.
func (h *Handler) open(ctx context.Context, p page) (*answer, error) {
	p.begins = p.Position == ""
	grant, err := h.grant(ctx, p)
	if err != nil && !errors.Is(err, applock.ErrHeld) {
		return nil, err
	}
	return h.granted(ctx, p, grant, err)
}

// granted returns what a page sees that has got a grant, or has been refused.
func (h *Handler) granted(ctx context.Context, p page, grant applock.Grant, refusal error) (*answer, error) {
	p.fence = grant.Fence
	a, err := h.look(ctx, p)
	if err != nil {
		return nil, err
	}
	if refusal != nil {
		return a.refused(refusal)
	}
	a.grant(grant)
	return a, nil
}

// openings is how often the object may change hands while a page opens.
const openings = 3

// grant asks for a new grant, and renews one that the person has: a get would shorten one that lasts longer.
func (h *Handler) grant(ctx context.Context, p page) (applock.Grant, error) {
	for attempt := 1; ; attempt++ {
		grant, err := h.client.Get(ctx, applock.GetRequest{Object: p.object, Owner: p.owner, TTL: lockTTL, New: true})
		held, isHeld := errors.AsType[*applock.HeldError](err)
		if !isHeld || held.Holder.Owner.Operator != p.owner.Operator || attempt == openings {
			return grant, err
		}
		lock, err := h.client.Inquire(ctx, p.object)
		if err == nil && lock.Owner.Operator == p.owner.Operator {
			lock.Left, err = h.kept(ctx, lock.Key(), lock.Left, p.Hidden)
			grant = applock.Grant{
				Outcome: applock.OutcomeRenewed, Owner: lock.Owner, Fence: lock.Fence, AcquiredAt: lock.AcquiredAt, Left: lock.Left, Note: lock.Note,
			}
			if !errors.Is(err, applock.ErrLost) {
				return grant, err
			}
		}
		if err != nil && !errors.Is(err, applock.ErrNotHeld) {
			return applock.Grant{}, err
		}
	}
}

// kept renews a grant whose end is near, by its fence, and returns how long it lasts. Whoever renews a grant first does it for all its pages.
func (h *Handler) kept(ctx context.Context, key applock.Key, left time.Duration, hidden bool) (time.Duration, error) {
	if left >= renewHiddenBelow || left >= renewBelow && !hidden {
		return left, nil
	}
	renewed, err := h.client.Renew(ctx, key, lockTTL)
	return renewed.Left, err
}

func holderOf(lock applock.Lock) applock.Holder {
	return applock.Holder{Owner: lock.Owner, AcquiredAt: lock.AcquiredAt, Left: lock.Left, Note: lock.Note}
}

// beat keeps what a page has: its place among those who look, and its grant. Nothing in the inbox concerns a page that reads.
func (h *Handler) beat(ctx context.Context, p page) (*answer, error) {
	p.reads = p.fence == 0
	a, err := h.look(ctx, p)
	if err != nil {
		return nil, err
	}
	known := !time.Time(p.AcquiredTS).IsZero() && time.Time(a.AcquiredTS).Equal(time.Time(p.AcquiredTS)) // the same grant
	if p.fence == 0 {
		if a.Outcome == applock.OutcomeHeld && !known {
			return a, h.readNote(ctx, p, a)
		}
		return a, nil
	}
	left := time.Duration(0)
	if known && a.HolderID == p.owner.Operator {
		left = time.Duration(a.SecondsLeft) * time.Second
	}
	if left, err = h.kept(ctx, p.key(), left, p.Hidden); err != nil {
		return a.refused(err)
	}
	a.grant(applock.Grant{Outcome: applock.OutcomeRenewed, Owner: p.owner, Fence: p.fence, AcquiredAt: time.Time(p.AcquiredTS), Left: left})
	return a, nil
}

func (p page) key() applock.Key {
	return applock.Key{Object: p.object, Operator: p.owner.Operator, Fence: p.fence}
}

// readNote adds the note of a holder that the page does not know.
func (h *Handler) readNote(ctx context.Context, p page, a *answer) error {
	lock, err := h.client.Inquire(ctx, p.object)
	if errors.Is(err, applock.ErrNotHeld) {
		return nil // the next beat says so
	}
	a.holder(holderOf(lock))
	return err
}

// ask is the beat of a page that asks for the lock. A request that is not repeated ends by itself.
func (h *Handler) ask(ctx context.Context, p page) (*answer, error) {
	p.fence = 0
	asked, err := h.client.Ask(ctx, applock.AskRequest{Object: p.object, Owner: p.owner, Client: p.ClientID, Message: p.Message, Withdraw: p.Withdraw})
	if err != nil && !errors.Is(err, applock.ErrHeld) && !errors.Is(err, applock.ErrNotHeld) {
		return nil, err
	}
	a, seeErr := h.look(ctx, p)
	switch {
	case seeErr != nil:
		return nil, seeErr
	case errors.Is(err, applock.ErrHeld): // by the person who asks
		a.Outcome = applock.OutcomeOwn
		return a, refused(http.StatusConflict, "You have the lock.", nil)
	case err != nil:
		return a.refused(err)
	}
	a.Outcome = asked.Outcome
	return a, nil
}

// answer answers somebody who asks for the page's grant. The one who answers is always the person who has signed in.
func (h *Handler) answer(ctx context.Context, p page) (*answer, error) {
	answered, err := h.client.Answer(ctx, applock.AnswerRequest{Key: p.key(), Asker: p.AskerID, Client: p.AskerClientID, Answer: p.Answer, Reason: p.Reason})
	if answered.Outcome == applock.OutcomeGiven {
		p.fence = 0
	}
	if err != nil {
		return (&answer{page: p}).refused(err)
	}
	a, err := h.look(ctx, p)
	if err == nil {
		a.Outcome = answered.Outcome
	}
	return a, err
}

// take takes the lock from the holder whom the page shows, and from no later one.
func (h *Handler) take(ctx context.Context, p page) (*answer, error) {
	lock, err := h.client.Inquire(ctx, p.object)
	if err == nil && (lock.Owner.Operator != p.HolderID || !lock.AcquiredAt.Equal(time.Time(p.AcquiredTS))) {
		err = &applock.HeldError{Object: p.object, Holder: holderOf(lock)}
	}
	var grant applock.Grant
	if err == nil {
		grant, err = h.client.Take(ctx, applock.TakeRequest{Object: p.object, Owner: p.owner, Reason: p.Reason, ExpectedFence: lock.Fence, TTL: lockTTL})
	}
	if err != nil && !errors.Is(err, applock.ErrHeld) && !errors.Is(err, applock.ErrNotHeld) {
		return nil, err
	}
	return h.granted(ctx, p, grant, err)
}

// leave ends the presence of a page that was closed or loaded again, and shortens its grant.
func (h *Handler) leave(ctx context.Context, p page) (*answer, error) {
	if _, err := h.client.See(ctx, p.seeing(applock.StateLeft)); err != nil {
		return nil, err
	}
	a := &answer{page: p, Outcome: applock.OutcomeReleased}
	if p.fence == 0 {
		return a, nil
	}
	lock, others, err := h.editing(ctx, p)
	if err == nil && lock.TTL > 0 && !others.edit {
		err = h.shorten(ctx, p, lock)
	}
	return a, err
}

// stop releases the grant of a page that goes on as a reader, unless another page of the person edits, or the grant is no page's.
func (h *Handler) stop(ctx context.Context, p page) (*answer, error) {
	if _, err := h.client.See(ctx, p.seeing(applock.StateViewing)); err != nil {
		return nil, err
	}
	lock, others, err := h.editing(ctx, p)
	a := &answer{page: p, Outcome: applock.OutcomeHeld}
	switch {
	case err != nil:
		return nil, err
	case lock.TTL == 0:
		a.Outcome = applock.OutcomeFree
		return a, nil
	case others.edit || lock.TTL > lockTTL:
		a.holder(holderOf(lock))
		return a, nil
	case !others.known:
		a.holder(holderOf(lock))
		return a, h.shorten(ctx, p, lock)
	}
	a.Outcome, err = h.client.Release(ctx, applock.ReleaseRequest{Key: p.key()})
	if errors.Is(err, applock.ErrHeld) { // since the read
		a.Outcome, err = applock.OutcomeFree, nil
	}
	return a, err
}

// others are the other pages of a person at an object.
type others struct {
	// edit is true if one of them edits, seen or not. known is false if the type has no presence, so that nobody knows.
	edit, known bool
}

// editing returns the page's grant, zero if it has ended, and the person's other pages.
func (h *Handler) editing(ctx context.Context, p page) (grant applock.Lock, found others, err error) {
	for lock, err := range h.client.List(ctx, applock.ListRequest{ObjectType: p.object.Type, ObjectID: p.object.ID}) {
		if err != nil {
			return grant, found, err
		}
		if lock.Key() == p.key() {
			grant = lock
		}
	}
	for viewer, err := range h.client.Viewers(ctx, applock.ViewersRequest{ObjectType: p.object.Type, ObjectID: p.object.ID, Operator: p.owner.Operator}) {
		if err != nil {
			return grant, found, err
		}
		if viewer.Client == p.ClientID {
			found.known = true
		} else if viewer.State != applock.StateViewing {
			found.edit = true
		}
	}
	return grant, found, nil
}

// shorten lets a page's grant end soon. A grant that is no page's, or ends sooner, stays as it is. There is no get by a fence: what begins
// between the read and the get is another page's, which renews it, or is new, and ends at once.
func (h *Handler) shorten(ctx context.Context, p page, lock applock.Lock) error {
	if lock.TTL > lockTTL || lock.Left <= leftTTL {
		return nil
	}
	grant, err := h.client.Get(ctx, applock.GetRequest{Object: p.object, Owner: p.owner, TTL: leftTTL})
	if err == nil && grant.Outcome == applock.OutcomeAcquired {
		_, err = h.client.Release(ctx, applock.ReleaseRequest{Key: grant.Key()})
	}
	if errors.Is(err, applock.ErrHeld) {
		return nil
	}
	return err
}

// seeing says that the page is there, or has left.
func (p page) seeing(state applock.PresenceState) applock.SeeRequest {
	ttl := applock.DefaultPresenceTTL
	if p.Hidden {
		ttl = hiddenTTL
	}
	return applock.SeeRequest{Object: p.object, Owner: p.owner, Client: p.ClientID, State: state, TTL: ttl}
}

// look is the beat without the grant: it lists the page, and returns who is there and what concerns the person about this object. A page that edits and
// is not seen is idle; others are viewing, seen or not, so that the state tells which pages edit.
func (h *Handler) look(ctx context.Context, p page) (*answer, error) {
	state := applock.StateViewing
	if p.fence != 0 {
		state = applock.StateEditing
		if p.Hidden {
			state = applock.StateIdle
		}
	}
	present, err := h.client.See(ctx, p.seeing(state))
	if err != nil {
		return nil, err
	}
	a := &answer{page: p, Outcome: applock.OutcomeFree, Present: present, NextPosition: applock.InboxPosition(p.Position)}
	if len(present) > 0 && present[0].Kind == applock.PresenceHolder {
		a.Present = present[1:]
		a.Outcome = applock.OutcomeHeld
		a.holder(applock.Holder{Owner: present[0].Owner, AcquiredAt: present[0].Since, Left: present[0].Left})
	}
	if p.reads {
		return a, nil
	}
	return a, h.inbox(ctx, p, a)
}

// inbox adds the notices about the page's object. The events before a page began are none of its business.
func (h *Handler) inbox(ctx context.Context, p page, a *answer) error {
	request := applock.InboxRequest{Operator: p.owner.Operator, Position: applock.InboxPosition(p.Position)}
	if p.begins {
		request.PageSize = applock.MaxPageSize
	}
	notices, next, err := h.client.Inbox(ctx, request)
	if errors.Is(err, applock.ErrInvalid) && p.Position != "" { // that of another database
		p.Position, p.begins = "", true
		return h.inbox(ctx, p, a)
	}
	for _, of := range notices {
		if of.Object == p.object && (of.Event == 0 || !p.begins) {
			a.Notices = append(a.Notices, notice(of))
		}
	}
	if a.NextPosition = next; len(next) > positionSize {
		a.NextPosition = ""
	}
	return err
}
