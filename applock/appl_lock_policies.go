package applock

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/applock/applock/internal/db"
)

// Policies returns all policies in the order of the types, or that of one type if objectType is not empty. It writes nothing and never
// waits. It needs the role supervisor, auditor or administrator.
func (c *Client) Policies(ctx context.Context, objectType string) ([]Policy, error) {
	policies, err := c.operations.policies(ctx, objectType)
	if err != nil {
		return nil, fmt.Errorf("list policies: %w", err)
	}
	return policies, nil
}

func (o operations) policies(ctx context.Context, objectType string) ([]Policy, error) {
	var params db.ApplLockPoliciesParams
	var err error
	if objectType != "" {
		if params.ObjectType, err = checkObjectType("ObjectType", objectType); err != nil {
			return nil, err
		}
	}
	rows, err := retryIfUnchanged(ctx, o, func() ([]db.Policy, error) { return o.driver.ApplLockPolicies(ctx, params) })
	if err != nil {
		return nil, o.readError(err)
	}
	o.log(ctx, "appl_lock_policies", slog.Int("rows", len(rows)))
	policies := make([]Policy, len(rows))
	for i, row := range rows {
		policies[i] = Policy{
			Type:              row.ObjectType,
			DefaultTTL:        time.Duration(row.DefaultTTLSeconds) * time.Second,
			LongestTTL:        time.Duration(row.LongestTTLSeconds) * time.Second,
			TakeWithoutReason: row.TakeReasonFL == db.No,
			HistoryLevel:      HistoryLevel(row.HistoryLevel),
			WithoutPresence:   row.PresenceFL == db.No,
			YieldAfter:        time.Duration(row.YieldAfterSeconds) * time.Second,
		}
	}
	return policies, nil
}
