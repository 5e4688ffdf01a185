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
			DefaultTTLSeconds: row.DefaultTtlSeconds.Int64,
			LongestTTLSeconds: row.LongestTtlSeconds.Int64,
			TakeReasonFL:      db.Flag(row.TakeReasonFl),
			HistoryLevel:      db.HistoryLevel(row.HistoryLevel),
			PresenceFL:        db.Flag(row.PresenceFl),
			YieldAfterSeconds: row.YieldAfterSeconds.Int64,
		}
	})
}
