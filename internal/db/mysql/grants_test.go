package mysql_test

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	driver "github.com/go-sql-driver/mysql"

	"github.com/applock/applock/applock/migrate"
	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/testing/contract"
	"github.com/applock/applock/internal/testing/readme"
	"github.com/applock/applock/internal/testing/testclient"
	"github.com/applock/applock/internal/testing/testdb"
	"github.com/applock/applock/internal/testing/testfile"
)

// Errors that servers of both products answer with.
const (
	errorDatabaseDenied = 1044
	errorTableDenied    = 1142
	errorRoutineDenied  = 1370
	errorNoDefiner      = 1449
)

func pageOf(t *testing.T, path string) string {
	t.Helper()
	return testfile.Read(t, "../../../"+path)
}

// grantStatements returns what docs/grants gives to a role, and to the owner the page.
func grantStatements(t *testing.T, role string) []string {
	t.Helper()
	grants := "```sql\n" + pageOf(t, "docs/grants/mysql.sql") + "```\n" + pageOf(t, "docs/grants.md")
	return readme.Statements(grants, " TO 'applock_"+role+"'")
}

// Goal: the answers that procedures/README.md shows are the real ones. Method: the product's client runs its block, and the answers are
// compared with the next block.
func TestProceduresReadme(t *testing.T) {
	t.Parallel()
	input, want := readme.Session(readme.Under(pageOf(t, "procedures/README.md"), "On MySQL and MariaDB"))
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		place := newPlace(t, product)
		output := testdb.RunMySQLClient(t, product, place.DSN, inDatabase(t, place.SQL, input))
		output = regexp.MustCompile(`\b\d{16}\b`).ReplaceAllString(output, "FENCE")
		// What is left of 7 days is less when the machine is slow.
		output = regexp.MustCompile(`\b6047\d\d\b`).ReplaceAllString(output, "604800")
		output = regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}`).ReplaceAllString(output, "TIME")
		if got := strings.ReplaceAll(output, "\t", "|"); got != want || want == "" {
			t.Errorf("the client answers\n%s\nprocedures/README.md says\n%s", got, want)
		}
	})
}

// inDatabase puts the name of the test's database into statements of a page.
func inDatabase(t *testing.T, handle *sql.DB, statements string) string {
	t.Helper()
	database := value(t, handle, "SELECT DATABASE()") + "."
	return strings.NewReplacer("applock.", database, "shop.", database).Replace(statements)
}

// account makes an account with the rights that docs/grants gives to roles, and returns how to connect
// as it. It is dropped when the test ends.
func account(t *testing.T, handle *sql.DB, roles ...string) func(config *driver.Config) {
	t.Helper()
	name, password := "applock_test_"+strings.ToLower(rand.Text()[:12]), rand.Text()
	mustQuery(t, handle, fmt.Sprintf("CREATE USER '%s' IDENTIFIED BY '%s'", name, password))
	t.Cleanup(func() {
		if _, err := handle.ExecContext(context.Background(), "DROP USER IF EXISTS '"+name+"'"); err != nil {
			t.Error(err)
		}
	})
	for _, role := range roles {
		end := " TO 'applock_" + role + "'"
		statements := grantStatements(t, role)
		for _, statement := range statements {
			mustQuery(t, handle, inDatabase(t, handle, strings.TrimSuffix(statement, end)+" TO '"+name+"'"))
		}
		if len(statements) == 0 {
			t.Fatalf("docs/grants has nothing for %s", role)
		}
	}
	return func(config *driver.Config) { config.User, config.Passwd = name, password }
}

// statement is a statement that an account may or may not run.
type statement struct {
	// operation is the one that has to be granted, empty for what nobody may.
	operation string
	text      string
	args      []any
	denied    uint16
}

// statementsOn returns calls of every routine in the database, and what one could do to the tables.
func statementsOn(t *testing.T, handle *sql.DB) []statement {
	t.Helper()
	database := value(t, handle, "SELECT DATABASE()")
	var all []statement
	for _, operation := range db.Contract() {
		values := argumentsFor(t, handle, operation)
		variables := make([]string, len(operation.OutParameters()))
		for i := range variables {
			variables[i] = fmt.Sprintf("@v%d", i)
		}
		list := contract.Placeholders(len(values))
		both := strings.Trim(list+", "+strings.Join(variables, ", "), ", ")
		call := func(suffix, arguments string) string {
			return fmt.Sprintf("CALL %s.%s%s(%s)", database, operation.Name, suffix, arguments)
		}
		all = append(all,
			statement{operation.Name, call("", both), values, errorRoutineDenied},
			statement{"", call("_core", both), values, errorRoutineDenied})
		if hasRowForm(operation) {
			all = append(all, statement{operation.Name, call("_row", list), values, errorRoutineDenied})
		}
		if hasQuickRow(operation) {
			all = append(all, statement{"", call("_row_core", list), values, errorRoutineDenied})
		}
		if operation.PassForm() != "" {
			const arguments = "'customer', 'nobody''s', 'JDOE', 1, 'ASMITH', NULL, 60"
			all = append(all,
				statement{operation.Name, call("_pass", arguments), nil, errorRoutineDenied},
				statement{"", call("_pass_core", arguments), nil, errorRoutineDenied})
		}
		if operation.RowsForm() != "" {
			all = append(all,
				statement{operation.Name, call("_rows", "'[]'"), nil, errorRoutineDenied},
				statement{"", call("_rows_core", "'[]'"), nil, errorRoutineDenied})
		}
	}
	for _, call := range []string{"appl_lock_refuse_number('r', 'a', 1)", "appl_lock_refuse_text('r', 'a', 1, 1)", "appl_lock_end(TRUE)"} {
		all = append(all, statement{"", "CALL " + database + "." + call, nil, errorRoutineDenied})
	}
	for _, table := range []string{"appl_lock", "appl_lock_waiter", "appl_lock_ask", "appl_lock_viewer", "appl_lock_event", "appl_lock_policy", "appl_lock_serialize", "appl_lock_goose"} {
		for _, text := range []string{"SELECT * FROM %s", "DELETE FROM %s", "INSERT INTO %s () VALUES ()", "DROP TABLE %s"} {
			all = append(all, statement{"", fmt.Sprintf(text, database+"."+table), nil, errorTableDenied})
		}
	}
	return all
}

// Goal: rights are per verb and need no privilege on the tables: each role may do what docs/grants.md gives it, in both
// forms, and nothing else. Method: accounts with these grants run everything.
func TestGrants(t *testing.T) {
	t.Parallel()
	operator := []string{
		"get_appl_lock", "get_appl_lock_permit", "release_appl_lock", "release_appl_locks", "note_appl_lock", "inquire_appl_lock",
		"assert_appl_lock", "serialize_appl_lock", "renew_appl_locks", "announce_appl_lock_waiter", "retract_appl_lock_waiter",
		"poll_appl_locks", "inbox_appl_locks", "ask_appl_lock", "answer_appl_lock", "see_appl_lock", "appl_lock_version",
	}
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		place := newPlace(t, product)
		for role, allowed := range map[string][]string{
			"operator": operator,
			"supervisor": append([]string{
				"transfer_appl_lock", "take_appl_lock", "transfer_appl_locks",
			}, operator...),
			"auditor": {
				"inquire_appl_lock",
				"appl_lock_version",
			},
			"administrator": {
				"set_appl_lock_policy", "drop_appl_lock_policy", "purge_appl_lock_history", "appl_lock_version",
			},
			"janitor": {"purge_appl_locks", "appl_lock_version"},
			"nobody":  nil,
		} {
			t.Run(role, func(t *testing.T) { // one after the other: they call for the same locks
				as := account(t, place.SQL, slices.Repeat([]string{role}, min(len(allowed), 1))...)
				user := testdb.OpenMySQL(t, place.DSN, func(config *driver.Config) { as(config); config.DBName = "" })
				for _, statement := range statementsOn(t, place.SQL) {
					want := statement.denied
					if slices.Contains(allowed, statement.operation) {
						want = 0
					}
					if _, err := contract.RowsByColumn(t.Context(), user, statement.text, statement.args...); numberOf(err) != want || (err == nil) != (want == 0) {
						t.Errorf("%s: %v, want error %d", statement.text, err, want)
					}
				}
				err := testdb.OpenMySQL(t, place.DSN, as).PingContext(t.Context())
				if denied := numberOf(err) == errorDatabaseDenied; denied != (allowed == nil) || !denied && err != nil {
					t.Errorf("connect to the database: %v", err)
				}
			})
		}
	})
}

// Goal: an upgrade, which replaces cores, keeps the grants; a call in between raises LK003. Method: drop and create a core while an account
// may call the operation.
func TestGrantsSurviveUpgrade(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		place := newPlace(t, product)
		user := testdb.OpenMySQL(t, place.DSN, account(t, place.SQL, "operator"))
		const call = "CALL get_appl_lock_row('customer', '42', 'JDOE', '', NULL, NULL)"
		create := fmt.Sprint(mustQuery(t, place.SQL, "SHOW CREATE PROCEDURE get_appl_lock_row_core")[0]["Create Procedure"])
		mustQuery(t, place.SQL, "DROP PROCEDURE get_appl_lock_row_core")
		var answer *driver.MySQLError
		if _, err := contract.RowsByColumn(t.Context(), user, call); !errors.As(err, &answer) || string(answer.SQLState[:]) != "LK003" {
			t.Errorf("in the middle of an upgrade: %v, want LK003", err)
		}
		mustQuery(t, place.SQL, create)
		if _, err := contract.RowsByColumn(t.Context(), user, call); err != nil {
			t.Errorf("after an upgrade: %v", err)
		}
	})
}

// Goal: the account that migrates needs no rights but those in docs/grants.md, to install, to work and to
// uninstall; and everything stops when it is dropped. Method: do all that as such an account.
func TestOwnerNeedsFewRights(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		dsn := testdb.MySQL(t, product)
		root := testdb.OpenMySQL(t, dsn, nil)
		as := account(t, root, "dba")
		owner := testdb.OpenMySQL(t, dsn, as)
		client := testclient.MySQL(t, owner)
		for range 2 {
			if _, err := migrate.Up(t.Context(), client, migrate.UpRequest{}); err != nil {
				t.Fatal(err)
			}
			requireWorking(t, client, owner, "")
			if _, err := migrate.Uninstall(t.Context(), client, migrate.UninstallRequest{Force: true}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := migrate.Up(t.Context(), client, migrate.UpRequest{}); err != nil {
			t.Fatal(err)
		}
		var config driver.Config
		as(&config)
		mustQuery(t, root, "DROP USER '"+config.User+"'")
		if _, err := contract.RowsByColumn(t.Context(), root, "CALL appl_lock_version()"); numberOf(err) != errorNoDefiner {
			t.Errorf("without the owner: %v, want error %d", err, errorNoDefiner)
		}
	})
}
