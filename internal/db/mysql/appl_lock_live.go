package mysql

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/mysql/queries"
)

// ApplLockLive reads appl_lock_live.
func (d *Driver) ApplLockLive(ctx context.Context, params db.ApplLockLiveParams) ([]db.Lock, error) {
	rows, err := read(ctx, d, func(q *queries.Queries) ([]queries.Lock, error) { return live(ctx, q, params) })
	return db.Converted(rows, err, func(row queries.Lock) db.Lock { return db.Lock(row) })
}

// live runs the query of an order. All have the same filters, and only the order by key has pages.
func live(ctx context.Context, q *queries.Queries, params db.ApplLockLiveParams) ([]queries.Lock, error) {
	soonest := queries.ApplLockLiveEndsSoonestParams{
		ObjectType:           db.NullText(params.ObjectType),
		OperatorID:           db.NullText(params.OperatorID),
		DepartmentID:         db.NullFilter(params.DepartmentID),
		OlderThanSeconds:     db.NullNumber(params.OlderThanSeconds),
		ExpiresWithinSeconds: db.NullNumber(params.ExpiresWithinSeconds),
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
