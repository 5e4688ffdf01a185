package db

import "slices"

// Role is a set of operations and views that are granted together.
type Role string

// The roles. Each may call appl_lock_version.
const (
	// Operator locks, reads and releases.
	Operator Role = "operator"
	// Supervisor can also transfer and take locks.
	Supervisor Role = "supervisor"
	// Auditor only reads.
	Auditor Role = "auditor"
	// Janitor purges, and sees how much there is to purge.
	Janitor Role = "janitor"
	// Administrator sets the policies.
	Administrator Role = "administrator"
)

// Roles returns all roles, in the order of the documentation.
func Roles() []Role { return []Role{Operator, Supervisor, Auditor, Janitor, Administrator} }

// May reports whether a role has the right to an operation.
func (r Role) May(operation Operation) bool {
	switch operation.Name {
	case "appl_lock_version":
		return true
	case "inquire_appl_lock":
		return r != Janitor && r != Administrator
	case "set_appl_lock_policy", "drop_appl_lock_policy", "purge_appl_lock_history":
		return r == Administrator
	case "transfer_appl_lock", "take_appl_lock", "transfer_appl_locks":
		return r == Supervisor
	case "purge_appl_locks":
		return r == Janitor
	default:
		return r == Operator || r == Supervisor
	}
}

// MaySee reports whether a role has the right to SELECT from a view.
func (r Role) MaySee(view View) bool {
	switch view.Name {
	case "appl_lock_history", "appl_lock_policies":
		return r != Janitor
	case "appl_lock_stats":
		return r != Operator && r != Administrator // the view reads whole tables
	default:
		return r != Janitor && r != Administrator
	}
}

// Anchor returns the operation or view by which a grantee counts as one of the role, so that a grant gives him the rest of it. Operators
// have the auditor's anchor, too, so it marks an auditor only where no other anchor is granted.
func (r Role) Anchor() string {
	return map[Role]string{
		Operator:      "get_appl_lock",
		Supervisor:    "transfer_appl_lock",
		Auditor:       "appl_lock_live",
		Janitor:       "purge_appl_locks",
		Administrator: "set_appl_lock_policy",
	}[r]
}

// Allowed returns the operations of a role, in the order of the contract.
func (r Role) Allowed() []Operation {
	var allowed []Operation
	for _, operation := range Contract() {
		if r.May(operation) {
			allowed = append(allowed, operation)
		}
	}
	return allowed
}

// Visible returns the views of a role, in the order of the contract.
func (r Role) Visible() []View {
	var visible []View
	for _, view := range Views() {
		if r.MaySee(view) {
			visible = append(visible, view)
		}
	}
	return visible
}

// RoleWith returns the role with the fewest rights that has the one to an operation, to one of its forms, or to a view; empty for other names.
func RoleWith(name string) Role {
	roles := RolesWith(name)
	for _, role := range []Role{Auditor, Operator, Janitor, Administrator, Supervisor} {
		if slices.Contains(roles, role) {
			return role
		}
	}
	return ""
}

// RolesWith returns all roles with that right, in the order of the documentation.
func RolesWith(name string) []Role {
	var roles []Role
	for _, role := range Roles() {
		isForm := func(o Operation) bool { return o.Has(name) }
		isNamed := func(v View) bool { return name == v.Name }
		if slices.ContainsFunc(role.Allowed(), isForm) || slices.ContainsFunc(role.Visible(), isNamed) {
			roles = append(roles, role)
		}
	}
	return roles
}
