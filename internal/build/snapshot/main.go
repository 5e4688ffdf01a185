// Command snapshot writes procedures/ into the newest procedures migration of each server dialect, so that plain goose installs everything.
// Run it with `make snapshot` after editing procedures/. The package's test fails while a migration and its source differ.
//
// The newest migration is the file NNNNN_procedures.sql with the highest number. It holds the difference to the released migrations before
// it. To begin another one, create an empty file with that name in migrations/<dialect> for every server dialect, and run the command.
package main

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/applock/applock/internal/build/render"
	"github.com/applock/applock/migrations"
)

// frames has the beginning and the end of each dialect's migrations of procedures.
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

const (
	mysqlFolder    = "mysql"
	postgresFolder = "postgres"
)

// serverDialects are the folders of procedures/, and of migrations/.
func serverDialects() []string { return []string{"db2", mysqlFolder, postgresFolder} }

// procedureMigrations returns the file names of the dialect's migrations of procedures in order. All but the last are released and never
// change again: testdata/released.sha256 has their checksums.
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

// renderNewest returns the newest migration of procedures, made from its sources.
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
	return migration(dialect, sources, released)
}

func sourcesOf(dialect string) ([]string, error) {
	names, err := render.Names(dialect)
	if err != nil {
		return nil, err
	}
	var texts []string
	for _, name := range names {
		text, err := render.File(name)
		if err != nil {
			return nil, err
		}
		texts = append(texts, text)
	}
	return texts, nil
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

// migration returns the migration from the procedures of the released migrations to those of the sources.
func migration(dialect string, sources, released []string) (string, error) {
	before, err := frames.ReadFile(dialect + "/before.sql")
	if err != nil {
		return "", err
	}
	after, err := frames.ReadFile(dialect + "/after.sql")
	if err != nil {
		return "", err
	}
	steps, err := stepsOf(dialect, sources, released)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf(
		"-- Installs the procedures. Made by `make snapshot` from procedures/%s: edit them there.\n\n"+
			"-- +goose Up\n%s\n-- +goose Down\n%s",
		dialect,
		paragraphs(string(before), steps.up.String(), string(after)),
		paragraphs(string(before), steps.down.String(), string(after)),
	), nil
}

// paragraphs returns the texts that are not empty, with a blank line between them.
func paragraphs(texts ...string) string {
	var result []string
	for _, text := range texts {
		if text = strings.TrimSpace(text); text != "" {
			result = append(result, text)
		}
	}
	return strings.Join(result, "\n\n") + "\n"
}
