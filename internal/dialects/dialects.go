// Package dialects lists what each dialect brings for installing and inspecting: its migrations, scripts, grants and guards.
package dialects

import (
	"context"
	"errors"
	"io/fs"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/migrate"
	"github.com/applock/applock/internal/migrate/db2"
	"github.com/applock/applock/internal/migrate/mysql"
	"github.com/applock/applock/internal/migrate/postgres"
	"github.com/applock/applock/internal/migrate/sqlite"
)

// Dialect is a dialect's part of migrating.
type Dialect struct {
	Name string
	// Alias is another common name.
	Alias         string
	DefaultSchema string
	// OneSchema is true if a database has one schema, without a name.
	OneSchema  bool
	Migrations func() fs.FS
	Target     func(db.Handle) (migrate.Target, error)
	// Rights describes the rights that migrating needs.
	Rights string
	// Granter describes the account that may grant; empty if the owner may.
	Granter string
	Script  ScriptFor
	// Grants returns the statements that give a role's rights; nil if the dialect has no grants.
	Grants func(schema string, role db.Role, to string) ([]string, error)
	// Revokes returns the statements that revoke the given rights; nil if the dialect cannot list rights.
	Revokes func(schema, from string, rights []migrate.Right) []string
	// Guards creates triggers; nil if the dialect has none.
	Guards *Guards
	// Platforms has the scripts of a dialect whose platforms differ.
	Platforms map[string]ScriptFor
}

// CheckSchema returns what is wrong with the name of a schema, or nil.
func (d Dialect) CheckSchema(name string) error {
	if d.OneSchema {
		return db.ErrNoSchemas
	}
	return db.CheckSchema(name)
}

// ScriptFor returns the SQL for a schema and a way.
type ScriptFor func(schema string, way migrate.Way) (string, error)

// Guards creates a dialect's triggers.
type Guards struct {
	Names    func() migrate.Names
	Up, Down func(migrate.Guard) (string, error)
}

// All returns the dialects.
func All() []Dialect {
	return []Dialect{
		{
			Name: "postgres", Alias: "postgresql", DefaultSchema: db.DefaultSchema,
			Migrations: postgres.Migrations, Target: postgres.Target, Script: postgres.Script, Grants: postgres.Grants, Revokes: postgres.Revokes,
			Guards: &Guards{Names: postgres.Names, Up: postgres.Guard, Down: postgres.Unguard},
			Rights: "the account that migrates owns what it has installed, and needs CREATE on the database to install",
		},
		{
			Name: "mysql", Alias: "mariadb",
			Migrations: mysql.Migrations, Target: mysql.Target, Script: mysql.Script, Grants: mysql.Grants, Revokes: mysql.Revokes,
			Guards: &Guards{Names: mysql.Names, Up: mysql.Guard, Down: mysql.Unguard},
			Rights: "do this as the account that migrates, which needs SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, CREATE VIEW, SHOW VIEW," +
				" CREATE ROUTINE, ALTER ROUTINE and EXECUTE on the database, and INDEX to repair an index",
			Granter: "the account that grants needs GRANT OPTION, as administrators have; the account that migrates does not",
		},
		{
			Name: "db2", DefaultSchema: db.DefaultSchema,
			Migrations: db2.Migrations, Target: db2.Target, Script: db2.Script, Grants: db2.Grants,
			Platforms: map[string]ScriptFor{"luw": db2.Script, "zos": db2.ScriptZOS},
			Rights: "the account that migrates owns what it has installed, and must be able to create tables on the database" +
				" and routines in the schema to install",
		},
		{
			Name: "sqlite", OneSchema: true, Migrations: sqlite.Migrations, Target: sqlite.Target, Script: sqlite.Script,
			Rights: "the account that migrates must be able to write the file and its directory",
		},
	}
}

// Named returns the dialect of a name or an alias, and whether there is one.
func Named(name string) (Dialect, bool) {
	for _, dialect := range All() {
		if name == dialect.Name || name != "" && name == dialect.Alias {
			return dialect, true
		}
	}
	return Dialect{}, false
}

// OnTarget runs a command on a driver's database, opened as for a migration. It returns the errors as they come.
func OnTarget(ctx context.Context, driver db.Driver, command func(Dialect, migrate.Target) error) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	handle, err := driver.Handle()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, handle.Close()) }()
	dialect, known := Named(handle.Dialect)
	if !known {
		return errors.ErrUnsupported
	}
	target, err := dialect.Target(handle)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, target.Close()) }()
	return command(dialect, target)
}
