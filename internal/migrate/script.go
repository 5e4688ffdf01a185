package migrate

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"
)

// Way is the way of a script: from the version that a database has to the wanted one.
type Way struct {
	From, To int64
}

// down reports whether the way undoes migrations.
func (w Way) down() bool { return w.To < w.From }

// AppliedAlready is a script's message if the database has a newer version than the script's first.
func AppliedAlready(version string) string {
	return "applock: step " + version + " is applied already (migrate print --from " + version + ")"
}

// NotApplied is a script's message if the database lacks the version where it begins.
func (w Way) NotApplied(version string) string {
	return fmt.Sprintf("applock: step %d is not applied (migrate print --from %s)", w.From, version)
}

// Script returns the migrations on a way as plain SQL. It also writes goose's version table, so that it makes no difference whether goose
// or a DBA has migrated. The frame says how statements end. The guard stops a script on a database with another version than its first.
func Script(versions database.Store, migrations fs.FS, way Way, frame Frame) (string, error) {
	files, err := files(migrations)
	if err != nil {
		return "", err
	}
	var script strings.Builder
	recorder := &recorder{out: &script, end: cmp.Or(frame.Statement, ";"), yes: cmp.Or(frame.True, "true")}
	ctx := context.Background()
	if way.From == 0 {
		recorder.again = frame.Guard != ""
		script.WriteString(frame.First)
		if err := versions.CreateVersionTable(ctx, recorder); err != nil {
			return "", err
		}
	}
	script.WriteString(frame.Guard)
	if way.From == 0 {
		if err := versions.Insert(ctx, recorder, database.InsertRequest{Version: 0}); err != nil {
			return "", err
		}
		recorder.again = false
	}
	for _, file := range way.steps(files) {
		text, err := fs.ReadFile(migrations, file.name)
		if err != nil {
			return "", err
		}
		up, down, _ := strings.Cut(string(text), downAnnotation)
		if way.down() {
			fmt.Fprintf(&script, "\n-- %s, undone\n%s\n", file.name, frame.plain(down))
			err = versions.Delete(ctx, recorder, file.version)
		} else {
			_, up, _ = strings.Cut(up, upAnnotation)
			fmt.Fprintf(&script, "\n-- %s\n%s\n", file.name, frame.plain(up))
			err = versions.Insert(ctx, recorder, database.InsertRequest{Version: file.version})
		}
		if err != nil {
			return "", err
		}
	}
	if way.down() && way.To == 0 {
		fmt.Fprintf(&script, "\nDROP TABLE %s%s\n", versions.Tablename(), recorder.end)
	}
	return script.String(), nil
}

// file is the file of a migration.
type file struct {
	name    string
	version int64
}

// files returns the migrations in order.
func files(migrations fs.FS) ([]file, error) {
	names, err := fs.Glob(migrations, "*.sql") // sorted by number, since all have five digits
	if err != nil {
		return nil, err
	}
	var found []file
	for _, name := range names {
		version, err := goose.NumericComponent(name)
		if err != nil {
			return nil, err
		}
		found = append(found, file{name, version})
	}
	return found, nil
}

// steps returns the migrations on the way, in the order of execution.
func (w Way) steps(files []file) []file {
	low, high := min(w.From, w.To), max(w.From, w.To)
	steps := slices.DeleteFunc(slices.Clone(files), func(f file) bool { return f.version <= low || f.version > high })
	if w.down() {
		slices.Reverse(steps)
	}
	return steps
}

// Known returns the versions of the migrations, and 0 for none.
func Known(migrations fs.FS) ([]int64, error) {
	files, err := files(migrations)
	known := []int64{0}
	for _, file := range files {
		known = append(known, file.version)
	}
	return known, err
}

// Frame is the syntax by which a dialect's client finds the end of a statement.
type Frame struct {
	// Begin and End enclose a statement that contains semicolons.
	Begin, End string
	// Statement ends each other statement; empty is ";".
	Statement string
	// True is the dialect's word for true; empty is "true".
	True string
	// First precedes the version table of a new database. It is for dialects without a conditional CREATE TABLE. Elsewhere the guard stops
	// the script.
	First string
	// Guard stops the script unless the database has the version where it begins.
	Guard string
}

const (
	upAnnotation    = "-- +goose Up\n"
	downAnnotation  = "-- +goose Down\n"
	beginAnnotation = "-- +goose StatementBegin\n"
	endAnnotation   = "-- +goose StatementEnd\n"
)

// plain replaces goose's annotations in a part of a migration by the frame.
func (f Frame) plain(part string) string {
	return strings.TrimSpace(strings.NewReplacer(beginAnnotation, f.Begin, endAnnotation, f.End).Replace(part))
}

// recorder records the statements of goose's store instead of running them, so that its version table is described only once.
type recorder struct {
	database.DBTxConn
	out *strings.Builder
	end string
	yes string
	// again is true for statements that may have been run before.
	again bool
}

var (
	placeholder = regexp.MustCompile(`\$\d|\?`)
	firstRow    = regexp.MustCompile(`^INSERT INTO (\S+) (.*) VALUES \((.*)\)$`)
)

// ExecContext records the statement with its arguments inserted.
func (r *recorder) ExecContext(_ context.Context, query string, args ...any) (sql.Result, error) {
	next := 0
	text := placeholder.ReplaceAllStringFunc(strings.TrimSpace(query), func(string) string {
		next++
		if args[next-1] == true { // goose's is_applied
			return r.yes
		}
		return fmt.Sprint(args[next-1])
	})
	text = strings.TrimSuffix(text, ";")
	if r.again {
		text = strings.Replace(text, "CREATE TABLE ", "CREATE TABLE IF NOT EXISTS ", 1)
		text = firstRow.ReplaceAllString(text,
			"INSERT INTO $1 $2 SELECT $3 FROM (SELECT 1 AS one) AS once WHERE NOT EXISTS (SELECT 1 FROM $1)")
	}
	fmt.Fprintf(r.out, "%s%s\n", text, r.end)
	return nil, nil
}
