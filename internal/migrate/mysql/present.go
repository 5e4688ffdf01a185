package mysql

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/applock/applock/internal/migrate"
)

// installed is a procedure or view in the database.
type installed struct {
	name, definer, security, mode string
	// text is its CREATE in the server's words; invalid if the user may not see it, and of a procedure until it is read by itself.
	text sql.NullString
}

// gone is the problem of a procedure or view whose definer does not exist.
func (is installed) gone() string {
	return fmt.Sprintf("has the rights of %s, an account that does not exist", is.definer)
}

const (
	proceduresQuery = `SELECT routine_name, definer, security_type, NULL FROM information_schema.routines
		WHERE routine_type = 'PROCEDURE' AND routine_schema = COALESCE(NULLIF(?, ''), DATABASE())`
	viewsQuery = `SELECT table_name, definer, security_type, view_definition FROM information_schema.views
		WHERE table_schema = COALESCE(NULLIF(?, ''), DATABASE())`
)

// installed returns the procedures or views that a query finds, by their names.
func (s site) installed(ctx context.Context, client migrate.Client, query string) (map[string]installed, error) {
	fields := func(is *installed) []any { return []any{&is.name, &is.definer, &is.security, &is.text} }
	found, err := migrate.Read(ctx, client, fields, query, s.Schema)
	there := map[string]installed{}
	for _, is := range found {
		there[strings.ToLower(is.name)] = is
	}
	return there, err
}

// present is what a database has of an installation.
type present struct {
	procedures, views map[string]installed
	// grants are the statements that restore the grants of each procedure.
	grants map[string][]string
	// alive has the definers that exist.
	alive map[string]bool
	// mode is the sql_mode for creating the procedures.
	mode string
}

// definitions reads the procedures and views.
func (s site) definitions(ctx context.Context, client migrate.Client) (is present, err error) {
	if is.procedures, err = s.installed(ctx, client, proceduresQuery); err == nil {
		is.views, err = s.installed(ctx, client, viewsQuery)
	}
	return is, err
}

// lookAt reads what the database has of an installation.
func (s site) lookAt(ctx context.Context, client migrate.Client, want migrate.Installation) (is present, err error) {
	if is, err = s.definitions(ctx, client); err != nil {
		return is, err
	}
	if is.grants, err = s.grantsOnProcedures(ctx, client); err != nil {
		return is, err
	}
	is.alive = map[string]bool{}
	for account := range is.ownedBy(want) {
		if is.alive[account], err = s.isAlive(ctx, client, account); err != nil {
			return is, err
		}
	}
	for _, text := range want.Texts {
		if found := pinnedMode.FindStringSubmatch(text); found != nil {
			is.mode = found[1]
		}
	}
	return is, nil
}

// ownedBy returns the procedures and views of each account, the views first.
func (is present) ownedBy(want migrate.Installation) map[string][]*migrate.RoutineText {
	owned := map[string][]*migrate.RoutineText{}
	for _, text := range slices.Concat(want.Views, want.Routines) {
		account := cmp.Or(is.views[text.Name].definer, is.procedures[text.Name].definer)
		owned[account] = append(owned[account], text)
	}
	delete(owned, "") // of what is missing
	return owned
}

// owners returns the accounts that exist and own procedures or views.
func (is present) owners(want migrate.Installation) []string {
	isGone := func(account string) bool { return !is.alive[account] }
	return slices.DeleteFunc(slices.Sorted(maps.Keys(is.ownedBy(want))), isGone)
}
