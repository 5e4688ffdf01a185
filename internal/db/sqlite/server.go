package sqlite

import (
	"context"

	"github.com/applock/applock/internal/db"
)

// Server asks for the version of the library, once the file has been opened.
func (d *Driver) Server(ctx context.Context) (db.Server, error) {
	server := db.Server{Product: "SQLite"}
	row := d.handle.QueryRowContext(ctx, "SELECT sqlite_version() FROM (SELECT count(*) FROM sqlite_schema)")
	return server, d.interpretError(ctx, row.Scan(&server.Version))
}
