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

// Way is where a script leads: from the version that a database has to the one that it shall have.
type Way struct {
	From, To int64
}

// down reports whether the way undoes migrations.
func (w Way) down() bool { return w.To < w.From }

// AppliedAlready is what a script says of a version that is greater than where it begins.
func AppliedAlready(version string) string {
	return "applock: step " + version + " is applied already (migrate print --from " + version + ")"
}

// NotApplied is what a script says where it begins with a version that is not there yet.
func (w Way) NotApplied(version string) string {
	return fmt.Sprintf("applock: step %d is not applied (migrate print --from %s)", w.From, version)
}

// Script returns the migrations of a dialect on a way as plain SQL that also keeps goose's version table, so
// that a database migrated by hand and one migrated by goose are the same. The frame says how statements end. A script
// that does not begin where the database is ends at its guard.
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

// file is a migration's.
type file struct {
	name    string
	version int64
}

// files returns the migrations in order.
func files(migrations fs.FS) ([]file, error) {
	names, err := fs.Glob(migrations, "*.sql") // in the order of their numbers, which have five digits
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

// steps returns the migrations on the way, in the order in which it meets them.
func (w Way) steps(files []file) []file {
	low, high := min(w.From, w.To), max(w.From, w.To)
	steps := slices.DeleteFunc(slices.Clone(files), func(f file) bool { return f.version <= low || f.version > high })
	if w.down() {
		slices.Reverse(steps)
	}
	return steps
}

// Known returns the versions of the migrations, and 0, which is none.
func Known(migrations fs.FS) ([]int64, error) {
	files, err := files(migrations)
	known := []int64{0}
	for _, file := range files {
		known = append(known, file.version)
	}
	return known, err
}

// Frame is how a dialect's client tells where a statement ends.
type Frame struct {
	// Begin and End stand around a statement that has semicolons of its own.
	Begin, End string
	// Statement ends each of the others; empty is ";".
	Statement string
	// True is how the dialect writes true; empty is "true".
	True string
	// First comes before the version table of a new database. It is for dialects that cannot create a table unless it is
	// there: the others are stopped by the guard.
	First string
	// Guard ends the script unless the database has the version where it begins.
	Guard string
}

const (
	upAnnotation    = "-- +goose Up\n"
	downAnnotation  = "-- +goose Down\n"
	beginAnnotation = "-- +goose StatementBegin\n"
	endAnnotation   = "-- +goose StatementEnd\n"
)

// plain returns a part of a migration with the frame instead of goose's annotations.
func (f Frame) plain(part string) string {
	return strings.TrimSpace(strings.NewReplacer(beginAnnotation, f.Begin, endAnnotation, f.End).Replace(part))
}

// recorder stands in for a connection and writes the statements that goose's store would run, so that
// its version table is not described a second time here.
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
	text = strings.TrimSuffix(text, ";")
	if r.again {
		text = strings.Replace(text, "CREATE TABLE ", "CREATE TABLE IF NOT EXISTS ", 1)
		text = firstRow.ReplaceAllString(text,
			"INSERT INTO $1 $2 SELECT $3 FROM (SELECT 1 AS one) AS once WHERE NOT EXISTS (SELECT 1 FROM $1)")
	}
	fmt.Fprintf(r.out, "%s%s\n", text, r.end)
	return nil, nil
}
