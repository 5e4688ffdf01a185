package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/pressly/goose/v3/database"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/migrate"
)

// installed is a procedure or view in the database.
type installed struct {
	definer, security, mode string
	// text is its CREATE in the server's words; invalid if the user may not see it.
	text sql.NullString
}

var (
	// pinnedMode matches the sql_mode for creating the procedures.
	pinnedMode = regexp.MustCompile(`(?m)^SET SESSION sql_mode = '(.*)';$`)
	// created matches the parameters in a CREATE of ours.
	created = regexp.MustCompile(`(?s)^CREATE PROCEDURE \w+(\(.*?\))\n(?:COMMENT|LANGUAGE|NOT|READS|MODIFIES|CONTAINS|SQL)`)
)

// inspect compares each procedure: its text without comments, which the client mariadb does not send; its sql_mode; its definer; and
// whether the definer exists, if that can be seen.
func (s site) inspect(ctx context.Context, client database.DBTxConn, want migrate.Installation) ([]migrate.Finding, error) {
	there, err := s.procedures(ctx, client)
	if err != nil {
		return nil, s.Interpret(ctx, err)
	}
	mode := ""
	for _, text := range want.Texts {
		if found := pinnedMode.FindStringSubmatch(text); found != nil {
			mode = found[1]
		}
	}
	findings, err := s.inspectTables(ctx, client, want.Tables, there)
	if err != nil {
		return nil, s.Interpret(ctx, err)
	}
	alive := map[string]bool{}
	views, err := s.views(ctx, client)
	if err != nil {
		return nil, s.Interpret(ctx, err)
	}
	damaged, err := s.inspectViews(ctx, client, want.Views, views, alive)
	if err != nil {
		return nil, s.Interpret(ctx, err)
	}
	findings = append(findings, damaged...)
	grants, err := s.grantsOnProcedures(ctx, client)
	if err != nil {
		return nil, s.Interpret(ctx, err)
	}
	for _, routine := range want.Routines {
		part, problem := migrate.PartRoutines, "is missing"
		mend := append(replacing(routine, mode, ""), grants[routine.Name]...)
		if is, found := there[routine.Name]; found {
			// Grants come first: an account that may not grant them again fails before the procedure is dropped.
			mend = slices.Concat(grants[routine.Name], mend)
			if err := s.read(ctx, client, routine.Name, &is); err != nil {
				return nil, s.Interpret(ctx, err)
			}
			if err := s.ask(ctx, client, is.definer, alive); err != nil {
				return nil, err
			}
			part, problem = is.problem(routine.Definition(), mode, alive[is.definer])
		}
		if problem == "" {
			continue
		}
		findings = append(findings, migrate.Finding{
			Part: part, Name: "procedure " + routine.Name, Problem: problem, Mend: mend,
		})
	}
	is := definers{procedures: there, views: views, alive: alive, mode: mode}
	if findings, err = s.askForOwner(ctx, client, want, is, findings); err != nil {
		return nil, s.Interpret(ctx, err)
	}
	owners, err := s.inspectOwners(ctx, client, want, is)
	return append(findings, owners...), s.Interpret(ctx, err)
}

// inspectTables compares the indexes of the tables, and the rights to change them or to call anything, if they can be seen.
func (s site) inspectTables(
	ctx context.Context, client database.DBTxConn, tables []migrate.Table, routines map[string]installed,
) ([]migrate.Finding, error) {
	indexes, err := migrate.ReadNames(ctx, client, `
		SELECT DISTINCT CASE index_name WHEN 'PRIMARY' THEN CONCAT(table_name, '_pk') ELSE index_name END
		FROM information_schema.statistics
		WHERE table_schema = COALESCE(NULLIF(?, ''), DATABASE())`, s.Schema)
	if err != nil {
		return nil, err
	}
	findings := migrate.MissingIndexes(tables, indexes, s.qualify)
	names := []string{migrate.VersionTable}
	for _, table := range tables {
		names = append(names, table.Name)
	}
	rights, err := s.inspectRights(ctx, client, names, routines)
	if db.KindOf(s.Interpret(ctx, err)) == db.KindPrivilege {
		return findings, nil
	}
	return append(findings, rights...), err
}

// procedures returns the procedures of the database, without their texts.
func (s site) procedures(ctx context.Context, client database.DBTxConn) (there map[string]installed, err error) {
	const query = `SELECT routine_name, definer, security_type FROM information_schema.routines
		WHERE routine_type = 'PROCEDURE' AND routine_schema = COALESCE(NULLIF(?, ''), DATABASE())`
	rows, err := client.QueryContext(ctx, query, s.Schema)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	there = map[string]installed{}
	for rows.Next() {
		var name string
		var is installed
		if err := rows.Scan(&name, &is.definer, &is.security); err != nil {
			return nil, err
		}
		there[strings.ToLower(name)] = is
	}
	return there, rows.Err()
}

// read adds what the server reports for a single procedure only.
func (s site) read(ctx context.Context, client database.DBTxConn, name string, is *installed) error {
	row := client.QueryRowContext(ctx, "SHOW CREATE PROCEDURE "+s.qualify(name))
	return row.Scan(new(any), &is.mode, &is.text, new(any), new(any), new(any))
}

// ask records whether an account exists, once per account.
func (s site) ask(ctx context.Context, client database.DBTxConn, account string, alive map[string]bool) error {
	if _, asked := alive[account]; asked {
		return nil
	}
	exists, err := s.isAlive(ctx, client, account)
	alive[account] = exists
	return err
}

// parted splits an account of the catalogue into user and host. The last @ separates them, since a user may contain @.
func parted(account string) (user, host string) {
	at := strings.LastIndex(account, "@")
	return account[:max(at, 0)], account[at+1:]
}

// isAlive reports whether an account exists, as far as this user may know.
func (s site) isAlive(ctx context.Context, client database.DBTxConn, account string) (bool, error) {
	user, host := parted(account)
	var exists bool
	row := client.QueryRowContext(ctx,
		"SELECT CURRENT_USER() = ? OR EXISTS (SELECT 1 FROM mysql.user WHERE user = ? AND host = ?)",
		account, user, host)
	err := s.Interpret(ctx, row.Scan(&exists))
	if db.KindOf(err) == db.KindPrivilege {
		return s.answersFor(ctx, client, account)
	}
	return exists, err
}

// answersFor calls a procedure that runs with the rights of an account: it fails if the account is gone. It returns true if the account has
// no such procedure.
func (s site) answersFor(ctx context.Context, client database.DBTxConn, account string) (bool, error) {
	var definer string
	err := client.QueryRowContext(ctx, `
		SELECT COALESCE(MAX(definer), '')
		FROM information_schema.routines
		WHERE routine_schema = COALESCE(NULLIF(?, ''), DATABASE()) AND routine_name = 'appl_lock_version'`, s.Schema).Scan(&definer)
	if err != nil || definer != account {
		return true, s.Interpret(ctx, err)
	}
	_, err = client.ExecContext(ctx, "CALL "+s.qualify("appl_lock_version")+"()")
	return db.KindOf(s.Interpret(ctx, err)) != db.KindNoAccount, nil
}

// gone is the problem of a procedure whose definer does not exist.
func (is installed) gone() string {
	return fmt.Sprintf("has the rights of %s, an account that does not exist", is.definer)
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
