package sqlite

import (
	"context"

	"github.com/applock/applock/internal/db"
)

// Server returns the library's version, after opening the file.
func (d *Driver) Server(ctx context.Context) (db.Server, error) {
	server := db.Server{Product: "SQLite"}
	row := d.handle.QueryRowContext(ctx, "SELECT sqlite_version() FROM (SELECT count(*) FROM sqlite_schema)")
	return server, d.interpretError(ctx, row.Scan(&server.Version))
}
