//go:build db2

package db2

import (
	"database/sql"
	"database/sql/driver"
)

// OpenPool is openPool.
func OpenPool(dsn string) (*sql.DB, error) { return openPool(dsn, 0) }

// NewConnector returns the connector of openPool's pool.
func NewConnector(dsn string) (driver.Connector, error) { return newConnector(dsn) }

// MaxConnections and Patience are those of the tests here.
const (
	MaxConnections = maxConnections
	Patience       = patience
)

// Connects is connects.
func Connects() bool { return connects() }
