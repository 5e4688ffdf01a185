package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/spf13/cobra"

	"github.com/applock/applock/applock"
)

func (a *app) renewCommand() *cobra.Command {
	var key applock.Key
	var ttl duration
	fence := number{max: math.MaxInt64}
	command := &cobra.Command{
		Use:   "renew OBJECT --operator O --fence N [--ttl 7d]",
		Short: "Renew a grant, and never take a lock that has expired",
		Long: `Extends exactly this grant: the heartbeat of a job. Unlike get it never takes a lock. A grant that has
expired has ended, even if nobody else has the object. Without --ttl the grant lasts for its last ttl again,
from now on. It never ends sooner than before.

Prints RENEWED with the new end (exit code 0); HELD with the holder if somebody else, or another grant, has
the object, or FREE if nobody has it (exit code 1): then stop the work.`,
		Example:           `  applockctl renew job:nightly --operator "$(hostname):$$" --fence 1795785256123456 --ttl 90s`,
		Args:              oneObject,
		ValidArgsFunction: a.completeObjects,
		RunE: body(func(ctx context.Context, args []string) error {
			key.Fence = applock.Fence(fence.value)
			return a.renew(ctx, args[0], key, time.Duration(ttl))
		}),
	}
	a.operatorFlag(command, &key.Operator, "who holds the object")
	offers(command, "operator", a.completeHolder)
	command.Flags().Var(&fence, "fence", "the grant")
	command.Flags().Var(&ttl, "ttl", "how long the lock lasts from now on (as before)")
	require(command, "fence")
	return command
}

func (a *app) renew(ctx context.Context, text string, key applock.Key, ttl time.Duration) error {
	object, err := applock.ParseObject(text)
	if err != nil {
		return fmt.Errorf("renew: %w", err)
	}
	key.Object = object
	return a.call(ctx, "renew "+object.String(), func(ctx context.Context, s session) error {
		answer := newAnswer(object, applock.Owner{Operator: key.Operator})
		grant, err := s.Renew(ctx, key, ttl)
		var lost *applock.LostError
		switch {
		case errors.As(err, &lost) && lost.Holder == (applock.Holder{}):
			answer.Outcome = applock.OutcomeFree
		case errors.As(err, &lost):
			answer.refusedBy(lost.Holder)
			a.noteOwnGrant(answer)
		case err != nil:
			return err
		default:
			answer.grantedTo(grant)
		}
		return a.answer(err == nil, answer)
	})
}
