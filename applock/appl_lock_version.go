package applock

import (
	"context"
	"fmt"

	"github.com/applock/applock/internal/db"
)

// ContractVersion is the version of the procedures' contract that this package needs.
const ContractVersion = 1

// Version is what is installed in a database.
type Version struct {
	// Contract is the version of the procedures' contract.
	Contract int
}

// Version returns the version of the contract that is installed in the database. It returns ErrSchema when
// none is, or one older than ContractVersion, which the result tells then.
func (c *Client) Version(ctx context.Context) (Version, error) {
	o := c.operations
	result, err := retryIfUnchanged(ctx, o, func() (db.ApplLockVersionResult, error) { return o.driver.ApplLockVersion(ctx) })
	if err != nil {
		return Version{}, fmt.Errorf("version: %w", o.readError(err))
	}
	installed := Version{Contract: result.Version}
	if installed.Contract < ContractVersion {
		return installed, fmt.Errorf("version: %w (contract %d, need %d)", ErrSchema, installed.Contract, ContractVersion)
	}
	return installed, nil
}
