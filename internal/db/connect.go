package db

import (
	"context"
	"database/sql/driver"
	"time"
)

// ConnectWithin limits how long an attempt to connect takes, with the handshake. Zero is no limit.
func ConnectWithin(connector driver.Connector, limit time.Duration) driver.Connector {
	if limit == 0 {
		return connector
	}
	return limitedConnector{Connector: connector, limit: limit}
}

// limitedConnector is a connector with a time limit.
type limitedConnector struct {
	driver.Connector
	limit time.Duration
}

// Connect connects within the limit.
func (c limitedConnector) Connect(ctx context.Context) (driver.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, c.limit)
	defer cancel()
	return c.Connector.Connect(ctx)
}
