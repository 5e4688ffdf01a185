package main

import (
	"context"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/applock/applock/applock"
)

type releaseInput struct {
	Object string        `json:"object" jsonschema:"what you hold, as TYPE:ID"`
	Fence  applock.Fence `json:"fence" jsonschema:"your fence, from lock_get"`
}

func (l locks) addRelease(server *mcp.Server) error {
	return add(server, l, toolText{"lock_release", "Release a lock", "Give a lock back when you have finished with its object. It " +
		"releases only your own lock with this very fence, never that of anybody else. Afterwards do not change the object."},
		nature{idempotent: true, destructive: true}, l.release)
}

func (l locks) release(ctx context.Context, in releaseInput) (answer, string, error) {
	object, err := applock.ParseObject(in.Object)
	if err != nil {
		return answer{}, "", err
	}
	ctx, cancel := l.inTime(ctx, 0)
	defer cancel()
	said := l.newAnswer(object)
	key := applock.Key{Object: object, Operator: l.owner.Operator, Fence: in.Fence}
	outcome, err := l.client.Release(ctx, applock.ReleaseRequest{Key: key})
	if by, held := asHeld(err); held {
		said = said.refusedBy(applock.OutcomeHeld, by).advise("REFUSED: your lock with this fence has ended before, and another " +
			"grant holds the object. Nothing was released. Do not change the object.")
		return said, said.Advice, nil
	}
	if err != nil {
		return answer{}, "", err
	}
	said.Outcome = outcome
	said = said.advise("Released. You do not hold the object any more: do not change it.")
	if outcome == applock.OutcomeFree {
		said = said.advise("Nobody holds the object: your lock had ended before. Do not change the object.")
	}
	return said, said.Advice, nil
}

type noteInput struct {
	Object string        `json:"object" jsonschema:"what you hold, as TYPE:ID"`
	Fence  applock.Fence `json:"fence" jsonschema:"your fence, from lock_get"`
	Note   string        `json:"note" jsonschema:"why you hold the object, for everybody to read; empty removes the note"`
}

func (l locks) addNote(server *mcp.Server) error {
	return add(server, l, toolText{"lock_note", "Note on a lock", "Write on your lock why you hold the object and how long it will " +
		"take. Everybody can read the note: write no secret. It replaces your earlier note, and ends with your lock."},
		nature{idempotent: true}, l.note)
}

func (l locks) note(ctx context.Context, in noteInput) (answer, string, error) {
	object, err := applock.ParseObject(in.Object)
	if err != nil {
		return answer{}, "", err
	}
	ctx, cancel := l.inTime(ctx, 0)
	defer cancel()
	said := l.newAnswer(object)
	err = l.client.Note(ctx, applock.Key{Object: object, Operator: l.owner.Operator, Fence: in.Fence}, in.Note)
	by, held := asHeld(err)
	switch {
	case held, errors.Is(err, applock.ErrNotHeld):
		said = said.lost(by)
		return said, said.Advice, nil
	case err != nil:
		return answer{}, "", err
	}
	said.Outcome, said.YouHold, said.Fence, said.Note = applock.OutcomeNoted, true, in.Fence, foreignText(in.Note)
	said = said.withEnd(ctx, l, object).advise("Noted. The note does not change when your lock ends.")
	return said, said.Advice, nil
}

// withEnd adds the end of the caller's grant, if it still exists.
func (a answer) withEnd(ctx context.Context, l locks, object applock.Object) answer {
	lock, err := l.client.Inquire(ctx, object)
	if err == nil && lock.Owner.Operator == l.owner.Operator && lock.Fence == a.Fence {
		a.ExpiresTS, a.SecondsLeft = timestamp(lock.ExpiresAt), seconds(lock.Left)
	}
	return a
}
