package migrate

import (
	"context"
	"database/sql"
	"errors"

	"github.com/pressly/goose/v3/database"
)

// Client is a connection, or a transaction on one.
type Client = database.DBTxConn

// Beginner is a connection, or a pool of them.
type Beginner interface {
	BeginTx(ctx context.Context, opts *sql.TxOptions) (*sql.Tx, error)
}

// InTx runs work in a transaction, which is undone if work fails. A pool may be without autocommit.
func InTx(ctx context.Context, on Beginner, work func(Client) error) error {
	tx, err := on.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // does nothing after a commit
	if err := work(tx); err != nil {
		return err
	}
	return tx.Commit()
}

// Execute runs statements until one fails.
func Execute(ctx context.Context, client Client, statements ...string) error {
	for _, statement := range statements {
		if _, err := client.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// CreateVersions creates the version table with version 0.
func CreateVersions(ctx context.Context, tx Client, versions database.Store) error {
	if err := versions.CreateVersionTable(ctx, tx); err != nil {
		return err
	}
	return versions.Insert(ctx, tx, database.InsertRequest{Version: 0})
}

// InsertFirst inserts version 0 into an empty version table.
func InsertFirst(ctx context.Context, client Client, versions database.Store) error {
	_, err := versions.GetLatestVersion(ctx, client)
	if errors.Is(err, database.ErrVersionNotFound) {
		return versions.Insert(ctx, client, database.InsertRequest{Version: 0})
	}
	return err
}

// Read returns the rows of a query. Fields returns where the columns of a row go.
func Read[T any](ctx context.Context, client Client, fields func(row *T) []any, query string, args ...any) (all []T, err error) {
	rows, err := client.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var row T
		if err := rows.Scan(fields(&row)...); err != nil {
			return nil, err
		}
		all = append(all, row)
	}
	return all, rows.Err()
}

// ReadNames returns the texts that a query returns, as a set.
func ReadNames(ctx context.Context, client Client, query string, args ...any) (map[string]bool, error) {
	rows, err := Read(ctx, client, func(name *string) []any { return []any{name} }, query, args...)
	names := map[string]bool{}
	for _, name := range rows {
		names[name] = true
	}
	return names, err
}

// Value reads the only row of a query.
func Value[T any](ctx context.Context, client Client, query string, args ...any) (value T, err error) {
	err = client.QueryRowContext(ctx, query, args...).Scan(&value)
	return value, err
}
