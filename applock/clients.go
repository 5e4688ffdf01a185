package applock

import (
	"context"
	"log/slog"
	"sync/atomic"

	"github.com/applock/applock/internal/clients"
	"github.com/applock/applock/internal/db"
)

func init() { //nolint:gochecknoinits // package clients says why
	clients.OfApplock.New = func(driver db.Driver, logger *slog.Logger, hooks any) any { return newClient(driver, logger, hooks) }
	clients.OfApplock.Driver = func(client any) db.Driver {
		if driver := clientOf(client).ops().driver; driver != nil {
			return driver
		}
		return noDriver{}
	}
	clients.OfApplock.Within = func(client any, transaction func(db.Driver) (db.Driver, error)) any {
		return clientOf(client).within(transaction)
	}
	clients.OfApplock.Operations = func(client any) any { return leased{clientOf(client).ops()} }
	clients.OfApplock.Explain = explain
	clients.OfApplock.Checked = func(ctx context.Context, request any) (any, error) {
		if ctx == nil {
			return request, errNilContext
		}
		if one, isOne := request.(AcquireRequest); isOne {
			return one.checked()
		}
		return request.(AcquireAllRequest).checked() // nothing else is handed over
	}
	clients.OfApplock.Lost = func(object any, cause error) error { return newLostError(object.(Object), cause) }
}

// noDriver is the driver of a nil or an empty client.
type noDriver struct{ db.Driver }

func (noDriver) Handle() (db.Handle, error) { return db.Handle{}, errNoClient }

func clientOf(client any) *Client {
	return client.(*Client) // package clients hands over nothing else
}

func newClient(driver db.Driver, logger *slog.Logger, hooks any) *Client {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	operations := operations{driver: driver, logger: logger, closed: new(atomic.Bool)}
	return &Client{operations: operations, lazy: &lazyEngine{create: func() engine {
		return clients.OfLease.New(leased{operations}, logger, hooks).(engine) // package lease has nothing else
	}}}
}
