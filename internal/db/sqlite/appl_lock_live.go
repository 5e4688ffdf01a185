package sqlite

import (
	"cmp"
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/sqlite/queries"
)

// ApplLockLive runs one of the statements of appl_lock_live.
func (d *Driver) ApplLockLive(ctx context.Context, params db.ApplLockLiveParams) ([]db.Lock, error) {
	return withBusyRetry(ctx, d, func(ctx context.Context, d *Driver) ([]db.Lock, error) { return d.list(ctx, params) })
}

func (d *Driver) list(ctx context.Context, params db.ApplLockLiveParams) ([]db.Lock, error) {
	rows, err := d.live(ctx, params)
	return db.Converted(rows, err, func(row queries.ApplLockLive) db.Lock { return db.Lock(row) })
}

// live runs the statement of the order.
func (d *Driver) live(ctx context.Context, params db.ApplLockLiveParams) ([]queries.ApplLockLive, error) {
	q, first := d.queries(), queries.ApplLockLiveEndsSoonestParams{
		ObjectType:           db.NullText(params.ObjectType),
		OperatorID:           db.NullText(params.OperatorID),
		DepartmentID:         db.NullFilter(params.DepartmentID),
		OlderThanSeconds:     cmp.Or(params.OlderThanSeconds, -ever),
		ExpiresWithinSeconds: cmp.Or(params.ExpiresWithinSeconds, ever),
		MaxRows:              params.MaxRows,
	}
	switch params.Order {
	case db.LiveEndsSoonest:
		return q.ApplLockLiveEndsSoonest(ctx, first)
	case db.LiveOldest:
		return q.ApplLockLiveOldest(ctx, queries.ApplLockLiveOldestParams(first))
	case db.LiveWaitedFor:
		return q.ApplLockLiveWaitedFor(ctx, queries.ApplLockLiveWaitedForParams(first))
	}
	if params.AfterType < params.ObjectType { // start the page at the type, not at the first row of the table
		params.AfterType, params.AfterID = params.ObjectType, ""
	}
	return q.ApplLockLive(ctx, queries.ApplLockLiveParams{
		AfterType:            params.AfterType,
		AfterID:              params.AfterID,
		ObjectType:           first.ObjectType,
		OperatorID:           first.OperatorID,
		DepartmentID:         first.DepartmentID,
		OlderThanSeconds:     first.OlderThanSeconds,
		ExpiresWithinSeconds: first.ExpiresWithinSeconds,
		MaxRows:              first.MaxRows,
	})
}
