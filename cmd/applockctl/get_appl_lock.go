package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/applock/applock/applock"
)

func (a *app) getCommand() *cobra.Command {
	var request applock.GetRequest
	var wait duration
	var permits int
	command := &cobra.Command{
		Use:   "get OBJECT --operator O [--department D] [--ttl 7d] [--wait 30s] [--new | --permits N]",
		Short: "Get or renew the lock on an object", SuggestFor: []string{"lock"},
		Long: `Gets the lock on an object for an operator, or renews it if the operator holds it already. An expired lock
is no lock. Without --department or --ttl a renewal keeps the department or the ttl of the lock; a new lock
then has no department, or lasts 7d.

Prints ACQUIRED or RENEWED with the fence and the end of the lock (exit code 0), or HELD with the holder and
the end of that lock (exit code 1). With --wait it first waits that long for the holder, or for another
transaction that is changing the lock; "list --waiting" shows the wait.

Every caller with the same operator has the same lock: two runs of a job under one name both get it. So
give each run an operator of its own, as below, or use --new, which refuses a renewal (HELD, exit code 1)
and changes nothing.

With --permits N at most N operators hold the object at once. Each holds a slot, such as desk#2, which is an
object like any other: use that name with release and the other commands. If no slot is left, it prints FULL
for each slot with its holder, the soonest to expire first (exit code 1).

Exit code 3 means that the outcome is unknown. Repeat the command: if the first one has got the lock, the
second renews it. With --new the second is then refused (HELD by the same operator); "inquire" shows the
fence of the lock.`,
		Example: `  applockctl get customer:42 --operator jdoe --department sales
  applockctl get customer:42 --operator jdoe --wait 30s
  applockctl get job:nightly --operator "$(hostname):$$" --new --ttl 90s --output json
  applockctl get room:desk --permits 3 --operator jdoe --ttl 8h`,
		Args:              oneObject,
		ValidArgsFunction: a.completeObjects,
	}
	command.RunE = body(func(ctx context.Context, args []string) error {
		if command.Flags().Changed("permits") {
			return a.getPermit(ctx, args[0], applock.GetPermitRequest{Permits: permits, Owner: request.Owner, TTL: request.TTL})
		}
		return a.get(ctx, args, request, time.Duration(wait))
	})
	a.operatorFlag(command, &request.Owner.Operator, "the operator that gets the lock", nil)
	a.departmentFlag(command, &request.Owner.Department, departmentUsage+" (in a renewal as before, else none)")
	command.Flags().Var((*duration)(&request.TTL), "ttl", "how long the lock lasts from now on (in a renewal as before, else 7d)")
	command.Flags().BoolVar(&request.New, "new", false, "refuse to renew: succeed only with a new lock")
	command.Flags().IntVar(&permits, "permits", 0, "how many may hold the object at once; the same number in all calls")
	command.Flags().Var(&wait, "wait", "how long to wait for the holder")
	command.MarkFlagsMutuallyExclusive("permits", "new")
	command.MarkFlagsMutuallyExclusive("permits", "wait")
	return command
}

func (a *app) get(ctx context.Context, texts []string, request applock.GetRequest, wait time.Duration) error {
	return a.eachObject(ctx, "get", texts, lockAnswer{}, func(ctx context.Context, s session, object applock.Object) (record, error) {
		request.Object = object
		answer := newAnswer(object, request.Owner)
		grant, err := s.Get(ctx, request)
		if wait > 0 && isForOthers(err) {
			grant, err = a.waitAndGet(ctx, s, request, err, wait)
		}
		switch {
		case err == nil:
			answer.grantedTo(grant)
		case ctx.Err() == nil:
			err = a.refused(&answer, err)
		}
		return &answer, err
	})
}

// isForOthers reports whether the lock was refused because of others, which is the case that --wait waits for.
func isForOthers(err error) bool {
	return errors.Is(err, applock.ErrHeld) || errors.Is(err, applock.ErrBusy) ||
		errors.Is(err, applock.ErrRetry) || errors.Is(err, applock.ErrContention)
}

// waitAndGet waits after a refusal, or while another transaction has the lock, and says which.
func (a *app) waitAndGet(
	ctx context.Context, s session, request applock.GetRequest, reason error, wait time.Duration,
) (applock.Grant, error) {
	limit := duration(wait)
	obstacle := "being changed by another transaction"
	if refusal, is := errors.AsType[*applock.HeldError](reason); is {
		obstacle = oneLine(refusal.Error())
	}
	a.note("%s is %s; waiting %s at the most", request.Object, obstacle, limit.String())
	s.extend(wait)
	request.MaxWait = wait
	return s.Get(ctx, request)
}
