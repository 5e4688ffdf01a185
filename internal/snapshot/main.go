// Command snapshot freezes procedures/ into the newest procedures migration of each server dialect, so
// that plain goose installs everything. Run it with `make snapshot` after editing procedures/; the
// package's test fails while a migration and its source differ.
package main

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/applock/applock/migrations"
	"github.com/applock/applock/procedures"
)

// frames has, for each dialect, what every migration of procedures begins and ends with.
//
//go:embed */before.sql */after.sql
var frames embed.FS

func main() {
	if err := run("migrations"); err != nil {
		fmt.Fprintln(os.Stderr, "snapshot:", err)
		os.Exit(1)
	}
}

func run(folder string) error {
	dialects, err := serverDialects()
	if err != nil {
		return err
	}
	for _, dialect := range dialects {
		name, err := newest(dialect)
		if err != nil {
			return err
		}
		text, err := render(dialect)
		if err != nil {
			return err
		}
		file := filepath.Join(folder, dialect, name)
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return err
		}
		fmt.Println(file)
	}
	return nil
}

func serverDialects() ([]string, error) {
	entries, err := procedures.FS.ReadDir(".")
	var dialects []string
	for _, entry := range entries {
		dialects = append(dialects, entry.Name())
	}
	return dialects, err
}

// newest returns the file name of the dialect's last procedures migration. Older ones are released and
// never change again.
func newest(dialect string) (string, error) {
	files, err := fs.Glob(migrations.FS, dialect+"/*_procedures.sql")
	if err != nil {
		return "", err
	}
	if len(files) == 0 {
		return "", fmt.Errorf("migrations/%s has no file NNNNN_procedures.sql", dialect)
	}
	return path.Base(slices.Max(files)), nil
}

// render returns the migration that installs the dialect's procedures.
func render(dialect string) (string, error) {
	sources, err := fs.Glob(procedures.FS, dialect+"/*.sql")
	if err != nil {
		return "", err
	}
	before, err := frames.ReadFile(dialect + "/before.sql")
	if err != nil {
		return "", err
	}
	after, err := frames.ReadFile(dialect + "/after.sql")
	if err != nil {
		return "", err
	}
	var up, down strings.Builder
	for _, source := range sources {
		text, err := procedures.FS.ReadFile(source)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&up, "-- +goose StatementBegin\n%s-- +goose StatementEnd\n\n", text)
		for _, routine := range routines(string(text)) {
			fmt.Fprintf(&down, "DROP %s %s;\n", routine.kind, routine.name)
		}
	}
	return fmt.Sprintf(
		"-- Installs the procedures. Made by `make snapshot` from procedures/%s: edit them there.\n\n"+
			"-- +goose Up\n%s\n%s%s\n-- +goose Down\n%s\n%s\n%s",
		dialect, before, up.String(), after, before, down.String(), after,
	), nil
}

type routine struct {
	kind string
	name string
}

var createRoutine = regexp.MustCompile(`(?m)^CREATE OR REPLACE (FUNCTION|PROCEDURE) (\w+)`)

func routines(text string) []routine {
	var found []routine
	for _, match := range createRoutine.FindAllStringSubmatch(text, -1) {
		found = append(found, routine{kind: match[1], name: match[2]})
	}
	return found
}
