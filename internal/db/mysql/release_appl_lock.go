package mysql

import (
	"context"

	"github.com/applock/applock/internal/db"
)

// PassApplLock is [db.Passer.PassApplLock], by release_appl_lock_pass.
func (d *Driver) PassApplLock(
	ctx context.Context, release db.ReleaseApplLockParams, next db.GetApplLockParams,
) (db.PassApplLockResult, error) {
	result, err := db.Row(ctx, d.call, "release_appl_lock_pass", []any{
		release.ObjectType, release.ObjectID, release.OperatorID, release.Fence,
		next.OperatorID, db.NullText(next.DepartmentID), db.NullNumber(next.TTLSeconds),
	}, func(row *db.PassApplLockResult) []any {
		next := &row.Next
		return []any{&row.Released, &next.Outcome, &next.Fence, &next.AcquiredTS, &next.ExpiresTS, &next.SecondsLeft}
	})
	if result.Released == db.Released {
		result.Next.OkFL = db.Yes
	}
	return result, err
}
