package migrate

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"regexp"
	"strings"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"
)

// Script returns all migrations of a dialect as plain SQL that also keeps goose's version table, so
// that a database migrated by hand and one migrated by goose are the same. The frame says how statements end.
func Script(versions database.Store, migrations fs.FS, frame Frame) (string, error) {
	var script strings.Builder
	recorder := &recorder{out: &script, end: cmp.Or(frame.Statement, ";"), yes: cmp.Or(frame.True, "true")}
	ctx := context.Background()
	if err := versions.CreateVersionTable(ctx, recorder); err != nil {
		return "", err
	}
	if err := versions.Insert(ctx, recorder, database.InsertRequest{Version: 0}); err != nil {
		return "", err
	}
	files, err := fs.Glob(migrations, "*.sql") // in the order of their numbers, which have five digits
	if err != nil {
		return "", err
	}
	for _, file := range files {
		version, err := goose.NumericComponent(file)
		if err != nil {
			return "", err
		}
		text, err := fs.ReadFile(migrations, file)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&script, "\n-- %s\n%s\n", file, frame.up(string(text)))
		if err := versions.Insert(ctx, recorder, database.InsertRequest{Version: version}); err != nil {
			return "", err
		}
	}
	return script.String(), nil
}

// Frame is how a dialect's client tells where a statement ends.
type Frame struct {
	// Begin and End stand around a statement that has semicolons of its own.
	Begin, End string
	// Statement ends each of the others; empty is ";".
	Statement string
	// True is how the dialect writes true; empty is "true".
	True string
}

const (
	upAnnotation    = "-- +goose Up\n"
	downAnnotation  = "-- +goose Down\n"
	beginAnnotation = "-- +goose StatementBegin\n"
	endAnnotation   = "-- +goose StatementEnd\n"
)

// up returns the Up part of a migration with the frame instead of goose's annotations.
func (f Frame) up(migration string) string {
	_, text, _ := strings.Cut(migration, upAnnotation)
	text, _, _ = strings.Cut(text, downAnnotation)
	return strings.TrimSpace(strings.NewReplacer(beginAnnotation, f.Begin, endAnnotation, f.End).Replace(text))
}

// recorder stands in for a connection and writes the statements that goose's store would run, so that
// its version table is not described a second time here.
type recorder struct {
	database.DBTxConn
	out *strings.Builder
	end string
	yes string
}

var placeholder = regexp.MustCompile(`\$\d|\?`)

// ExecContext writes the statement with its arguments in place.
func (r *recorder) ExecContext(_ context.Context, query string, args ...any) (sql.Result, error) {
	next := 0
	text := placeholder.ReplaceAllStringFunc(strings.TrimSpace(query), func(string) string {
		next++
		if args[next-1] == true { // goose's is_applied
			return r.yes
		}
		return fmt.Sprint(args[next-1])
	})
	fmt.Fprintf(r.out, "%s%s\n", strings.TrimSuffix(text, ";"), r.end)
	return nil, nil
}
