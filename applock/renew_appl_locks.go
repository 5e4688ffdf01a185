package applock

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/applock/applock/internal/db"
)

// renew renews grants, at most db.MaxGrants and no object twice. One that another transaction is changing has no
// row in the answer.
func (c *Client) renew(ctx context.Context, grants []db.RenewableGrant) ([]db.RenewedGrant, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("renew: %w", err) // nothing has been sent
	}
	params := db.RenewApplLocksParams{Grants: grants}
	answers, err := settle(ctx, c, func() ([]db.RenewedGrant, error) { return c.driver.RenewApplLocks(ctx, params) })
	if err != nil {
		return nil, fmt.Errorf("renew: %w", c.changeError(err))
	}
	c.log(ctx, "renew_appl_locks",
		slog.Int("grants", len(grants)),
		slog.Int("rows", len(answers)))
	return answers, nil
}
