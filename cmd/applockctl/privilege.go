package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/migrate"
	"github.com/applock/applock/cmd/internal/secret"
)

// explainPrivilege adds the command that grants what an account may not do, or says that the owner of the procedures lacks a right. Only a
// command of a role has a grant; others keep their error.
func (a *app) explainPrivilege(ctx context.Context, operation string, s session, err error) error {
	verb, object, _ := strings.Cut(operation, " ")
	if slices.Contains([]string{"migrate", "grant", "revoke", "verify", "guard", "ping"}, verb) {
		return err
	}
	if verb == "policy" {
		verb += " " + object
	}
	verb = cmp.Or(map[string]string{ // of commands with a name of their own
		"run": "get", "watch": "list", "purge-history": "purge_appl_lock_history",
		"policy set": "set_appl_lock_policy", "policy drop": "drop_appl_lock_policy", "policy list": "policies",
	}[verb], verb)
	needed, isKnown := migrate.Needed(ctx, s.Client, verb, err)
	switch {
	case !isKnown:
		return err
	case needed.Definer != "":
		return fmt.Errorf("%s: %s, whose rights the procedures have, lacks one itself; an administrator sees which with: %s: %w",
			operation, needed.Definer, a.ownersCommand("migrate", "status"), needed.Reason)
	}
	return fmt.Errorf("%s: %w with: %s: %w",
		operation, applock.ErrPrivilege, a.ownersCommand("grant", "--to", secret.Quote(needed.To), "--as", needed.Role), needed.Reason)
}

// ownersCommand returns a command for another account than the one of --dsn.
func (a *app) ownersCommand(args ...string) string {
	other := *a
	other.dsnFlag = nil
	return other.commandLine(args...)
}
