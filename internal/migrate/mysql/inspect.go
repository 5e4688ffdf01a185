package mysql

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/migrate"
)

var (
	// pinnedMode matches the sql_mode for creating the procedures.
	pinnedMode = regexp.MustCompile(`(?m)^SET SESSION sql_mode = '(.*)';$`)
	// created matches the parameters in a CREATE of ours.
	created = regexp.MustCompile(`(?s)^CREATE PROCEDURE \w+(\(.*?\))\n(?:COMMENT|LANGUAGE|NOT|READS|MODIFIES|CONTAINS|SQL)`)
)

// inspect compares each procedure: its text without comments, which the client mariadb does not send; its sql_mode; its definer; and
// whether the definer exists, if that can be seen.
func (s site) inspect(ctx context.Context, client migrate.Client, want migrate.Installation) ([]migrate.Finding, error) {
	is, err := s.lookAt(ctx, client, want)
	if err != nil {
		return nil, err
	}
	findings, err := s.inspectTables(ctx, client, want.Tables, is.procedures)
	if err != nil {
		return nil, err
	}
	findings = append(findings, is.inspectViews(want.Views)...)
	for _, routine := range want.Routines {
		finding, err := s.inspectProcedure(ctx, client, routine, is)
		if err != nil {
			return nil, err
		}
		if finding.Problem != "" {
			findings = append(findings, finding)
		}
	}
	if findings, err = s.askForOwner(ctx, client, want, is, findings); err != nil {
		return nil, err
	}
	owners, err := s.inspectOwners(ctx, client, want, is)
	return append(findings, owners...), err
}

// inspectProcedure compares one procedure. It returns no problem if the procedure is right.
func (s site) inspectProcedure(
	ctx context.Context, client migrate.Client, routine *migrate.RoutineText, is present,
) (migrate.Finding, error) {
	grants := is.grants[routine.Name]
	finding := migrate.Finding{
		Part: migrate.PartRoutines, Name: "procedure " + routine.Name, Problem: "is missing",
		Mend: append(replacing(routine, is.mode, ""), grants...),
	}
	found, exists := is.procedures[routine.Name]
	if !exists {
		return finding, nil
	}
	// Grants come first: an account that may not grant them again fails before the procedure is dropped.
	finding.Mend = slices.Concat(grants, finding.Mend)
	row := client.QueryRowContext(ctx, "SHOW CREATE PROCEDURE "+s.Qualify(routine.Name))
	err := row.Scan(new(any), &found.mode, &found.text, new(any), new(any), new(any))
	finding.Part, finding.Problem = found.problem(routine.Definition(), is.mode, is.alive[found.definer])
	return finding, err
}

// inspectTables compares the indexes of the tables, and the rights to change them or to call anything, if they can be seen.
func (s site) inspectTables(
	ctx context.Context, client migrate.Client, tables []migrate.Table, routines map[string]installed,
) ([]migrate.Finding, error) {
	indexes, err := migrate.ReadNames(ctx, client, `
		SELECT DISTINCT CASE index_name WHEN 'PRIMARY' THEN CONCAT(table_name, '_pk') ELSE index_name END
		FROM information_schema.statistics
		WHERE table_schema = COALESCE(NULLIF(?, ''), DATABASE())`, s.Schema)
	if err != nil {
		return nil, err
	}
	findings := migrate.MissingIndexes(tables, indexes, s.Qualify)
	rights, err := s.inspectRights(ctx, client, migrate.TableNames(tables), routines)
	if s.isDenied(ctx, err) {
		return findings, nil
	}
	return append(findings, rights...), err
}

// parted splits an account of the catalogue into user and host. The last @ separates them, since a user may contain @.
func parted(account string) (user, host string) {
	at := strings.LastIndex(account, "@")
	return account[:max(at, 0)], account[at+1:]
}

// isDenied reports whether an error is a missing right of this user.
func (s site) isDenied(ctx context.Context, err error) bool {
	return db.KindOf(s.Interpret(ctx, err)) == db.KindPrivilege
}

// isAlive reports whether an account exists, as far as this user may know.
func (s site) isAlive(ctx context.Context, client migrate.Client, account string) (bool, error) {
	user, host := parted(account)
	exists, err := migrate.Value[bool](ctx, client,
		"SELECT CURRENT_USER() = ? OR EXISTS (SELECT 1 FROM mysql.user WHERE user = ? AND host = ?)", account, user, host)
	if s.isDenied(ctx, err) {
		return s.answersFor(ctx, client, account)
	}
	return exists, err
}

// answersFor calls a procedure that runs with the rights of an account: it fails if the account is gone. It returns true if the account has
// no such procedure.
func (s site) answersFor(ctx context.Context, client migrate.Client, account string) (bool, error) {
	definer, err := migrate.Value[string](ctx, client, `
		SELECT COALESCE(MAX(definer), '')
		FROM information_schema.routines
		WHERE routine_schema = COALESCE(NULLIF(?, ''), DATABASE()) AND routine_name = 'appl_lock_version'`, s.Schema)
	if err != nil || definer != account {
		return true, err
	}
	_, err = client.ExecContext(ctx, "CALL "+s.Qualify("appl_lock_version")+"()")
	return db.KindOf(s.Interpret(ctx, err)) != db.KindNoAccount, nil
}

// problem returns the deviation, or an empty text.
func (is installed) problem(source, mode string, alive bool) (migrate.Part, string) {
	switch {
	case !alive:
		return migrate.PartOwners, is.gone()
	case is.security != "DEFINER":
		return migrate.PartRoutines, "has the rights of its caller"
	case is.mode != mode:
		return migrate.PartRoutines, fmt.Sprintf("has the sql_mode %q", is.mode)
	case is.text.Valid && !same(is.text.String, source):
		return migrate.PartRoutines, "has another text than this program installs"
	}
	return "", ""
}

// same compares parameters and body. Servers differ in the order of the clauses between them.
func same(text, source string) bool {
	head, wantBody, isOurs := strings.Cut(source, "\nSQL SECURITY DEFINER\n")
	want := created.FindStringSubmatch(head)
	_, rest, found := strings.Cut(text, "`(")
	parameters, body := plain("("+rest), plain(rest)
	return found && isOurs && want != nil &&
		strings.HasPrefix(parameters, plain(want[1])) && strings.HasSuffix(body, plain("\n"+strings.TrimSuffix(wantBody, ";\n")))
}

// plain is a text without comments and empty lines, which some clients do not send.
func plain(text string) string {
	var lines strings.Builder
	for line := range strings.Lines(text) {
		if words := strings.TrimLeft(line, " \t"); words != "\n" && !strings.HasPrefix(words, "--") {
			lines.WriteString(line)
		}
	}
	return lines.String()
}

// replacing returns the statements that make a procedure anew, for another owner than who runs them unless that is empty. The unlock
// gives the session its sql_mode back.
func replacing(routine *migrate.RoutineText, mode, owner string) []string {
	return []string{
		"SET @applock_sql_mode = COALESCE(@applock_sql_mode, @@SESSION.sql_mode)",
		"SET SESSION sql_mode = '" + mode + "'",
		"DROP PROCEDURE IF EXISTS " + routine.Name,
		definedBy(owner, "PROCEDURE", routine.Definition()),
	}
}
