package postgres

import (
	"context"
	"strings"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/pgproduct"
)

// Server returns the version, without a distribution's additions. An engine that only imitates PostgreSQL is an error.
func (d *Driver) Server(ctx context.Context) (db.Server, error) {
	conn, err := d.pool.take(ctx)
	if err != nil {
		return db.Server{}, d.notFree(ctx, err)
	}
	defer conn.giveBack(nil)
	var full, version string
	err = conn.QueryRow(ctx, "SELECT version(), current_setting('server_version')").Scan(&full, &version)
	if err != nil {
		return db.Server{Product: "PostgreSQL"}, interpretError(err)
	}
	version, _, _ = strings.Cut(version, " ")
	return db.Server{Product: "PostgreSQL", Version: version}, pgproduct.Check(full)
}
