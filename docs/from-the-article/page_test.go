package fromthearticle_test

import (
	"context"
	"crypto/rand"
	"database/sql"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/testing/readme"
	"github.com/applock/applock/internal/testing/testdb"
	"github.com/applock/applock/internal/testing/testfile"
)

// page returns the part of docs/from-the-article.md below a heading about the site's product.
func (s site) page(t *testing.T, heading string) string {
	t.Helper()
	name := "MySQL and MariaDB"
	switch s.product {
	case postgres:
		name = "PostgreSQL"
	case db2OnHSQLDB:
		name = "Db2"
	}
	return readme.Under(testfile.Read(t, "../from-the-article.md"), heading+" on "+name)
}

// named puts the site's schema, and that of the article's table, in the place of the page's names.
func (s site) named(input, old string) string {
	return strings.NewReplacer("applock.", s.schema+".", "crm.", old+".").Replace(input)
}

// grant gives an account the rights that the page gives to roles.
func (s site) grant(t *testing.T, account string, roles ...string) {
	t.Helper()
	for _, role := range roles {
		to, quoted := "TO '"+role+"'", "'"+account+"'"
		switch s.product {
		case postgres:
			to, quoted = "TO "+role, account
		case db2OnHSQLDB:
			to, quoted = "TO ROLE "+role, account
		}
		grants := readme.Statements(s.page(t, "Rights"), to)
		if len(grants) == 0 {
			t.Fatalf("docs/from-the-article.md has no rights for %s", role)
		}
		for _, grant := range grants {
			execute(t, s.handle, s.named(strings.TrimSuffix(grant, to)+"TO "+quoted, ""))
		}
	}
}

// account makes an account without any right and returns its name and a pool of its sessions.
func (s site) account(t *testing.T) (name string, handle *sql.DB) {
	t.Helper()
	name, password := "applock_test_"+strings.ToLower(rand.Text()[:12]), rand.Text()
	create, drop := "CREATE USER '"+name+"' IDENTIFIED BY '"+password+"'", "DROP USER IF EXISTS '"+name+"'"
	switch s.product {
	case postgres:
		create, drop = "CREATE ROLE "+name+" LOGIN PASSWORD '"+password+"'", "DROP OWNED BY "+name+"; DROP ROLE "+name
	case db2OnHSQLDB:
		create, drop = "CREATE USER "+name+" PASSWORD '"+password+"'", "" // it goes with the database
	}
	execute(t, s.handle, create)
	t.Cleanup(func() {
		if _, err := s.handle.ExecContext(context.Background(), drop); err != nil {
			t.Error(err)
		}
	})
	switch s.product {
	case postgres:
		return name, openPostgres(t, s.dsn, func(config *pgx.ConnConfig) { config.User, config.Password = name, password })
	case db2OnHSQLDB:
		return name, openHSQLDB(t, s.bridge, s.dsn, name)
	}
	return name, testdb.OpenMySQL(t, s.dsn, func(config *mysql.Config) {
		config.User, config.Passwd, config.DBName, config.ParseTime = name, password, "", true
	})
}

// Goal: the page's rights are enough for the wrappers, and for nothing else. Method: accounts with and without them
// call everything.
func testRights(t *testing.T, s site) {
	t.Helper()
	for name, roles := range map[string][]string{
		"nobody":     nil,
		"operator":   {"crm_operator"},
		"supervisor": {"crm_supervisor"},
		"both":       {"crm_operator", "crm_supervisor"},
	} {
		_ = s.full(t, "get", []string{"42", "JDOE", "CS"})
		t.Run(name, func(t *testing.T) { // one after the other: two grants at once are an error on PostgreSQL
			account, handle := s.account(t)
			s.grant(t, account, roles...)
			allowed := strings.Join(roles, " ")
			s.checkRights(t, handle, map[string]bool{
				"get": strings.Contains(allowed, "operator"), "release": strings.Contains(allowed, "operator"),
				"inquire": strings.Contains(allowed, "operator"), "transfer": strings.Contains(allowed, "supervisor"),
			})
		})
	}
}

// denied is an error about a missing right.
var denied = regexp.MustCompile(`^error (42501 (permission denied|user lacks privilege)|42000 .* denied to user)`)

func (s site) checkRights(t *testing.T, handle *sql.DB, allowed map[string]bool) {
	t.Helper()
	session := s.session(t, handle)
	s.checkEnd(t, session, allowed["get"])
	for verb, signature := range article() {
		arguments := append([]any{7}, "JDOE", "ASMITH", "CS")[:len(signature.in)]
		got := answer(s.call(t.Context(), session, verb, arguments...))
		if isDenied := denied.MatchString(got); isDenied == allowed[verb] || !isDenied && strings.HasPrefix(got, "error") {
			t.Errorf("%s: %s, allowed is %t", verb, got, allowed[verb])
		}
	}
	for _, statement := range []string{
		"SELECT count(*) FROM applock.appl_lock",
		"CALL applock.purge_appl_locks(NULL, NULL)",
		"CALL applock.get_appl_lock('customer', '7', 'JDOE', 'CS', NULL, NULL)",
	} {
		if s.product != postgres && strings.HasPrefix(statement, "CALL") {
			statement = strings.Replace(statement, "(", "_row(", 1)
		}
		_, err := row(t.Context(), session, s.named(statement, ""))
		if got := answer(nil, err); err == nil || !denied.MatchString(got) {
			t.Errorf("%s: %v", statement, err)
		}
	}
}

// almostSevenDays is a time and the seconds until then.
var almostSevenDays = regexp.MustCompile(`\|604[78]\d\d$`)

// checkEnd asks, as the page says, when the lock of customer 42 ends.
func (s site) checkEnd(t *testing.T, session querier, isAllowed bool) {
	t.Helper()
	asking := readme.Statements(readme.Under(testfile.Read(t, "../from-the-article.md"), "When a lock ends"), "'42'")
	if len(asking) != 1 {
		t.Fatalf("the page asks by %q", asking)
	}
	got := answer(row(t.Context(), session, s.named(asking[0], "")))
	if isAllowed != almostSevenDays.MatchString(got) || isAllowed == denied.MatchString(got) {
		t.Errorf("when the lock ends: %s, allowed is %t", got, isAllowed)
	}
}

// Goal: the history has a transfer by the wrapper, without an actor and a reason, and the inbox of the operator who has lost the lock tells it,
// as the page says. Method: the full API reads both.
func testHistory(t *testing.T, s site) {
	t.Helper()
	session := s.session(t, s.handle)
	s.play(t, session, "get 42 JDOE CS -> Y||")
	s.play(t, session, "transfer 42 JDOE ASMITH SALES -> Y||")
	events := 0
	for event, err := range s.client.History(t.Context(), applock.HistoryRequest{ObjectType: "customer", ObjectID: "42"}) {
		if err != nil {
			t.Fatal(err)
		}
		events++
		if event.Actor != "" || event.Reason != "" || event.From.Operator != "JDOE" || event.To.Operator != "ASMITH" {
			t.Errorf("the history has %+v", event)
		}
	}
	notices, _, err := s.client.Inbox(t.Context(), applock.InboxRequest{Operator: "JDOE"})
	if err != nil || events != 1 || len(notices) != 1 || notices[0].Other.Operator != "ASMITH" {
		t.Errorf("%d events, and the inbox has %+v, %v", events, notices, err)
	}
}

// Goal: the file can be run again; whether grants stay is as the page says. Method: an account with rights calls
// before and after.
func testInstallAgain(t *testing.T, s site) {
	t.Helper()
	name, handle := s.account(t)
	s.grant(t, name, "crm_operator")
	session := s.session(t, handle)
	s.play(t, session, "get 42 JDOE CS -> Y||")
	s.install(t)
	if s.product != postgres {
		if got := answer(s.call(t.Context(), session, "get", 42, "JDOE", "CS")); !denied.MatchString(got) {
			t.Errorf("after a second installation: %s, want no right", got)
		}
		s.grant(t, name, "crm_operator")
	}
	s.play(t, session, "get 42 ASMITH CS -> N|JDOE|CS")
}

// Goal: what the page says about moving the open locks is what happens, also a second time. Method: the article's table with
// locks of several ages; one customer is taken already.
func testCopy(t *testing.T, s site) {
	t.Helper()
	old := s.articleTable(t)
	s.play(t, s.handle, "full get 41 BJONES CS -> Y||")
	input, want := readme.Session(s.page(t, "Copy"))
	for i := range 2 {
		var got string
		switch s.product {
		case postgres:
			got = s.run(t, s.named(input, old))
		case db2OnHSQLDB:
			got = s.run(t, s.run(t, s.named(input, old))) // the answer is a script
		default:
			got = s.copyByShell(t, s.named(input, old))
		}
		if s.product != postgres {
			// The times of each lock: acquired_ts, expires_ts and seconds_left, and the empty note.
			got = regexp.MustCompile(`(\|[^|\n]*){2}\|\d*\|?\n`).ReplaceAllString(got, "\n")
			got = regexp.MustCompile(`\b\d{16}\b`).ReplaceAllString(got, "FENCE")
		}
		if i == 1 {
			got = strings.ReplaceAll(got, "RENEWED", "ACQUIRED")
		}
		if got != want || want == "" {
			t.Errorf("time %d: the client answers\n%s\nthe page says\n%s", i+1, got, want)
		}
	}
	for _, line := range []string{
		"full inquire 41 -> Y|BJONES|CS", "full inquire 42 -> Y|JDOE|CS", "full inquire 43 -> Y|O'BRIEN|", "full inquire 44 -> N||",
	} {
		s.play(t, s.handle, line)
	}
	// JDOE's lock has 3 days to live, O'Brien's 10 minutes.
	s.advance(t, 11*time.Minute)
	s.play(t, s.handle, "full inquire 43 -> N||")
	s.advance(t, 71*time.Hour)
	s.play(t, s.handle, "full inquire 42 -> Y|JDOE|CS")
	s.advance(t, time.Hour)
	s.play(t, s.handle, "full inquire 42 -> N||")
}

// articleTable makes the article's table in a schema of its own, whose name it returns. The client's time zone is the server's.
func (s site) articleTable(t *testing.T) string {
	t.Helper()
	name, now, stamp := "crm", "LOCALTIMESTAMP", "TIMESTAMP"
	switch s.product {
	case postgres, db2OnHSQLDB:
		execute(t, s.handle, "CREATE SCHEMA crm")
	default:
		handle := testdb.OpenMySQL(t, testdb.MySQL(t, s.product), nil)
		name, now, stamp = text(t, handle, "SELECT DATABASE()"), "LOCALTIMESTAMP(6)", "DATETIME(6)"
	}
	const day = 24 * time.Hour
	ago := func(age time.Duration) string { return now + " - " + s.interval(age) }
	execute(t, s.handle,
		`CREATE TABLE `+name+`.appl_lock (
			customer_id BIGINT NOT NULL, operator_id CHAR(8) NOT NULL, department_id CHAR(8) NOT NULL, lock_ts `+stamp+` NOT NULL,
			PRIMARY KEY (customer_id))`,
		`INSERT INTO `+name+`.appl_lock VALUES
			(41, 'ASMITH', 'SALES', `+ago(day)+`),
			(42, 'JDOE', 'CS', `+ago(4*day)+`),
			(43, 'O''BRIEN', ' ', `+ago(7*day-10*time.Minute)+`),
			(44, 'JDOE', 'CS', `+ago(8*day)+`)`)
	return name
}
