//go:build unix

package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/pressly/goose/v3"
)

// against compares our procedures with those of another checkout (-against), in turns on the same server. Both are called by the same SQL,
// without the façade, which fits only one of them.
func (b *bench) against(ctx context.Context, p *place) (err error) {
	if b.other == "" || p.product == productSQLite || p.product == productRedis {
		return nil
	}
	here, err := p.open(ctx, access{connections: manyConnections, name: "against"})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, here.close()) }()
	other := &place{server: p.server, statements: p.statements}
	defer func() { err = errors.Join(err, other.remove()) }()
	if err := other.create(ctx); err != nil {
		return err
	}
	there, err := other.open(ctx, access{connections: manyConnections, name: "against"})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, there.close()) }()
	if err := other.migrateFrom(ctx, b.other, there.raw.handle()); err != nil {
		return fmt.Errorf("%s: %w", b.other, err)
	}
	ours, err := p.verbs(ctx, here.raw)
	if err != nil {
		return err
	}
	theirs, err := other.verbs(ctx, there.raw)
	if err != nil {
		return err
	}
	for _, connections := range []int{1, poolSize, manyConnections} {
		for i := range ours {
			f := figure{Product: p.product, Name: fmt.Sprintf("both texts, %d connections: ", connections)}
			theirs[i].name = "the text of -against"
			if err := b.pit(ctx, f, connections, ours[i:i+1], theirs[i:i+1]); err != nil {
				return err
			}
		}
	}
	return nil
}

// migrateFrom installs the migrations of a checkout.
func (p *place) migrateFrom(ctx context.Context, checkout string, handle *sql.DB) error {
	dialect, folder := goose.DialectMySQL, "mysql"
	if p.product == productPostgres {
		dialect, folder = goose.DialectPostgres, "postgres"
	}
	provider, err := goose.NewProvider(dialect, handle, os.DirFS(filepath.Join(checkout, "migrations", folder)))
	if err != nil {
		return err
	}
	_, err = provider.Up(ctx)
	return err
}

// verbs are calls by SQL of the installed operations. Missing arguments are NULL, so that they fit any version.
func (p *place) verbs(ctx context.Context, raw executor) ([]contender, error) {
	handle, counts := raw.handle(), map[string]int{}
	for _, routine := range []string{"get_appl_lock_row", "release_appl_lock_row"} {
		schema := "DATABASE()"
		if p.product == productPostgres {
			schema = "'applock'"
		}
		count, err := raw.count(ctx, "SELECT 1 FROM information_schema.parameters AS p JOIN information_schema.routines AS r"+
			" ON r.routine_schema = p.specific_schema AND r.specific_name = p.specific_name"+
			" WHERE p.parameter_mode = 'IN' AND r.routine_name = '"+routine+"' AND r.routine_schema = "+schema)
		if err != nil {
			return nil, err
		}
		counts[routine] = count
	}
	answer := func(ctx context.Context, want, routine string, given ...any) error {
		arguments := slices.Concat(given, make([]any, max(0, counts[routine]-len(given))))
		marks := make([]string, len(arguments))
		for i := range marks {
			marks[i] = "?"
			if p.product == productPostgres {
				marks[i] = "$" + strconv.Itoa(i+1)
			}
		}
		query := "CALL " + routine + "(" + strings.Join(marks, ", ") + ")"
		if p.product == productPostgres {
			query = "SELECT * FROM applock." + routine + "(" + strings.Join(marks, ", ") + ")"
		}
		return wantFlag(ctx, handle, query, arguments, want)
	}
	get := func(ctx context.Context, want string, goroutine int, operator string) error {
		return answer(ctx, want, "get_appl_lock_row", "against", strconv.Itoa(goroutine), operator, nil, 3600)
	}
	for goroutine := range manyConnections {
		if err := get(ctx, "Y", goroutine, jdoe); err != nil {
			return nil, err
		}
	}
	return []contender{
		{name: "a refused get", once: func(ctx context.Context, goroutine int) error { return get(ctx, "N", goroutine, asmith) }},
		{name: "a get that renews", once: func(ctx context.Context, goroutine int) error { return get(ctx, "Y", goroutine, jdoe) }},
		{name: "get and release", once: func(ctx context.Context, goroutine int) error {
			object := manyConnections + goroutine
			if err := get(ctx, "Y", object, jdoe); err != nil {
				return err
			}
			return answer(ctx, "Y", "release_appl_lock_row", "against", strconv.Itoa(object), jdoe)
		}},
	}, nil
}

// wantFlag requires that the first column is this flag.
func wantFlag(ctx context.Context, handle *sql.DB, query string, arguments []any, want string) error {
	rows, err := handle.QueryContext(ctx, query, arguments...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }() // Err returns the error
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	for rows.Next() {
		values := make([]any, len(columns))
		for i := range values {
			values[i] = new(any)
		}
		if err := rows.Scan(values...); err != nil {
			return err
		}
		got := fmt.Sprintf("%s", *values[0].(*any))
		if got != want {
			return fmt.Errorf("answered %s, want %s", got, want)
		}
	}
	return rows.Err()
}
