// Package queries is what sqlc makes of queries/postgres. This file is not: sqlc's own one, _db.go, knows pgx only, and Go leaves it out.
package queries

import "context"

// DBTX runs statements on a connection or in a transaction, be it pgx's or one of database/sql.
type DBTX interface {
	Query(ctx context.Context, statement string, args ...any) (Rows, error)
	QueryRow(ctx context.Context, statement string, args ...any) Row
}

// Row is the answer of a statement that has one row.
type Row interface {
	Scan(dest ...any) error
}

// Rows is the answer of a statement that has any number of rows.
type Rows interface {
	Row
	Next() bool
	Err() error
	Close()
}

// Queries has a method for each statement.
type Queries struct{ db DBTX }

// New returns the statements as they run on db.
func New(db DBTX) *Queries { return &Queries{db: db} }
