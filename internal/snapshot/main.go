// Command snapshot freezes procedures/ into the newest procedures migration of each server dialect, so
// that plain goose installs everything. Run it with `make snapshot` after editing procedures/; the
// package's test fails while a migration and its source differ.
package main

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/applock/applock/migrations"
	"github.com/applock/applock/procedures"
)

// frames has, for each dialect, what every migration of procedures begins and ends with.
//
//go:embed */before.sql */after.sql db2/zos/before.sql db2/zos/after.sql
var frames embed.FS

func main() {
	if err := run("migrations"); err != nil {
		fmt.Fprintln(os.Stderr, "snapshot:", err)
		os.Exit(1)
	}
}

func run(folder string) error {
	if err := writeZOS("procedures"); err != nil {
		return err
	}
	for _, dialect := range serverDialects() {
		files, err := procedureMigrations(dialect)
		if err != nil {
			return err
		}
		text, err := renderNewest(dialect)
		if err != nil {
			return err
		}
		file := filepath.Join(folder, files[len(files)-1])
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return err
		}
		fmt.Println(file)
	}
	return nil
}

// serverDialects are the folders of procedures/, and of migrations/.
func serverDialects() []string { return []string{"db2", zosFolder, "mysql", "postgres"} }

// procedureMigrations returns the file names of the dialect's migrations of procedures in order. All but the
// last are released and never change again.
func procedureMigrations(dialect string) ([]string, error) {
	files, err := fs.Glob(migrations.FS, dialect+"/*_procedures.sql")
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("migrations/%s has no file NNNNN_procedures.sql", dialect)
	}
	return files, nil
}

// renderNewest returns the newest migration of procedures as its sources give it.
func renderNewest(dialect string) (string, error) {
	files, err := procedureMigrations(dialect)
	if err != nil {
		return "", err
	}
	released, err := readAll(migrations.FS, files[:len(files)-1])
	if err != nil {
		return "", err
	}
	sources, err := sourcesOf(dialect)
	if err != nil {
		return "", err
	}
	return render(dialect, sources, released)
}

func sourcesOf(dialect string) ([]string, error) {
	if dialect == zosFolder {
		_, texts, err := zosSources()
		return texts, err
	}
	names, err := fs.Glob(procedures.FS, dialect+"/*.sql")
	if err != nil {
		return nil, err
	}
	return readAll(procedures.FS, names)
}

func readAll(fsys fs.ReadFileFS, names []string) ([]string, error) {
	var texts []string
	for _, name := range names {
		text, err := fsys.ReadFile(name)
		if err != nil {
			return nil, err
		}
		texts = append(texts, string(text))
	}
	return texts, nil
}

// render returns the migration that brings the procedures from what the released migrations have left to
// what the sources say.
func render(dialect string, sources, released []string) (string, error) {
	before, err := frames.ReadFile(dialect + "/before.sql")
	if err != nil {
		return "", err
	}
	after, err := frames.ReadFile(dialect + "/after.sql")
	if err != nil {
		return "", err
	}
	steps, err := stepsOf(sources, released)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf(
		"-- Installs the procedures. Made by `make snapshot` from procedures/%s: edit them there.\n\n"+
			"-- +goose Up\n%s\n%s%s\n-- +goose Down\n%s\n%s\n%s",
		dialect, before, steps.up.String(), after, before, steps.down.String(), after,
	), nil
}
