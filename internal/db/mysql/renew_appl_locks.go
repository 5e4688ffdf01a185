package mysql

import (
	"context"
	"database/sql"
	"encoding/json"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/mysql/queries"
)

// RenewApplLocks calls renew_appl_locks, outside a transaction on a connection of the pool that is kept for that, so that it does
// not queue behind the program.
func (d *Driver) RenewApplLocks(ctx context.Context, params db.RenewApplLocksParams) ([]db.RenewedGrant, error) {
	if len(params.Grants) == 0 {
		return nil, d.prepareToRenew(ctx)
	}
	grants, err := json.Marshal(params.Grants)
	if err != nil {
		return nil, err
	}
	var answers []db.RenewedGrant
	// As text: bytes would be of no character set, and no JSON.
	err = d.callToRenew(ctx, queries.RenewApplLocks, []any{string(grants)}, func(row *sql.Rows) error {
		var answer db.RenewedGrant
		err := row.Scan(
			&answer.ObjectType, &answer.ObjectID, &answer.Outcome,
			&answer.OldOperatorID, &answer.OldDepartmentID, db.UTC(&answer.ExpiresTS), &answer.SecondsLeft,
		)
		answers = append(answers, answer)
		return err
	})
	if err != nil {
		return nil, err
	}
	return answers, nil
}
