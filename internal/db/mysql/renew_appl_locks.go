package mysql

import (
	"context"
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
	// As a string: bytes have no character set and are not accepted as JSON.
	return db.Rows(ctx, d.callToRenew, "renew_appl_locks", []any{string(grants)}, (*db.RenewedGrant).Columns)
}
