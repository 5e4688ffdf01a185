package applock

import (
	"context"
	"fmt"

	"github.com/applock/applock/internal/db"
)

// ContractVersion is the version of the procedures' contract that this package needs.
const ContractVersion = 1

// Version returns the version of the installed contract. It returns ErrSchema if none is installed, or one older than ContractVersion, with
// its number.
func (c *Client) Version(ctx context.Context) (installed int, err error) {
	o := c.ops()
	result, err := retryIfUnchanged(ctx, o, func() (db.ApplLockVersionResult, error) { return o.driver.ApplLockVersion(ctx) })
	if err != nil {
		return 0, fmt.Errorf("version: %w", explain(err))
	}
	installed = result.Version
	if installed < ContractVersion {
		return installed, fmt.Errorf("version: %w (contract %d, need %d)", ErrSchema, installed, ContractVersion)
	}
	return installed, nil
}
