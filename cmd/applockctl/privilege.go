package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/cmd/internal/secret"
	"github.com/applock/applock/internal/clients"
	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/dialects"
	"github.com/applock/applock/internal/migrate"
)

// explainPrivilege adds the command that grants what an account may not do, or says that the owner of the procedures lacks a right. Only a
// command of a role has a grant; others keep their error.
func (a *app) explainPrivilege(ctx context.Context, operation string, s session, err error) error {
	var refused *db.Error
	role := roleFor(operation, err.Error())
	account := accountOf(ctx, s)
	if role == "" || account == "" || !errors.As(err, &refused) {
		return err
	}
	name, _, _ := strings.Cut(account, "@")
	denied := regexp.MustCompile(`denied to user '([^']*)'@'([^']*)'`).FindStringSubmatch(err.Error())
	if denied != nil && denied[1] != name {
		return fmt.Errorf("%s: %s@%s, whose rights the procedures have, lacks one itself; an administrator sees which with: %s: %w",
			operation, denied[1], denied[2], a.ownersCommand("migrate", "status"), refused.Err)
	}
	return fmt.Errorf("%s: %w: %s: %w",
		operation, applock.ErrPrivilege, a.ownersCommand("grant", "--to", secret.Quote(account), "--as", string(role)), refused.Err)
}

// accountOf is the account of the session, as grant takes it; empty where the server does not tell.
func accountOf(ctx context.Context, s session) string {
	var account string
	err := dialects.OnTarget(ctx, clients.Driver(s.Client), func(_ dialects.Dialect, target migrate.Target) error {
		return target.DB.QueryRowContext(ctx, "SELECT current_user").Scan(&account)
	})
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(account, "@%")
}

// roleFor returns the role with the fewest rights that may do what a command does. PostgreSQL's error about the schema names no routine.
func roleFor(operation, text string) db.Role {
	verb, _, _ := strings.Cut(operation, " ")
	if slices.Contains([]string{"migrate", "grant", "revoke", "verify", "guard", "ping"}, verb) {
		return ""
	}
	names := regexp.MustCompile(`\b\w*appl_lock_?\w*`).FindAllString(text, -1)
	if verb == "list" {
		names = append(names, "appl_lock_live")
	}
	for _, name := range append(names, verb+"_appl_lock", verb+"_appl_locks", "appl_lock_"+verb) {
		if role := db.RoleWith(name); role != "" {
			return role
		}
	}
	return ""
}

// ownersCommand returns a command for another account than the one of --dsn.
func (a *app) ownersCommand(args ...string) string {
	other := *a
	other.dsnFlag = nil
	return other.commandLine(args...)
}
