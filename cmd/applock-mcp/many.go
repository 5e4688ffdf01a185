package main

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/applock/applock/applock"
)

// answers is a tool's answer about several objects.
type answers struct {
	said
	AllHeld bool       `json:"you_hold_all" jsonschema:"true: you hold all the objects that you named. false: change only those with you_hold true"`
	Locks   []standing `json:"locks" jsonschema:"the objects, in the order of their names"`
}

type getAllInput struct {
	Objects    []string `json:"objects" jsonschema:"what you are going to change, each as TYPE:ID"`
	TTLSeconds int64    `json:"ttl_seconds,omitempty" jsonschema:"how long the locks last unless you renew them; leave it out for the usual time"`
}

type releaseAllInput struct {
	Objects []string `json:"objects,omitempty" jsonschema:"what to release, each as TYPE:ID; leave it out to release all that you hold"`
}

func (l locks) addGetAll(server *mcp.Server) error {
	return add(server, l, toolText{"lock_get_all", "Get several locks", "Get the locks on several objects, all or none of them, in one call. " +
		"Call it again with the same objects to renew all. If somebody else holds one of them, you get no new lock, and keep those that you " +
		"had before."},
		nature{idempotent: true}, l.getAll)
}

func (l locks) getAll(ctx context.Context, in getAllInput) (answers, error) {
	objects, err := l.objects(in.Objects)
	if err != nil {
		return answers{}, err
	}
	said, left := answers{said: l.said(), AllHeld: true}, int64(math.MaxInt64)
	for _, object := range objects {
		one, err := l.getNow(ctx, object, in.TTLSeconds)
		if err != nil {
			l.giveBack(ctx, objects, said.Locks)
			return answers{}, fmt.Errorf("%s: %w", object, err)
		}
		said.Locks, said.AllHeld = append(said.Locks, one.standing), said.AllHeld && one.YouHold
		left = min(left, one.SecondsLeft)
	}
	if said.AllHeld {
		said.Advice = fmt.Sprintf("You hold %s for %d seconds. Read those with outcome ACQUIRED anew if you had locked them before. To renew "+
			"all, call lock_get_all with the same objects before that time is over; call lock_release_all when you have finished.",
			counted(len(objects), "object"), left)
		return said, nil
	}
	l.giveBack(ctx, objects, said.Locks)
	said.Advice = "REFUSED: somebody else holds an object that names a holder. You got no new lock: change only objects with you_hold true. " +
		"Work on something else, or call lock_wait or lock_ask for that object."
	return said, nil
}

func (l locks) getNow(ctx context.Context, object applock.Object, ttlSeconds int64) (answer, error) {
	ctx, cancel := l.inTime(ctx, 0)
	defer cancel()
	return l.get(ctx, answerAbout(object), applock.GetRequest{Object: object, Owner: l.owner, TTL: l.ttlOf(ttlSeconds)})
}

// giveBack releases the locks that a call has just got, also if the caller has given it up. One that it cannot release stays as it is.
func (l locks) giveBack(ctx context.Context, objects []applock.Object, got []standing) {
	for i, lock := range got {
		if lock.Outcome == applock.OutcomeAcquired {
			if after, err := l.releaseNow(context.WithoutCancel(ctx), l.key(objects[i], lock.Fence)); err == nil {
				got[i] = after
			}
		}
	}
}

func (l locks) addReleaseAll(server *mcp.Server) error {
	return add(server, l, toolText{"lock_release_all", "Release several locks", "Give back the locks on several objects, or all that you " +
		"hold, in one call. It never releases the lock of anybody else. Afterwards do not change the objects."},
		nature{idempotent: true, destructive: true}, l.releaseAll)
}

func (l locks) releaseAll(ctx context.Context, in releaseAllInput) (answers, error) {
	objects, err := l.objects(in.Objects)
	if err != nil {
		return answers{}, err
	}
	said := answers{said: l.said(), Locks: []standing{}}
	if len(objects) == 0 {
		said.Locks, err = l.releaseEach(ctx)
	}
	for _, object := range objects {
		after, failed := l.releaseNow(ctx, l.key(object, 0))
		if failed != nil {
			return answers{}, fmt.Errorf("%s: %w", object, failed)
		}
		said.Locks = append(said.Locks, after)
	}
	left := 0
	for _, lock := range said.Locks {
		if lock.Outcome != applock.OutcomeReleased {
			left++
		}
	}
	said.Advice = fmt.Sprintf("Released: %s. Do not change the objects listed.", counted(len(said.Locks)-left, "lock"))
	if left > 0 {
		said.Advice += fmt.Sprintf(" Not released: %s, for the reason in outcome. FREE and HELD: it was not yours any more. BUSY: call again.", counted(left, "lock"))
	}
	return said, err
}

// releaseNow releases one lock, and tells where the object stands afterwards.
func (l locks) releaseNow(ctx context.Context, key applock.Key) (standing, error) {
	ctx, cancel := l.inTime(ctx, 0)
	defer cancel()
	said, err := answerAbout(key.Object), error(nil)
	if said.Outcome, err = l.client.Release(ctx, applock.ReleaseRequest{Key: key}); err != nil {
		said, err = l.replied(ctx, said, key.Object, applock.Grant{}, err, replies{})
	}
	return said.standing, err
}

// releaseEach releases all that the operator holds.
func (l locks) releaseEach(ctx context.Context) ([]standing, error) {
	ctx, cancel := l.inTime(ctx, 0)
	defer cancel()
	changes, err := l.client.ReleaseAll(ctx, applock.ReleaseAllRequest{Operator: l.owner.Operator})
	after := make([]standing, len(changes))
	for i, change := range changes {
		after[i] = standing{Object: foreignText(change.Object.String()), Outcome: change.Outcome}
	}
	return after, err
}

// objects reads the names of several objects. It returns each once, in their order, so that two agents do not take turns in refusing.
func (l locks) objects(named []string) ([]applock.Object, error) {
	var objects []applock.Object
	for _, name := range named {
		object, err := l.files.object(name)
		if err != nil {
			return nil, err
		}
		objects = append(objects, object)
	}
	slices.SortFunc(objects, applock.Object.Compare)
	return slices.Compact(objects), nil
}

// counted writes a number with its noun.
func counted(number int, noun string) string {
	if number == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", number, noun)
}
