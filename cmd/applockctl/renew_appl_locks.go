package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/applock/applock/applock"
)

func (a *app) renewCommand() *cobra.Command {
	var key applock.Key
	var ttl duration
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
		RunE: a.forEach("renew", lockAnswer{}, func(ctx context.Context, s session, object applock.Object) (record, error) {
			key.Object = object
			answer := newAnswer(object, applock.Owner{Operator: key.Operator})
			grant, err := s.Renew(ctx, key, time.Duration(ttl))
			if err == nil {
				answer.grantedTo(grant)
			}
			return &answer, a.refused(&answer, err)
		}),
	}
	a.operatorFlag(command, &key.Operator, "who holds the object", a.completeHolder)
	fenceFlag(command, &key.Fence, "the grant")
	command.Flags().Var(&ttl, "ttl", "how long the lock lasts from now on (as before)")
	require(command, "fence")
	return command
}
