package mysql

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/mysql/queries"
)

// ApplLockPolicies reads appl_lock_policies.
func (d *Driver) ApplLockPolicies(ctx context.Context, params db.ApplLockPoliciesParams) ([]db.Policy, error) {
	rows, err := read(ctx, d, func(q *queries.Queries) ([]queries.Policy, error) {
		return q.ApplLockPolicies(ctx, queries.ApplLockPoliciesParams{ObjectType: db.NullText(params.ObjectType)})
	})
	return db.Converted(rows, err, func(row queries.Policy) db.Policy {
		return db.Policy{
			ObjectType:        row.ObjectType,
			DefaultTTLSeconds: row.DefaultTTLSeconds.Int64,
			LongestTTLSeconds: row.LongestTTLSeconds.Int64,
			TakeReasonFL:      row.TakeReasonFL,
			HistoryLevel:      row.HistoryLevel,
			PresenceFL:        row.PresenceFL,
			YieldAfterSeconds: row.YieldAfterSeconds.Int64,
		}
	})
}
