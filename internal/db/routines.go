package db

import (
	"context"
	"database/sql"
)

// Routines calls a routine and passes each row of its result sets to scan. A nil argument is NULL. A client may go on scanning after it has
// returned an error.
//
// Its methods are the operations. A driver embeds it, and has methods of its own for operations that it runs in another way.
type Routines func(ctx context.Context, routine string, args []any, scan func(row *sql.Rows) error) error

// Row makes a call that answers with one row, and scans it into columns.
func Row[T any](ctx context.Context, call Routines, routine string, args []any, columns func(*T) []any) (T, error) {
	var row, none T
	err := call(ctx, routine, args, func(rows *sql.Rows) error { return rows.Scan(columns(&row)...) })
	if err != nil {
		return none, err
	}
	return row, nil
}

// Rows makes a call, and scans each row of its answer into columns.
func Rows[T any](ctx context.Context, call Routines, routine string, args []any, columns func(*T) []any) ([]T, error) {
	var all []T
	err := call(ctx, routine, args, func(rows *sql.Rows) error {
		var row T
		err := rows.Scan(columns(&row)...)
		all = append(all, row)
		return err
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// run calls a row form whose only answer is Y.
func (r Routines) run(ctx context.Context, routine string, args ...any) error {
	_, err := Row(ctx, r, routine, args, func(flag *Flag) []any { return []any{flag} })
	return err
}

// orNull returns NULL for a zero value.
func orNull[T comparable](value T) any {
	var zero T
	if value == zero {
		return nil
	}
	return value
}

// yesOrNull returns Y, or NULL for false.
func yesOrNull(asked bool) any {
	if asked {
		return Yes
	}
	return nil
}

// NullText returns NULL for an empty text.
func NullText(text string) sql.NullString { return sql.NullString{String: text, Valid: text != ""} }

// NullFilter returns NULL for an absent filter. An empty text is a filter.
func NullFilter(text *string) sql.NullString {
	if text == nil {
		return sql.NullString{}
	}
	return sql.NullString{String: *text, Valid: true}
}

// NullNumber returns NULL for zero.
func NullNumber(number int64) sql.NullInt64 { return sql.NullInt64{Int64: number, Valid: number != 0} }
