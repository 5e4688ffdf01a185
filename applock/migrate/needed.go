package migrate

import (
	"context"
	"errors"
	"regexp"
	"strings"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/clients"
	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/dialects"
	"github.com/applock/applock/internal/migrate"
)

// NeededGrant is what a call lacked that was refused with applock.ErrPrivilege.
type NeededGrant struct {
	// RoleGrant is the client's account, as GrantRequest has it, and the role with the fewest rights that may make the call.
	RoleGrant
	// Definer is the owner of the procedures if that account lacks the right itself, as after a restore on another server. Then no grant
	// to the client's account helps.
	Definer string
	// Reason is the database's own error.
	Reason error
}

// Needed returns what a refused call lacked. The operation is a verb such as get, transfer or list, or an operation's whole name. It returns
// false for other errors, for calls that no role has, and where the database does not tell the account, as SQLite, which has none.
func Needed(ctx context.Context, client *applock.Client, operation string, refusal error) (NeededGrant, bool) {
	var refused *db.Error
	if !errors.Is(refusal, applock.ErrPrivilege) || !errors.As(refusal, &refused) {
		return NeededGrant{}, false
	}
	needed := NeededGrant{RoleGrant: RoleGrant{To: accountOf(ctx, client), Role: string(roleFor(operation, refused.Error()))}, Reason: refused.Err}
	name, _, _ := strings.Cut(needed.To, "@")
	if denied := regexp.MustCompile(`denied to user '([^']*)'@'([^']*)'`).FindStringSubmatch(refused.Error()); denied != nil && denied[1] != name {
		needed.Definer = denied[1] + "@" + denied[2]
	}
	return needed, needed.To != "" && needed.Role != ""
}

// accountOf is the account of a client, without MySQL's host if that is any.
func accountOf(ctx context.Context, client *applock.Client) (account string) {
	err := dialects.OnTarget(ctx, clients.Driver(client), func(_ dialects.Dialect, target migrate.Target) error {
		return target.DB.QueryRowContext(ctx, "SELECT current_user").Scan(&account)
	})
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(account, "@%")
}

// roleFor looks for the routine or view in the database's error first. PostgreSQL's error about the schema names none.
func roleFor(operation, text string) db.Role {
	names := regexp.MustCompile(`\b\w*appl_lock_?\w*`).FindAllString(text, -1)
	if operation == "list" {
		names = append(names, "appl_lock_live")
	}
	for _, name := range append(names, operation, operation+"_appl_lock", operation+"_appl_locks", "appl_lock_"+operation) {
		if role := db.RoleWith(name); role != "" {
			return role
		}
	}
	return ""
}
