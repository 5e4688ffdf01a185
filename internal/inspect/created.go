package inspect

import (
	"cmp"
	"maps"
	"regexp"
	"strings"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/migrate"
)

// Created is a table, view or routine that the steps create.
type Created struct {
	// Kind is table, view, procedure or function.
	Kind string
	Name string
	// Roles are the roles with a right to it.
	Roles []string
	// What is its comment, from the database or from the documentation. It is for people.
	What string
}

var (
	creates = regexp.MustCompile(`(?m)^CREATE (?:OR REPLACE )?(?:ALGORITHM = \w+ )?(?:SQL SECURITY DEFINER )?` +
		`(?:UNLOGGED )?(TABLE|VIEW|FUNCTION|PROCEDURE) (?:IF NOT EXISTS )?(?:\w+\.)?(\w+)`)
	// inside matches the comment in a CREATE statement, behind one in a statement of its own.
	inside = regexp.MustCompile(`(?m)^COMMENT (?:= )?'((?:[^']|'')*)'`)
	behind = regexp.MustCompile(`(?s)COMMENT ON (?:SPECIFIC )?(?:TABLE|VIEW|FUNCTION|PROCEDURE) (?:\w+\.)?(\w+)[^;']*? IS\s+'((?:[^']|'')*)'`)
)

// WhatIsCreated lists what a script of installation creates, in its order, for a DBA who signs it off. The reference is PostgreSQL's script, which
// comments each table.
func WhatIsCreated(script, reference string) []Created {
	comments := commentsOn(reference)
	comments[migrate.VersionTable] = "The steps that are applied, as goose notes them."
	for _, view := range db.Views() {
		comments[view.Name] = view.Summary
	}
	maps.Copy(comments, commentsOn(script))
	found := creates.FindAllStringSubmatchIndex(script, -1)
	var created []Created
	for i, match := range found {
		end := len(script)
		if i+1 < len(found) {
			end = found[i+1][0]
		}
		name, what := script[match[4]:match[5]], ""
		if comment := inside.FindStringSubmatch(script[match[0]:end]); comment != nil {
			what = unquoted(comment[1])
		}
		what, _, _ = strings.Cut(cmp.Or(what, comments[name]), ". ") // the first sentence says its purpose
		created = append(created, Created{
			Kind: strings.ToLower(script[match[2]:match[3]]), Name: name, Roles: rolesWith(name), What: strings.TrimSuffix(what, "."),
		})
	}
	return created
}

func rolesWith(name string) []string {
	var names []string
	for _, role := range db.RolesWith(name) {
		names = append(names, string(role))
	}
	return names
}

// commentsOn returns the comments that separate statements set.
func commentsOn(script string) map[string]string {
	comments := map[string]string{}
	for _, match := range behind.FindAllStringSubmatch(script, -1) {
		comments[match[1]] = unquoted(match[2])
	}
	return comments
}

func unquoted(text string) string { return strings.ReplaceAll(text, "''", "'") }
