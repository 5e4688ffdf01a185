package main

import (
	"context"
	"errors"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/applock/applock/applock"
)

type getInput struct {
	Object     string `json:"object" jsonschema:"what you are going to change, as TYPE:ID"`
	TTLSeconds int64  `json:"ttl_seconds,omitempty" jsonschema:"how long the lock lasts unless you renew it; leave it out for the usual time"`
}

func (l locks) addGet(server *mcp.Server) error {
	return add(server, l, toolText{"lock_get", "Get a lock", "Get the lock on an object before you change it. The answer comes at " +
		"once. you_hold true: you have it, with a fence that you must keep. you_hold false: somebody else has it; do not change the object. " +
		"If you hold it already, this renews your lock and answers with its fence."},
		nature{idempotent: true}, func(ctx context.Context, in getInput) (answer, string, error) { return l.get(ctx, in, 0) })
}

type waitInput struct {
	Object         string `json:"object" jsonschema:"what you are going to change, as TYPE:ID"`
	MaxWaitSeconds int64  `json:"max_wait_seconds" jsonschema:"how long to wait at most"`
	TTLSeconds     int64  `json:"ttl_seconds,omitempty" jsonschema:"how long the lock lasts once you have it; leave it out for the usual time"`
}

func (l locks) addWait(server *mcp.Server) error {
	return add(server, l, toolText{"lock_wait", "Wait for a lock", "Wait until an object is free, and get its lock. It answers as " +
		"soon as you have the lock, with you_hold true, or after max_wait_seconds with you_hold false; then do not change the object. You " +
		"may call it again."},
		nature{idempotent: true}, func(ctx context.Context, in waitInput) (answer, string, error) {
			wait := time.Duration(in.MaxWaitSeconds) * time.Second
			return l.get(ctx, getInput{Object: in.Object, TTLSeconds: in.TTLSeconds}, wait)
		})
}

func (l locks) get(ctx context.Context, in getInput, wait time.Duration) (answer, string, error) {
	object, err := applock.ParseObject(in.Object)
	if err != nil {
		return answer{}, "", err
	}
	ttl := l.ttl
	if in.TTLSeconds > 0 {
		ttl = time.Duration(in.TTLSeconds) * time.Second
	}
	ctx, cancel := l.inTime(ctx, wait)
	defer cancel()
	said := l.newAnswer(object)
	grant, err := l.client.Get(ctx, applock.GetRequest{Object: object, Owner: l.owner, TTL: ttl, MaxWait: wait})
	if by, held := asHeld(err); held {
		said = said.refusedBy(applock.OutcomeHeld, l.withFence(ctx, object, by)).advise("REFUSED: somebody else holds the object. " +
			"Do not change it. Work on something else, call lock_wait, or ask the holder with lock_ask.")
		return said, said.Advice, nil
	}
	if err != nil {
		return answer{}, "", err
	}
	said = said.granted(grant.Outcome, grant)
	said = said.advise("You hold the object for %d seconds, with fence %d. You may change it. Call lock_renew with this fence before that "+
		"time is over, and lock_release when you have finished.", said.SecondsLeft, said.Fence)
	return said, said.Advice, nil
}

// withFence adds the fence of the holder who refused a get, since the refusal has none. If the holder has changed or the read fails, the
// refusal stays as it was, which is still true.
func (l locks) withFence(ctx context.Context, object applock.Object, by applock.Holder) applock.Holder {
	lock, err := l.client.Inquire(ctx, object)
	if err == nil && lock.Owner.Operator == by.Owner.Operator {
		by.Fence, by.Note = lock.Fence, lock.Note
	}
	return by
}

type renewInput struct {
	Object     string        `json:"object" jsonschema:"what you hold, as TYPE:ID"`
	Fence      applock.Fence `json:"fence" jsonschema:"your fence, from lock_get"`
	TTLSeconds int64         `json:"ttl_seconds,omitempty" jsonschema:"how long the lock lasts from now on; leave it out to keep its length"`
}

func (l locks) addRenew(server *mcp.Server) error {
	return add(server, l, toolText{"lock_renew", "Renew a lock", "Keep a lock that you hold. Call it while more than a third of " +
		"seconds_left is left. It never gets a lock that you have lost: with you_hold false stop at once, do not write, and do not call " +
		"lock_release."},
		nature{idempotent: true}, l.renew)
}

func (l locks) renew(ctx context.Context, in renewInput) (answer, string, error) {
	object, err := applock.ParseObject(in.Object)
	if err != nil {
		return answer{}, "", err
	}
	ctx, cancel := l.inTime(ctx, 0)
	defer cancel()
	said := l.newAnswer(object)
	key := applock.Key{Object: object, Operator: l.owner.Operator, Fence: in.Fence}
	grant, err := l.client.Renew(ctx, key, time.Duration(in.TTLSeconds)*time.Second)
	if errors.Is(err, applock.ErrLost) {
		by, _ := asHeld(err)
		said = said.lost(by)
		return said, said.Advice, nil
	}
	if err != nil {
		return answer{}, "", err
	}
	said = said.granted(grant.Outcome, grant)
	said = said.advise("You still hold the object, for %d seconds, with fence %d.", said.SecondsLeft, said.Fence)
	return said, said.Advice, nil
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
