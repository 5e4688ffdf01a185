package applock

import (
	"context"
	"fmt"

	"github.com/applock/applock/internal/db"
)

// ContractVersion is the version of the procedures' contract that this package needs.
const ContractVersion = db.ContractVersion

// Version returns the version of the contract that is installed in the database, and ErrSchema when
// none is, or one older than ContractVersion.
func (c *Client) Version(ctx context.Context) (int, error) {
	result, err := settle(ctx, c, func() (db.ApplLockVersionResult, error) { return c.driver.ApplLockVersion(ctx) })
	if err != nil {
		return 0, fmt.Errorf("version: %w", c.readError(err))
	}
	if result.Version < ContractVersion {
		return result.Version, fmt.Errorf("version: %w (contract %d, need %d)", ErrSchema, result.Version, ContractVersion)
	}
	return result.Version, nil
}
