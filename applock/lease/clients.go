package lease

import (
	"log/slog"

	"github.com/applock/applock/internal/clients"
)

func init() { //nolint:gochecknoinits // package clients says why
	clients.OfLease.New = func(operations any, logger *slog.Logger, hooks any) any {
		return newClientLeases(newTable(operations), logger, hooks.(Hooks)) // package applock passes no other type
	}
	clients.OfLease.Table = func(operations any) any { return newTable(operations) }
}

func newTable(operations any) *table {
	// package applock passes no other type
	return &table{operations: operations.(clientOperations), clientID: uniqueName()}
}
