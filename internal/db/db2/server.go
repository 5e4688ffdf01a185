package db2

import (
	"context"

	"github.com/applock/applock/internal/db"
)

// Server returns no version: Linux and z/OS have no common way to ask for it.
func (d *Driver) Server(ctx context.Context) (db.Server, error) {
	var one int
	err := d.ask(ctx, "SELECT 1 FROM SYSIBM.SYSDUMMY1", nil, Into(&one))
	return db.Server{Product: "Db2"}, err
}
