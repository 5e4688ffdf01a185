package mysql

import (
	"context"
	"regexp"
	"strings"

	"github.com/applock/applock/internal/migrate"
)

// inspectViews compares the existing views: the text, the definer, and whether the definer exists.
func (is present) inspectViews(views []*migrate.RoutineText) []migrate.Finding {
	var findings []migrate.Finding
	for _, view := range views {
		found, exists := is.views[view.Name]
		if !exists {
			continue // inspectInstalled has reported it
		}
		part, problem := migrate.PartViews, ""
		switch {
		case !is.alive[found.definer]:
			part, problem = migrate.PartOwners, found.gone()
		case found.security != "DEFINER":
			problem = "has the rights of its reader"
		case found.text.String != "" && viewWords(found.text.String) != viewWords(view.Definition()):
			problem = "has another text than this program installs"
		}
		if problem != "" {
			findings = append(findings, migrate.Finding{Part: part, Name: "view " + view.Name, Problem: problem, Mend: createView(view)})
		}
	}
	return findings
}

// viewOwner returns the definer of a view; empty if this user may not see it.
func (s site) viewOwner(ctx context.Context, client migrate.Client, view string) (string, error) {
	views, err := s.installed(ctx, client, viewsQuery)
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
	text = viewTable.ReplaceAllString(text, "$1 $2$3") // the name of a table or of a subquery, without AS
	return viewNoise.ReplaceAllString(viewAlias.ReplaceAllString(text, ""), "")
}

// createView returns the statement that makes a view anew; its grants stay.
func createView(view *migrate.RoutineText) []string {
	return []string{strings.Replace(strings.TrimSuffix(strings.TrimSpace(view.Definition()), ";"), "CREATE ", "CREATE OR REPLACE ", 1)}
}
