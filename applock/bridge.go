package applock

import (
	"log/slog"
	"sync/atomic"

	"github.com/applock/applock/internal/bridge"
	"github.com/applock/applock/internal/db"
)

func init() { //nolint:gochecknoinits // package bridge says why
	bridge.Clients.New = func(driver db.Driver, logger *slog.Logger, hooks any) any { return newClient(driver, logger, hooks) }
	bridge.Clients.Driver = func(client any) db.Driver { return bridged(client).operations.driver }
	bridge.Clients.Within = func(client any, transaction func(db.Driver) (db.Driver, error)) any {
		return bridged(client).within(transaction)
	}
	bridge.Clients.Operations = func(client any) any { return leased{bridged(client).operations} }
	bridge.Clients.Explain = explain
}

func bridged(client any) *Client {
	return client.(*Client) // package clients hands over nothing else
}

func newClient(driver db.Driver, logger *slog.Logger, hooks any) *Client {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	operations := operations{driver: driver, logger: logger, closed: new(atomic.Bool)}
	return &Client{operations: operations, lazy: &lazyEngine{create: func() engine {
		return bridge.Leases.New(leased{operations}, logger, hooks).(engine) // package lease has nothing else
	}}}
}
