package applock

import (
	"context"
	"log/slog"

	"github.com/applock/applock/internal/db"
)

// Policies returns all policies in the order of the types, or that of one type if objectType is not empty. It writes nothing and never
// waits. Every role but janitor may call it.
func (c *Client) Policies(ctx context.Context, objectType string) (policies []Policy, err error) {
	defer begin(&err, "list policies: %w")
	var params db.ApplLockPoliciesParams
	if params.ObjectType, err = checkAnyType(objectType); err != nil {
		return nil, err
	}
	o := c.ops()
	rows, err := read(ctx, o, db.Driver.ApplLockPolicies, params)
	if err != nil {
		return nil, err
	}
	o.log(ctx, "appl_lock_policies", slog.Int("rows", len(rows)))
	return db.Converted(rows, nil, func(row db.Policy) Policy {
		return Policy{
			Type:              row.ObjectType,
			DefaultTTL:        seconds(row.DefaultTTLSeconds),
			LongestTTL:        seconds(row.LongestTTLSeconds),
			TakeWithoutReason: row.TakeReasonFL == db.No,
			HistoryLevel:      HistoryLevel(row.HistoryLevel),
			WithoutPresence:   row.PresenceFL == db.No,
			YieldAfter:        seconds(row.YieldAfterSeconds),
		}
	})
}
