package db

import (
	"context"
	"database/sql/driver"
	"time"
)

// ConnectWithin returns a connector whose attempts end after a limit, the talk before the first statement included; zero
// is none.
func ConnectWithin(connector driver.Connector, limit time.Duration) driver.Connector {
	if limit == 0 {
		return connector
	}
	return limitedConnector{Connector: connector, limit: limit}
}

// limitedConnector is a connector that gives up.
type limitedConnector struct {
	driver.Connector
	limit time.Duration
}

// Connect connects, or gives up.
func (c limitedConnector) Connect(ctx context.Context) (driver.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, c.limit)
	defer cancel()
	return c.Connector.Connect(ctx)
}
