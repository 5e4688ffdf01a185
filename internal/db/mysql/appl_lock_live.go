package mysql

import (
	"context"
	"database/sql"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/mysql/queries"
)

// ApplLockLive reads appl_lock_live.
func (d *Driver) ApplLockLive(ctx context.Context, params db.ApplLockLiveParams) ([]db.Lock, error) {
	var locks []db.Lock
	err := d.call(ctx, func(q *queries.Queries) error { return live(ctx, q, params) }, func(row *sql.Rows) error {
		var lock db.Lock
		err := row.Scan(
			&lock.ObjectType, &lock.ObjectID, &lock.OperatorID, &lock.DepartmentID, &lock.Fence,
			db.UTC(&lock.AcquiredTS), db.UTC(&lock.LockTS), db.UTC(&lock.ExpiresTS), &lock.SecondsLeft, &lock.TTLSeconds, &lock.Note,
		)
		locks = append(locks, lock)
		return err
	})
	if err != nil {
		return nil, err
	}
	return locks, nil
}

// live runs the query of an order. They have the same filters, and only the order by key has pages.
func live(ctx context.Context, q *queries.Queries, params db.ApplLockLiveParams) error {
	soonest := queries.ApplLockLiveEndsSoonestParams{
		ObjectType:           nullIfEmpty(params.ObjectType),
		OperatorID:           nullIfEmpty(params.OperatorID),
		DepartmentID:         nullIfNil(params.DepartmentID),
		OlderThanSeconds:     nullIfZero(params.OlderThanSeconds),
		ExpiresWithinSeconds: nullIfZero(params.ExpiresWithinSeconds),
		Limit:                limit(params.MaxRows),
	}
	switch params.Order {
	case db.LiveEndsSoonest:
		return q.ApplLockLiveEndsSoonest(ctx, soonest)
	case db.LiveOldest:
		return q.ApplLockLiveOldest(ctx, queries.ApplLockLiveOldestParams(soonest))
	case db.LiveWaitedFor:
		return q.ApplLockLiveWaitedFor(ctx, queries.ApplLockLiveWaitedForParams(soonest))
	}
	return q.ApplLockLive(ctx, queries.ApplLockLiveParams{
		AfterType:            params.AfterType,
		AfterID:              params.AfterID,
		ObjectType:           soonest.ObjectType,
		OperatorID:           soonest.OperatorID,
		DepartmentID:         soonest.DepartmentID,
		OlderThanSeconds:     soonest.OlderThanSeconds,
		ExpiresWithinSeconds: soonest.ExpiresWithinSeconds,
		Limit:                soonest.Limit,
	})
}
