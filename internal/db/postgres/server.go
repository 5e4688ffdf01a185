package postgres

import (
	"context"
	"strings"

	"github.com/applock/applock/internal/db"
)

// Server asks for the version, without what a distribution adds to it.
func (d *Driver) Server(ctx context.Context) (db.Server, error) {
	conn, err := d.pool.Acquire(ctx)
	if err != nil {
		return db.Server{}, connectError(ctx, err)
	}
	defer conn.Release()
	var version string
	err = conn.QueryRow(ctx, "SHOW server_version").Scan(&version)
	version, _, _ = strings.Cut(version, " ")
	return db.Server{Product: "PostgreSQL", Version: version}, interpretError(err)
}
