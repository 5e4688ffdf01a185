package mysql

import (
	"context"
	"database/sql"
	"math"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/mysql/queries"
)

// ApplLockHistory reads appl_lock_history.
func (d *Driver) ApplLockHistory(ctx context.Context, params db.ApplLockHistoryParams) ([]db.Event, error) {
	var events []db.Event
	err := d.call(ctx, func(q *queries.Queries) error { return history(ctx, q, params) }, func(row *sql.Rows) error {
		var event db.Event
		err := row.Scan(
			&event.EventID, db.UTC(&event.EventTS), &event.ObjectType, &event.ObjectID, &event.Event, &event.ActorID, &event.DBUser,
			&event.Program, &event.FromOperatorID, &event.FromDepartmentID, &event.ToOperatorID, &event.ToDepartmentID,
			&event.FromFence, &event.ToFence, &event.Reason,
		)
		events = append(events, event)
		return err
	})
	if err != nil {
		return nil, err
	}
	return events, nil
}

// history runs the query of an order. An operator's history is read by an index for each of three columns.
func history(ctx context.Context, q *queries.Queries, params db.ApplLockHistoryParams) error {
	if params.NewestFirst && params.AfterEventID == 0 {
		params.AfterEventID = math.MaxInt64
	}
	if params.OperatorID == "" {
		all := queries.ApplLockHistoryParams{
			AfterEventID: params.AfterEventID,
			ObjectType:   nullIfEmpty(params.ObjectType),
			ObjectID:     nullIfEmpty(params.ObjectID),
			SinceSeconds: nullIfZero(params.SinceSeconds),
			Limit:        limit(params.MaxRows),
		}
		if params.NewestFirst {
			return q.ApplLockHistoryNewest(ctx, queries.ApplLockHistoryNewestParams(all))
		}
		return q.ApplLockHistory(ctx, all)
	}
	of := queries.ApplLockHistoryOfParams{
		OperatorID:   params.OperatorID,
		AfterEventID: params.AfterEventID,
		ObjectType:   nullIfEmpty(params.ObjectType),
		ObjectID:     nullIfEmpty(params.ObjectID),
		SinceSeconds: nullIfZero(params.SinceSeconds),
		Limit:        limit(params.MaxRows),
		Limit_2:      limit(params.MaxRows),
		Limit_3:      limit(params.MaxRows),
		Limit_4:      limit(params.MaxRows),
	}
	if params.NewestFirst {
		return q.ApplLockHistoryOfNewest(ctx, queries.ApplLockHistoryOfNewestParams(of))
	}
	return q.ApplLockHistoryOf(ctx, of)
}
