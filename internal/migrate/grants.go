package migrate

import (
	"context"
	"slices"

	"github.com/applock/applock/internal/db"
)

// Routine is one form of an operation, as somebody is granted it.
type Routine struct {
	Operation db.Operation
	Name      string
}

// Routines returns what a role calls: both forms of each of its operations.
func Routines(role db.Role) []Routine {
	var routines []Routine
	for _, operation := range role.Allowed() {
		routines = append(routines, Routine{operation, operation.Name})
		if row := operation.RowForm(); row != operation.Name {
			routines = append(routines, Routine{operation, row})
		}
	}
	return routines
}

// Right is the right of a grantee to call a routine or to read a view, as a catalogue has it.
type Right struct{ Grantee, Name string }

// IsView reports whether a name is that of a view.
func IsView(name string) bool {
	return slices.ContainsFunc(db.Views(), func(view db.View) bool { return view.Name == name })
}

// Lack is what a grantee's role has and the grantee has not.
type Lack struct {
	Grantee string
	Role    db.Role
	// Operations are those that are there in no form, the forms that one lacks who has others in both, and the views.
	Operations []string
}

// Lacks returns who has an incomplete role, in the order of the grantees. An operation is there in either of its forms, but
// for who has both of another: on MySQL and MariaDB a procedure that was made anew has lost its grants.
func Lacks(rights []Right) []Lack {
	granted := map[string][]string{}
	var grantees []string
	for _, right := range rights {
		if granted[right.Grantee] == nil {
			grantees = append(grantees, right.Grantee)
		}
		granted[right.Grantee] = append(granted[right.Grantee], right.Name)
	}
	slices.Sort(grantees)
	var lacks []Lack
	for _, grantee := range grantees {
		for _, role := range rolesOf(granted[grantee]) {
			if missing := missing(role, granted[grantee]); missing != nil {
				lacks = append(lacks, Lack{Grantee: grantee, Role: role, Operations: missing})
			}
		}
	}
	return lacks
}

// rolesOf returns the roles that somebody with these routines is meant to have. A supervisor is no operator besides, nor
// is either an auditor.
func rolesOf(routines []string) []db.Role {
	has := func(role db.Role) bool {
		return slices.ContainsFunc(routines, func(name string) bool { return name == role.Anchor() || name == role.Anchor()+"_row" })
	}
	var roles []db.Role
	for _, role := range []db.Role{db.Supervisor, db.Operator, db.Auditor} {
		if has(role) {
			roles = append(roles, role)
			break
		}
	}
	for _, role := range []db.Role{db.Janitor, db.Administrator} {
		if has(role) {
			roles = append(roles, role)
		}
	}
	return roles
}

func missing(role db.Role, routines []string) []string {
	var none, one []string
	both := false
	for _, operation := range role.Allowed() {
		name, row := operation.Name, operation.RowForm()
		hasName, hasRow := slices.Contains(routines, name), slices.Contains(routines, row)
		switch {
		case !hasName && !hasRow:
			none = append(none, name)
		case !hasName:
			one = append(one, name)
		case !hasRow:
			one = append(one, row)
		default:
			both = both || name != row
		}
	}
	if both {
		none = append(none, one...)
	}
	for _, view := range role.Visible() {
		if !slices.Contains(routines, view.Name) {
			none = append(none, view.Name)
		}
	}
	return none
}

// ReadRights returns what a query of grantees and names answers for a schema.
func ReadRights(ctx context.Context, handle db.Handle, query string) (rights []Right, err error) {
	rows, err := handle.DB.QueryContext(ctx, query, handle.Schema)
	if err != nil {
		return nil, handle.Interpret(ctx, err)
	}
	defer func() { _ = rows.Close() }() // what it would say, Err says
	for rows.Next() {
		var right Right
		if err := rows.Scan(&right.Grantee, &right.Name); err != nil {
			return nil, handle.Interpret(ctx, err)
		}
		rights = append(rights, right)
	}
	return rights, handle.Interpret(ctx, rows.Err())
}
