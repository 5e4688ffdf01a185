package postgres

import (
	"context"
	"encoding/json"

	"github.com/jackc/pgx/v5"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/postgres/queries"
)

// renewers is how many connections renewals have beside the pool.
const renewers = 2

// RenewApplLocks calls renew_appl_locks, outside a transaction on a connection beside the pool, so that it does not queue behind
// the program. If there is none to be had, it takes one of the pool.
func (d *Driver) RenewApplLocks(ctx context.Context, params db.RenewApplLocksParams) ([]db.RenewedGrant, error) {
	if len(params.Grants) == 0 {
		return nil, nil
	}
	grants, err := json.Marshal(params.Grants)
	if err != nil {
		return nil, err
	}
	rows, err := d.renew(ctx, queries.RenewApplLocksParams{Grants: string(grants)})
	if err != nil {
		return nil, err
	}
	answers := make([]db.RenewedGrant, len(rows))
	for i, row := range rows {
		answers[i] = db.RenewedGrant{
			ObjectType:      row.ObjectType,
			ObjectID:        row.ObjectID,
			Outcome:         db.Outcome(row.Outcome),
			OldOperatorID:   row.OldOperatorID,
			OldDepartmentID: row.OldDepartmentID,
			ExpiresTS:       utc(row.ExpiresTs),
			SecondsLeft:     row.SecondsLeft,
		}
	}
	return answers, nil
}

func (d *Driver) renew(ctx context.Context, params queries.RenewApplLocksParams) ([]queries.RenewApplLocksRow, error) {
	if d.tx != nil {
		return call(ctx, d, (*queries.Queries).RenewApplLocks, params)
	}
	conn, err := d.renewing.Take(ctx, renewers)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, d.notFree(ctx, err)
	case err != nil:
		return call(ctx, d, (*queries.Queries).RenewApplLocks, params)
	}
	rows, err := d.queries(conn).RenewApplLocks(ctx, params)
	if err != nil || conn.IsClosed() {
		d.renewing.Drop(conn)
	} else {
		d.renewing.Put(conn)
	}
	return rows, interpretError(err)
}

// disconnect ends a connection, in its own time if the server does not answer.
func disconnect(conn *pgx.Conn) {
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), pingLimit)
		defer cancel()
		_ = conn.Close(ctx) // it is of no use any more
	}()
}
