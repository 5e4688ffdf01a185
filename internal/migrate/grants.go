package migrate

import (
	"context"
	"slices"

	"github.com/applock/applock/internal/db"
)

// Routine is one form of an operation, as the unit of a grant.
type Routine struct {
	Operation db.Operation
	Name      string
}

// Routines returns the routines of a role: both forms of each of its operations.
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

// Right is a grantee's right to call a routine or to read a view, as in the catalogue.
type Right struct{ Grantee, Name string }

// IsView reports whether the contract has a view of that name.
func IsView(name string) bool {
	return slices.ContainsFunc(db.Views(), func(view db.View) bool { return view.Name == name })
}

// Lack is the missing part of a grantee's role.
type Lack struct {
	Grantee string
	Role    db.Role
	// Operations are the operations without a right to either form, single missing forms of a grantee that has both of others, and the
	// views.
	Operations []string
}

// Lacks returns the grantees with an incomplete role, in their order. One form of an operation suffices, unless the grantee has both forms
// of another: on MySQL and MariaDB a recreated procedure has lost its grants.
func Lacks(rights []Right) []Lack {
	return slices.DeleteFunc(held(rights), func(role Lack) bool { return role.Operations == nil })
}

// held returns the roles of all grantees, in their order, with what is missing of each.
func held(rights []Right) []Lack {
	granted := map[string][]string{}
	var grantees []string
	for _, right := range rights {
		if granted[right.Grantee] == nil {
			grantees = append(grantees, right.Grantee)
		}
		granted[right.Grantee] = append(granted[right.Grantee], right.Name)
	}
	slices.Sort(grantees)
	var held []Lack
	for _, grantee := range grantees {
		for _, role := range rolesOf(granted[grantee]) {
			held = append(held, Lack{Grantee: grantee, Role: role, Operations: missing(role, granted[grantee])})
		}
	}
	return held
}

// Lost returns the roles that grantees had and have no more, or only in part.
func Lost(before, after []Right) []Lack {
	has := held(after)
	return slices.DeleteFunc(held(before), func(was Lack) bool {
		return slices.ContainsFunc(has, func(is Lack) bool {
			return is.Grantee == was.Grantee && is.Role == was.Role && (is.Operations == nil || was.Operations != nil)
		})
	})
}

// rolesOf infers the roles of a grantee from its routines. A supervisor does not count as an operator as well, and neither of them as an
// auditor.
func rolesOf(routines []string) []db.Role {
	has := func(role db.Role) bool {
		return slices.ContainsFunc(routines, func(name string) bool { return name == role.Anchor() || name == role.Anchor()+"_row" })
	}
	var roles []db.Role
	if !has(db.Operator) && !has(db.Supervisor) && seesAsOperator(routines) {
		roles = append(roles, db.Operator)
	}
	for _, role := range []db.Role{db.Supervisor, db.Operator, db.Auditor} {
		if has(role) && len(roles) == 0 {
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

// seesAsOperator reports whether a grantee has the views of an operator, and not the one more of an auditor, nor an auditor's calls alone. On
// MySQL and MariaDB the views keep their grants when procedures are dropped.
func seesAsOperator(names []string) bool {
	var calls, auditors []string
	for _, name := range names {
		if !IsView(name) {
			calls = append(calls, name)
		}
	}
	for _, routine := range Routines(db.Auditor) {
		auditors = append(auditors, routine.Name)
	}
	callsAsAuditor := len(calls) > 0 && !slices.ContainsFunc(calls, func(name string) bool { return !slices.Contains(auditors, name) })
	return !callsAsAuditor && !slices.ContainsFunc(db.Views(), func(view db.View) bool {
		return slices.Contains(names, view.Name) != db.Operator.MaySee(view)
	})
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

// ReadRights returns the grantees and names that a query returns for a schema.
func ReadRights(ctx context.Context, handle db.Handle, query string) ([]Right, error) {
	rights, err := Read(ctx, handle.DB, func(r *Right) []any { return []any{&r.Grantee, &r.Name} }, query, handle.Schema)
	return rights, handle.Interpret(ctx, err)
}
