package mysql

import (
	"context"
	"strings"

	"github.com/applock/applock/internal/db"
)

// Server returns the version, from which it knows the product.
func (d *Driver) Server(ctx context.Context) (db.Server, error) {
	conn, err := d.handle.Conn(ctx)
	if err != nil {
		return db.Server{}, d.notFree(ctx, err)
	}
	defer func() { _ = conn.Close() }() // gives it back to the pool
	var text string
	err = conn.QueryRowContext(ctx, "SELECT VERSION()").Scan(&text)
	product := "MySQL"
	if strings.Contains(text, "MariaDB") {
		product = "MariaDB"
	}
	version, _, _ := strings.Cut(text, "-")
	return db.Server{Product: product, Version: version}, interpretError(err)
}
