//go:build db2

package db2

import (
	"database/sql"
	"database/sql/driver"

	"github.com/applock/applock/internal/db/db2/goibmdb"
)

// OpenPool is openPool.
func OpenPool(dsn string) (*sql.DB, error) { return openPool(dsn) }

// NewConnector returns the connector of openPool's pool.
func NewConnector(dsn string) (driver.Connector, error) {
	text, err := connectionString(dsn)
	if err != nil {
		return nil, err
	}
	client, err := goibmdb.Driver()
	if err != nil {
		return nil, err
	}
	return &connector{client: client, connectionString: text}, nil
}
