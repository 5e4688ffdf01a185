package db2

import (
	"context"

	"github.com/applock/applock/internal/db"
)

// Server tells no version: Linux and z/OS have no one way to ask.
func (d *Driver) Server(ctx context.Context) (db.Server, error) {
	var one int
	err := d.ask(ctx, "SELECT 1 FROM SYSIBM.SYSDUMMY1", nil, Into(&one))
	return db.Server{Product: "Db2"}, err
}
