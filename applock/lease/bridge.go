package lease

import (
	"log/slog"

	"github.com/applock/applock/internal/bridge"
)

func init() { //nolint:gochecknoinits // package bridge says why
	bridge.Leases.New = func(operations any, logger *slog.Logger, hooks any) any {
		return newClientLeases(newTable(operations), logger, hooks.(Hooks)) // package clients hands over nothing else
	}
	bridge.Leases.Table = func(operations any) any { return newTable(operations) }
}

func newTable(operations any) *table {
	// package applock hands over nothing else
	return &table{operations: operations.(clientOperations), clientID: uniqueName()}
}
