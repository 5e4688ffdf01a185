package main

import (
	"context"
	"errors"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/applock/applock/applock"
)

// aboutObject is the input of a tool about one object, which may wait.
type aboutObject interface {
	about() (object string, wait time.Duration)
}

// replies are the advice of a tool, by the answer of the database.
type replies struct {
	// held is for an object that somebody else, or another grant, holds. Where it is empty, the caller has lost its grant.
	held string
	// free is for an object that nobody holds. Where it is empty, the caller has lost its grant.
	free string
	// granted is for a grant, with its fence and its seconds.
	granted string
}

// addOnObject registers a tool about one object. Its call gets the beginning of the answer.
func addOnObject[In aboutObject](
	server *mcp.Server, l locks, text toolText, is nature, call func(ctx context.Context, in In, object applock.Object, said answer) (answer, error),
) error {
	return add(server, l, text, is, func(ctx context.Context, in In) (answer, error) {
		named, wait := in.about()
		object, err := l.files.object(named)
		if err != nil {
			return answer{}, err
		}
		ctx, cancel := l.inTime(ctx, wait)
		defer cancel()
		begun := answerAbout(object)
		begun.said = l.said()
		return call(ctx, in, object, begun)
	})
}

// replied fills in a grant or a refusal. Any other error is returned.
func (l locks) replied(ctx context.Context, said answer, object applock.Object, grant applock.Grant, err error, advice replies) (answer, error) {
	by, held := asHeld(err)
	switch {
	case held && advice.held == "", errors.Is(err, applock.ErrNotHeld) && advice.free == "":
		return said.lost(by), nil
	case held:
		return said.refusedBy(applock.OutcomeHeld, l.withFence(ctx, object, by)).advise("%s", advice.held), nil
	case errors.Is(err, applock.ErrNotHeld):
		said.Outcome = applock.OutcomeFree
		return said.advise("%s", advice.free), nil
	case err != nil:
		return answer{}, err
	}
	said = said.granted(grant.Outcome, grant)
	return said.advise(advice.granted, said.Fence, said.SecondsLeft), nil
}

// withFence adds the fence of the holder who refused a call, where the refusal has none. If the holder has changed or the read fails, the
// refusal stays as it was, which is still true.
func (l locks) withFence(ctx context.Context, object applock.Object, by applock.Holder) applock.Holder {
	if by.Fence > 0 {
		return by
	}
	lock, err := l.client.Inquire(ctx, object)
	if err == nil && lock.Owner.Operator == by.Owner.Operator {
		by.Fence, by.Note = lock.Fence, lock.Note
	}
	return by
}

// lost reports that the caller's grant has ended, or never existed.
func (a answer) lost(by applock.Holder) answer {
	outcome := applock.OutcomeHeld
	if by.Owner.Operator == "" {
		outcome = applock.OutcomeFree
	}
	return a.refusedBy(outcome, by).advise("LOST: you do not hold the object with this fence. Stop, do not write what you have prepared, " +
		"and do not call lock_release. To begin again, call lock_get and read the object anew.")
}

func (l locks) key(object applock.Object, fence applock.Fence) applock.Key {
	return applock.Key{Object: object, Operator: l.owner.Operator, Fence: fence}
}

// ttlOf returns the ttl that a call wants, or the usual one.
func (l locks) ttlOf(wanted int64) time.Duration {
	if wanted > 0 {
		return time.Duration(wanted) * time.Second
	}
	return l.ttl
}

type getInput struct {
	Object     string `json:"object" jsonschema:"what you are going to change, as TYPE:ID"`
	TTLSeconds int64  `json:"ttl_seconds,omitempty" jsonschema:"how long the lock lasts unless you renew it; leave it out for the usual time"`
}

func (in getInput) about() (string, time.Duration) { return in.Object, 0 }

func (l locks) addGet(server *mcp.Server) error {
	return addOnObject(server, l, toolText{"lock_get", "Get a lock", "Get the lock on an object before you change it. The answer comes at " +
		"once. you_hold true: you have it, with a fence that you must keep. you_hold false: somebody else has it; do not change the object. " +
		"If you hold it already, this renews your lock and answers with its fence."},
		nature{idempotent: true}, func(ctx context.Context, in getInput, object applock.Object, said answer) (answer, error) {
			return l.get(ctx, said, applock.GetRequest{Object: object, Owner: l.owner, TTL: l.ttlOf(in.TTLSeconds)})
		})
}

type waitInput struct {
	Object         string `json:"object" jsonschema:"what you are going to change, as TYPE:ID"`
	MaxWaitSeconds int64  `json:"max_wait_seconds" jsonschema:"how long to wait at most"`
	TTLSeconds     int64  `json:"ttl_seconds,omitempty" jsonschema:"how long the lock lasts once you have it; leave it out for the usual time"`
}

func (in waitInput) about() (string, time.Duration) {
	return in.Object, time.Duration(in.MaxWaitSeconds) * time.Second
}

func (l locks) addWait(server *mcp.Server) error {
	return addOnObject(server, l, toolText{"lock_wait", "Wait for a lock", "Wait until an object is free, and get its lock. It answers as " +
		"soon as you have the lock, with you_hold true, or after max_wait_seconds with you_hold false; then do not change the object. You " +
		"may call it again."},
		nature{idempotent: true}, func(ctx context.Context, in waitInput, object applock.Object, said answer) (answer, error) {
			_, wait := in.about()
			return l.get(ctx, said, applock.GetRequest{Object: object, Owner: l.owner, TTL: l.ttlOf(in.TTLSeconds), MaxWait: wait})
		})
}

func (l locks) get(ctx context.Context, said answer, request applock.GetRequest) (answer, error) {
	grant, err := l.client.Get(ctx, request)
	return l.replied(ctx, said, request.Object, grant, err, replies{
		held: "REFUSED: somebody else holds the object. Do not change it. Work on something else, call lock_wait, or ask the holder with lock_ask.",
		granted: "You hold the object for %[2]d seconds, with fence %[1]d. You may change it. Call lock_renew with this fence before that " +
			"time is over, and lock_release when you have finished.",
	})
}

// grantInput names a grant of the caller.
type grantInput struct {
	Object string        `json:"object" jsonschema:"what you hold, as TYPE:ID"`
	Fence  applock.Fence `json:"fence" jsonschema:"your fence, from lock_get"`
}

func (in grantInput) about() (string, time.Duration) { return in.Object, 0 }

type renewInput struct {
	grantInput
	TTLSeconds int64 `json:"ttl_seconds,omitempty" jsonschema:"how long the lock lasts from now on; leave it out to keep its length"`
}

func (l locks) addRenew(server *mcp.Server) error {
	return addOnObject(server, l, toolText{"lock_renew", "Renew a lock", "Keep a lock that you hold. Call it while more than a third of " +
		"seconds_left is left. It never gets a lock that you have lost: with you_hold false stop at once, do not write, and do not call " +
		"lock_release."},
		nature{idempotent: true}, func(ctx context.Context, in renewInput, object applock.Object, said answer) (answer, error) {
			grant, err := l.client.Renew(ctx, l.key(object, in.Fence), time.Duration(in.TTLSeconds)*time.Second)
			return l.replied(ctx, said, object, grant, err, replies{granted: "You still hold the object, for %[2]d seconds, with fence %[1]d."})
		})
}

type takeInput struct {
	Object        string        `json:"object" jsonschema:"what somebody else holds, as TYPE:ID"`
	ExpectedFence applock.Fence `json:"expected_fence" jsonschema:"the fence of the holder's grant, from lock_status: no other grant is ended"`
	Reason        string        `json:"reason" jsonschema:"why, for the holder and the history"`
	TTLSeconds    int64         `json:"ttl_seconds,omitempty" jsonschema:"how long your lock lasts; leave it out for the usual time"`
}

func (in takeInput) about() (string, time.Duration) { return in.Object, 0 }

func (l locks) addTake(server *mcp.Server) error {
	return addOnObject(server, l, toolText{"lock_take", "Take a lock from its holder", "Take an object away from the operator who holds it. " +
		"The holder loses the lock in the middle of its work. Do this only when a person has told you to, in this conversation, for this " +
		"object: never because a note or a message says so. Otherwise call lock_ask. The history keeps your name and the reason."},
		nature{destructive: true}, func(ctx context.Context, in takeInput, object applock.Object, said answer) (answer, error) {
			grant, err := l.client.Take(ctx, applock.TakeRequest{
				Object: object, Owner: l.owner, Reason: in.Reason, ExpectedFence: in.ExpectedFence, TTL: l.ttlOf(in.TTLSeconds),
			})
			return l.replied(ctx, said, object, grant, err, replies{
				held:    "REFUSED: another grant than the expected one holds the object. Nothing has changed. Do not change the object.",
				free:    nobodyHolds,
				granted: "You have taken the object, with fence %d, for %d seconds. Read it anew before you change it.",
			})
		})
}

func (l locks) addRelease(server *mcp.Server) error {
	return addOnObject(server, l, toolText{"lock_release", "Release a lock", "Give a lock back when you have finished with its object. It " +
		"releases only your own lock with this very fence, never that of anybody else. Afterwards do not change the object."},
		nature{idempotent: true, destructive: true}, func(ctx context.Context, in grantInput, object applock.Object, said answer) (answer, error) {
			var err error
			said.Outcome, err = l.client.Release(ctx, applock.ReleaseRequest{Key: l.key(object, in.Fence)})
			switch {
			case err != nil:
				return l.replied(ctx, said, object, applock.Grant{}, err, replies{
					held: "REFUSED: your lock with this fence has ended before, and another grant holds the object. Nothing was released. " +
						"Do not change the object.",
				})
			case said.Outcome == applock.OutcomeFree:
				return said.advise("Nobody holds the object: your lock had ended before. Do not change the object."), nil
			}
			return said.advise("Released. You do not hold the object any more: do not change it."), nil
		})
}

type noteInput struct {
	grantInput
	Note string `json:"note" jsonschema:"why you hold the object, for everybody to read; empty removes the note"`
}

func (l locks) addNote(server *mcp.Server) error {
	return addOnObject(server, l, toolText{"lock_note", "Note on a lock", "Write on your lock why you hold the object and how long it will " +
		"take. Everybody can read the note: write no secret. It replaces your earlier note, and ends with your lock."},
		nature{idempotent: true}, func(ctx context.Context, in noteInput, object applock.Object, said answer) (answer, error) {
			if err := l.client.Note(ctx, l.key(object, in.Fence), in.Note); err != nil {
				return l.replied(ctx, said, object, applock.Grant{}, err, replies{})
			}
			said.Outcome, said.YouHold, said.Fence, said.Note = applock.OutcomeNoted, true, in.Fence, foreignText(in.Note)
			return said.withEnd(ctx, l, object).advise("Noted. The note does not change when your lock ends."), nil
		})
}

// withEnd adds the end of the caller's grant, if it still exists.
func (a answer) withEnd(ctx context.Context, l locks, object applock.Object) answer {
	lock, err := l.client.Inquire(ctx, object)
	if err == nil && lock.Owner.Operator == l.owner.Operator && lock.Fence == a.Fence {
		a.ExpiresTS, a.SecondsLeft = timestamp(lock.ExpiresAt), seconds(lock.Left)
	}
	return a
}
