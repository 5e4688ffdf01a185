package sqlite

import (
	"context"
	"fmt"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/sqlite/queries"
)

// AssertApplLock runs the statement of assert_appl_lock, and after a refusal reads the holder.
func (d *Driver) AssertApplLock(ctx context.Context, params db.AssertApplLockParams) error {
	live, err := withBusyRetry(ctx, d, func(ctx context.Context, d *Driver) (int64, error) {
		return d.queries().AssertApplLock(ctx, queries.AssertApplLockParams{
			ObjectType: params.ObjectType,
			ObjectID:   params.ObjectID,
			OperatorID: params.OperatorID,
			Fence:      params.Fence,
		})
	})
	if err != nil || live > 0 {
		return err
	}
	inquiry, err := d.InquireApplLock(ctx, db.InquireApplLockParams{ObjectType: params.ObjectType, ObjectID: params.ObjectID})
	if err != nil {
		return err
	}
	holder := "nobody holds it"
	if inquiry.OkFL == db.Yes {
		holder = fmt.Sprintf("%s holds it with fence %d", inquiry.Lock.OperatorID, inquiry.Lock.Fence)
	}
	return &db.Error{Kind: db.KindAssertion, Err: fmt.Errorf(
		"assert_appl_lock: %s does not hold %s:%s with fence %d: %s",
		params.OperatorID, params.ObjectType, params.ObjectID, params.Fence, holder,
	)}
}
