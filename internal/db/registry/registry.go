// Package registry is the one list of dialects. Everything that depends on the dialect is reached
// through it or through the driver; there is no other switch.
package registry

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/db2"
	"github.com/applock/applock/internal/db/mysql"
	"github.com/applock/applock/internal/db/postgres"
	"github.com/applock/applock/internal/db/sqlite"
)

// Dialect is what is to know about a dialect before a connection exists.
type Dialect struct {
	// Name is the dialect's name, also that of its folders.
	Name string
	// Schemes are the words before the colon of its DSNs.
	Schemes []string
	// Recognizes tells its DSNs without a scheme, nil where there are none.
	Recognizes func(dsn string) bool
	// DefaultSchema is where the migrations install, empty where that is the database of the DSN.
	DefaultSchema string
	// Embedded is true when the database is a file of the caller's, which may be created and
	// migrated without asking.
	Embedded bool
	// Open returns a driver for a DSN. It does not connect.
	Open func(ctx context.Context, dsn string) (db.Driver, error)
	// Migrations returns the dialect's goose migrations.
	Migrations func() (fs.FS, error)
	// Script returns all migrations as SQL for the dialect's own client, for a schema.
	Script Script
	// Platforms has the scripts of a dialect that differs from platform to platform, by name.
	Platforms map[string]Script
}

// Script returns SQL that installs into a schema.
type Script func(schema string) (string, error)

// ScriptFor returns the script for a platform, for the usual one when the name is empty.
func (d Dialect) ScriptFor(platform string) (Script, error) {
	if platform == "" {
		return d.Script, nil
	}
	if script, known := d.Platforms[platform]; known {
		return script, nil
	}
	if len(d.Platforms) == 0 {
		return nil, fmt.Errorf("is not for %s, which is the same on all", d.Name)
	}
	return nil, fmt.Errorf("must be one of %s", strings.Join(slices.Sorted(maps.Keys(d.Platforms)), ", "))
}

// Dialects returns all dialects, the reference first.
func Dialects() []Dialect {
	return []Dialect{
		{
			Name:          "postgres",
			Schemes:       []string{"postgres", "postgresql"},
			DefaultSchema: postgres.DefaultSchema,
			Open:          postgres.Open,
			Migrations:    postgres.Migrations,
			Script:        postgres.Script,
		},
		{
			Name:       "mysql",
			Schemes:    mysql.Schemes(),
			Recognizes: mysql.Recognizes,
			Open:       mysql.Open,
			Migrations: mysql.Migrations,
			Script:     mysql.Script,
		},
		{
			Name:          "db2",
			Schemes:       []string{"db2"},
			DefaultSchema: db2.DefaultSchema,
			Open:          db2.Open,
			Migrations:    db2.Migrations,
			Script:        db2.Script,
			Platforms:     map[string]Script{"luw": db2.Script, "zos": db2.ScriptZOS},
		},
		{
			Name:       "sqlite",
			Schemes:    []string{"sqlite"},
			Embedded:   true,
			Open:       sqlite.Open,
			Migrations: sqlite.Migrations,
			Script:     sqlite.Script,
		},
	}
}

// ByDSN returns the dialect that a DSN's scheme names. The error does not repeat the DSN, which may
// hold a password.
func ByDSN(dsn string) (Dialect, error) {
	scheme, _, found := strings.Cut(dsn, ":")
	if found {
		for _, dialect := range Dialects() {
			if slices.Contains(dialect.Schemes, scheme) {
				return dialect, nil
			}
		}
	}
	for _, dialect := range Dialects() {
		if dialect.Recognizes != nil && dialect.Recognizes(dsn) {
			return dialect, nil
		}
	}
	return Dialect{}, fmt.Errorf("must begin with %s", strings.Join(schemes(), ", "))
}

// ByName returns the dialect of that name.
func ByName(name string) (Dialect, error) {
	var names []string
	for _, dialect := range Dialects() {
		if dialect.Name == name {
			return dialect, nil
		}
		names = append(names, dialect.Name)
	}
	return Dialect{}, fmt.Errorf("must be one of %s", strings.Join(names, ", "))
}

func schemes() []string {
	var all []string
	for _, dialect := range Dialects() {
		for _, scheme := range dialect.Schemes {
			all = append(all, scheme+":")
		}
	}
	return all
}
