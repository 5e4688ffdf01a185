package main

import (
	"context"

	"github.com/applock/applock/applock"
)

func (a *app) releaseAll(ctx context.Context, flags allFlags, request applock.ReleaseRequest) error {
	operator := applock.Owner{Operator: request.Key.Operator}
	whose := applock.ListRequest{Operator: operator.Operator, ObjectType: flags.objectType}
	return a.changeAll(ctx, "release --all", whatIsDone(flags, "released"), whose, lockAnswer{},
		func(change applock.LockChange) record { return changedLock(change, operator) },
		func(ctx context.Context, s session, after applock.Object) ([]applock.LockChange, error) {
			return s.ReleaseAll(ctx, applock.ReleaseAllRequest{
				Operator:   request.Key.Operator,
				ObjectType: flags.objectType,
				Actor:      request.Actor,
				Reason:     request.Reason,
				DryRun:     flags.dryRun,
				After:      after,
				Limit:      applock.DefaultPageSize,
			})
		})
}
