package applock

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/applock/applock/internal/db"
)

// renew renews grants, at most db.MaxGrants and no object twice. One that another transaction is changing has no
// row in the answer.
func (o operations) renew(ctx context.Context, grants []db.RenewableGrant) ([]db.RenewedGrant, error) {
	params := db.RenewApplLocksParams{Grants: grants}
	answers, err := retryIfUnchanged(ctx, o, func() ([]db.RenewedGrant, error) { return o.driver.RenewApplLocks(ctx, params) })
	if err != nil {
		return nil, fmt.Errorf("renew: %w", o.changeError(err))
	}
	o.log(ctx, "renew_appl_locks",
		slog.Int("grants", len(grants)),
		slog.Int("rows", len(answers)))
	return answers, nil
}
