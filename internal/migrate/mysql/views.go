package mysql

import (
	"context"
	"database/sql"
	"errors"
	"regexp"
	"strings"

	"github.com/pressly/goose/v3/database"

	"github.com/applock/applock/internal/migrate"
)

// inspectViews compares the existing views: the text, the definer, and whether the definer exists.
func (s site) inspectViews(
	ctx context.Context, client database.DBTxConn, views []*migrate.RoutineText, there map[string]installed, alive map[string]bool,
) ([]migrate.Finding, error) {
	var findings []migrate.Finding
	for _, view := range views {
		is, found := there[view.Name]
		if !found {
			continue // inspectInstalled has reported it
		}
		if err := s.ask(ctx, client, is.definer, alive); err != nil {
			return nil, err
		}
		part, problem := migrate.PartViews, ""
		switch {
		case !alive[is.definer]:
			part, problem = migrate.PartOwners, is.gone()
		case is.security != "DEFINER":
			problem = "has the rights of its reader"
		case is.text.String != "" && viewWords(is.text.String) != viewWords(view.Definition()):
			problem = "has another text than this program installs"
		}
		if problem != "" {
			findings = append(findings, migrate.Finding{Part: part, Name: "view " + view.Name, Problem: problem, Mend: createView(view)})
		}
	}
	return findings, nil
}

// views returns the views of the database. The text is empty if the user may not see it.
func (s site) views(ctx context.Context, client database.DBTxConn) (there map[string]installed, err error) {
	const query = `SELECT table_name, definer, security_type, view_definition FROM information_schema.views
		WHERE table_schema = COALESCE(NULLIF(?, ''), DATABASE())`
	rows, err := client.QueryContext(ctx, query, s.Schema)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	there = map[string]installed{}
	for rows.Next() {
		var name string
		var is struct {
			definer, security string
			text              sql.NullString
		}
		if err := rows.Scan(&name, &is.definer, &is.security, &is.text); err != nil {
			return nil, err
		}
		there[strings.ToLower(name)] = installed{definer: is.definer, security: is.security, text: is.text}
	}
	return there, rows.Err()
}

// viewOwner returns the definer of a view; empty if this user may not see it.
func (s site) viewOwner(ctx context.Context, client database.DBTxConn, view string) (string, error) {
	views, err := s.views(ctx, client)
	return views[view].definer, s.Interpret(ctx, err)
}

var (
	viewHead   = regexp.MustCompile(`(?s)^.*? view \w+ as\s`)
	viewTable  = regexp.MustCompile(`((?:from|join) \w+|\)) as (\w+)(\s|;|$)`)
	viewSchema = regexp.MustCompile(`\b\w+\.(appl_lock\w*)\b`)
	viewAlias  = regexp.MustCompile(` as \w+`)
	viewNoise  = regexp.MustCompile(`[\s();]`)
)

// viewWords reduces the text of a view to what no server changes: without parentheses, quotes, schema and column names.
func viewWords(text string) string {
	text = strings.ToLower(strings.ReplaceAll(plain(text), "`", ""))
	text = viewHead.ReplaceAllString(text, "")
	text = viewSchema.ReplaceAllString(text, "$1")
	text = strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "count(*)", "count(0)")
	text = strings.NewReplacer("div 1000000 as ", "div 1000000 as ").Replace(text)
	text = asTable(text)
	return viewNoise.ReplaceAllString(viewAlias.ReplaceAllString(text, ""), "")
}

// asTable writes the name of a table or of a subquery as the servers do, without AS. That of a column keeps it.
func asTable(text string) string {
	return viewTable.ReplaceAllStringFunc(text, func(found string) string {
		match := viewTable.FindStringSubmatch(found)
		return match[1] + " " + match[2] + match[3]
	})
}

// createView returns the statement that makes a view anew; its grants stay.
func createView(view *migrate.RoutineText) []string {
	return []string{strings.Replace(strings.TrimSuffix(strings.TrimSpace(view.Definition()), ";"), "CREATE ", "CREATE OR REPLACE ", 1)}
}
