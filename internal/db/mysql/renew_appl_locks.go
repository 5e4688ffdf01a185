package mysql

import (
	"context"
	"database/sql"
	"encoding/json"

	"github.com/applock/applock/internal/db"
)

// RenewApplLocks calls renew_appl_locks. Outside a transaction it uses a connection that is kept for renewals, so that it does not queue
// behind the program's calls.
func (d *Driver) RenewApplLocks(ctx context.Context, params db.RenewApplLocksParams) ([]db.RenewedGrant, error) {
	if len(params.Grants) == 0 {
		return nil, d.prepareToRenew(ctx)
	}
	grants, err := json.Marshal(params.Grants)
	if err != nil {
		return nil, err
	}
	var answers []db.RenewedGrant
	// As a string: bytes have no character set and are not accepted as JSON.
	err = d.callToRenew(ctx, "renew_appl_locks", []any{string(grants)}, func(row *sql.Rows) error {
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
