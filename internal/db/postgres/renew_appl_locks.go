package postgres

import (
	"context"
	"encoding/json"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/postgres/queries"
)

// RenewApplLocks calls renew_appl_locks. Outside a transaction it uses a connection for renewals, so that it does not queue behind the
// program's calls.
func (d *Driver) RenewApplLocks(ctx context.Context, params db.RenewApplLocksParams) ([]db.RenewedGrant, error) {
	take := d.pool.takeToRenew
	if len(params.Grants) == 0 {
		params.Grants, take = []db.RenewableGrant{}, d.pool.takeReady
	}
	grants, err := json.Marshal(params.Grants)
	if err != nil {
		return nil, err
	}
	rows, err := callOn(ctx, d, take, func(q *queries.Queries) ([]queries.RenewApplLocksRow, error) {
		return q.RenewApplLocks(ctx, string(grants))
	})
	return db.Converted(rows, err, func(row queries.RenewApplLocksRow) db.RenewedGrant { return db.RenewedGrant(row) })
}
