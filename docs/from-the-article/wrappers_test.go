// Package fromthearticle_test tests the wrappers that have the signatures of "Using Stored Procedures to Lock
// Application Objects", and what docs/from-the-article.md says about them.
package fromthearticle_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/applock/applock/internal/testing/testclient"

	"github.com/go-sql-driver/mysql"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/migrate"
	"github.com/applock/applock/internal/testing/testdb"
	"github.com/applock/applock/internal/testing/testfile"
)

// stories are what programs do and what they are told, the same on every product. A line is a call and its OUT
// values without trailing blanks, or "error", the SQLSTATE and words of the message. NULL is itself, and two
// quotes are a blank. "full" is the same verb of the full API, and "advance" lets time pass. A time is "now" in UTC.
// What Db2 and HSQLDB answer differently is marked: no test can tell what Db2 answers.
func stories() map[string]string {
	return map[string]string{
		"get": `
			get 42 JDOE CS             -> Y||
			get 42 ASMITH SALES        -> N|JDOE|CS
			inquire 42                 -> Y|JDOE|CS|now
			get 43 ASMITH SALES        -> Y||`,
		"renewal and expiry": `
			get 42 JDOE CS             -> Y||
			advance 144h
			get 42 JDOE CS2            -> Y||
			inquire 42                 -> Y|JDOE|CS2|now
			advance 144h
			get 42 ASMITH SALES        -> N|JDOE|CS2
			advance 25h
			inquire 42                 -> N|||NULL
			get 42 ASMITH SALES        -> Y||
			get 42 JDOE CS             -> N|ASMITH|SALES
			inquire 42                 -> Y|ASMITH|SALES|now`,
		"release": `
			release 42 JDOE            -> Y||
			get 42 JDOE CS             -> Y||
			release 42 ASMITH          -> N|JDOE|CS
			inquire 42                 -> Y|JDOE|CS|now
			release 42 JDOE            -> Y||
			inquire 42                 -> N|||NULL
			release 42 JDOE            -> Y||
			get 42 ASMITH SALES        -> Y||
			advance 169h
			release 42 JDOE            -> Y||
			release 42 ASMITH          -> Y||`,
		"transfer": `
			transfer 42 JDOE ASMITH SALES   -> N||
			get 42 JDOE CS                  -> Y||
			transfer 42 ASMITH BJONES SALES -> N|JDOE|CS
			transfer 42 JDOE ASMITH SALES   -> Y||
			get 42 JDOE CS                  -> N|ASMITH|SALES
			inquire 42                      -> Y|ASMITH|SALES|now
			transfer 42 ASMITH BJONES CS    -> Y||
			inquire 42                      -> Y|BJONES|CS|now
			advance 169h
			transfer 42 BJONES JDOE CS      -> N||
			inquire 42                      -> N|||NULL`,
		"odd input": `
			get -5 JDOE NULL           -> Y||
			inquire -5                 -> Y|JDOE||now
			full inquire -5            -> Y|JDOE|
			inquire 5                  -> N|||NULL
			get 0 JDOE ''              -> Y||
			inquire 0                  -> Y|JDOE||now
			get 9223372036854775807 JDOE CS   -> Y||
			get -9223372036854775808 ASMITH CS -> Y||
			full inquire -9223372036854775808 -> Y|ASMITH|CS
			inquire -9223372036854775808 -> Y|ASMITH|CS|now
			release 9223372036854775807 ASMITH -> N|JDOE|CS
			transfer -9223372036854775808 JDOE BJONES CS -> N|ASMITH|CS
			transfer -5 JDOE ASMITH CS -> Y||
			full inquire -5            -> Y|ASMITH|CS
			release -5 ASMITH          -> Y||
			inquire -5                 -> N|||NULL
			get 0 jdoe CS              -> N|JDOE|
			get 1 MÜLLERXY CS          -> Y||                   ! not on Db2: CHAR(8) has 8 bytes there, but 8 characters on HSQLDB
			inquire 1                  -> Y|MÜLLERXY|CS|now     ! not on Db2: as above
			get NULL JDOE CS           -> error LK001 p_customer_id
			get 2 NULL CS              -> error LK001 p_operator_id
			get 2 '' CS                -> error LK001 p_operator_id
			release NULL JDOE          -> error LK001 p_customer_id
			release 2 NULL             -> error LK001 p_operator_id
			inquire NULL               -> error LK001 p_customer_id
			transfer NULL JDOE ASMITH CS -> error LK001 p_customer_id
			transfer 2 NULL ASMITH CS  -> error LK001 p_from_operator_id
			transfer 2 JDOE NULL CS    -> error LK001 p_to_operator_id
			transfer 0 JDOE ASMITH NULL -> Y||
			inquire 0                  -> Y|ASMITH||now
			inquire 2                  -> N|||NULL`,
		"nine characters do not go in": `
			get 42 JDOE5678 DEPT5678   -> Y||
			get 42 ASMITH CS           -> N|JDOE5678|DEPT5678
			release 42 ASMITH          -> N|JDOE5678|DEPT5678
			transfer 42 ASMITH BJONES CS -> N|JDOE5678|DEPT5678
			get 42 JDOE56789 CS        -> error 22001
			get 42 JDOE5678 DEPT56789  -> error 22001
			release 42 JDOE56789       -> error 22001
			transfer 42 JDOE56789 ASMITH CS   -> error 22001
			transfer 42 JDOE5678 ASMITH678 CS -> error 22001
			transfer 42 JDOE5678 ASMITH DEPT56789 -> error 22001
			inquire 42                 -> Y|JDOE5678|DEPT5678|now`,
		// Also the name that an operator's first 8 characters spell is another one.
		"nine characters do not come out": `
			full get 42 JDOE56789 CS   -> Y||
			get 42 ASMITH CS           -> error 22001 get_customer_lock JDOE56789
			get 42 JDOE5678 CS         -> error 22001 get_customer_lock JDOE56789
			release 42 JDOE5678        -> error 22001 release_customer_lock JDOE56789
			transfer 42 JDOE5678 ASMITH CS -> error 22001 transfer_customer_lock JDOE56789
			inquire 42                 -> error 22001 inquire_customer_lock JDOE56789
			full inquire 42            -> Y|JDOE56789|CS
			full release 42 JDOE56789  -> Y||
			full get 42 JDOE5678 DEPT56789 -> Y||
			get 42 ASMITH CS           -> error 22001 get_customer_lock JDOE5678 DEPT56789
			release 42 ASMITH          -> error 22001 release_customer_lock JDOE5678 DEPT56789
			transfer 42 ASMITH BJONES CS -> error 22001 transfer_customer_lock JDOE5678 DEPT56789
			inquire 42                 -> error 22001 inquire_customer_lock JDOE5678 DEPT56789
			get 42 JDOE5678 CS         -> Y||
			inquire 42                 -> Y|JDOE5678|CS|now
			full transfer 42 JDOE5678 JDOE56789 CS -> Y||
			release 42 JDOE5678        -> error 22001
			full inquire 42            -> Y|JDOE56789|CS
			advance 169h
			get 42 JDOE5678 CS         -> Y||`,
		"one lock for both APIs": `
			get 42 JDOE CS             -> Y||
			full get 42 ASMITH SALES   -> N|JDOE|CS
			full inquire 42            -> Y|JDOE|CS
			full get 42 JDOE CS        -> Y||
			full transfer 42 JDOE ASMITH SALES -> Y||
			inquire 42                 -> Y|ASMITH|SALES|now
			release 42 ASMITH          -> Y||
			full inquire 42            -> N||
			full get 42 JDOE CS        -> Y||
			get 42 ASMITH SALES        -> N|JDOE|CS
			transfer 42 JDOE ASMITH SALES -> Y||
			full release 42 JDOE       -> N|ASMITH|SALES
			full release 42 ASMITH     -> Y||
			get 42 JDOE CS             -> Y||`,
	}
}

// tests are what every product has to pass, each in a database of its own.
func tests(product string) map[string]func(t *testing.T, s site) {
	all := map[string]func(t *testing.T, s site){
		"rights":         testRights,
		"install again":  testInstallAgain,
		"copy":           testCopy,
		"history":        testHistory,
		"seven days":     testSevenDays,
		"blanks":         testBlanks,
		"transactions":   testTransactions,
		"not of applock": testWrappersAreNoPartOfApplock,
	}
	if product == db2OnHSQLDB {
		delete(all, "install again") // it has no CREATE OR REPLACE
	}
	for name, story := range stories() {
		all["story "+name] = func(t *testing.T, s site) {
			t.Helper()
			testStory(t, s, story)
		}
	}
	return all
}

// Goal: the wrappers do the same on every product. Method: all tests on each.
func TestHeavyWrappers(t *testing.T) {
	t.Parallel()
	for _, product := range products() {
		t.Run(product, func(t *testing.T) {
			t.Parallel()
			newSite := sitesOf(t, product)
			for name, test := range tests(product) {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					s := newSite(t)
					s.install(t)
					test(t, s)
				})
			}
		})
	}
}

// Goal: a program that calls the article's procedures is told what the article promises. Method: the stories,
// each in a database of its own, through CALL.
func testStory(t *testing.T, s site, story string) {
	t.Helper()
	session := s.session(t, s.handle)
	for line := range strings.SplitSeq(strings.TrimSpace(story), "\n") {
		s.play(t, session, strings.TrimSpace(line))
	}
}

// play plays one line of a story.
func (s site) play(t *testing.T, session querier, line string) {
	t.Helper()
	line, _, isNotDb2s := strings.Cut(line, "! not on Db2: ")
	if isNotDb2s && s.product == db2OnHSQLDB {
		return
	}
	call, want, _ := strings.Cut(line, "->")
	words, want := strings.Fields(call), strings.TrimSpace(want)
	var got string
	switch words[0] {
	case "advance":
		duration, err := time.ParseDuration(words[1])
		if err != nil {
			t.Fatal(err)
		}
		s.advance(t, duration)
	case "full":
		got = s.full(t, words[1], words[2:])
	default:
		got = answer(s.call(t.Context(), session, words[0], values(t, words[1:])...))
	}
	if words, isError := strings.CutPrefix(want, "error "); isError {
		s.checkError(t, line, got, strings.Fields(words))
	} else if got != want {
		t.Errorf("%s: %s", line, got)
	}
}

// checkError compares an answer with the SQLSTATE of an error and words that its message must have. Db2 keeps 70 bytes of a
// message, which have no room for the holder.
func (s site) checkError(t *testing.T, line, got string, words []string) {
	t.Helper()
	const stateAndRoutine = 2
	if s.product == db2OnHSQLDB && len(words) > stateAndRoutine {
		words = words[:stateAndRoutine]
	}
	if !strings.HasPrefix(got, "error "+words[0]+" ") {
		t.Errorf("%s: %s", line, got)
	}
	for _, word := range words {
		if !regexp.MustCompile(`\b` + word + `\b`).MatchString(got) {
			t.Errorf("%s: %s does not name %s", line, got, word)
		}
	}
}

// values returns the arguments of a call: a customer, then text.
func values(t *testing.T, words []string) []any {
	t.Helper()
	list := make([]any, len(words))
	for i, word := range words {
		if word == "NULL" {
			continue
		}
		list[i] = strings.Trim(word, "'")
		if i > 0 {
			continue
		}
		customer, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		list[i] = customer
	}
	return list
}

// answer writes OUT values, or an error, as the stories do.
func answer(values []any, err error) string {
	if err != nil {
		state, message := stateOf(err)
		return fmt.Sprintf("error %s %s", state, message)
	}
	words := make([]string, len(values))
	for i, value := range values {
		switch value := value.(type) {
		case nil:
			words[i] = "NULL"
		case time.Time:
			// It has no time zone, and is read as if it were UTC.
			words[i] = value.String()
			if since := time.Since(value); since > -time.Minute && since < time.Minute {
				words[i] = "now"
			}
		default:
			words[i] = strings.TrimRight(fmt.Sprint(value), " ")
		}
	}
	return strings.Join(words, "|")
}

// full runs a verb of the full API and answers as a wrapper would.
func (s site) full(t *testing.T, verb string, words []string) string {
	t.Helper()
	ctx, object := t.Context(), applock.Object{Type: "customer", ID: words[0]}
	var lock applock.Lock
	var err error
	switch verb {
	case "get":
		_, err = s.client.Get(ctx, applock.GetRequest{Object: object, Owner: applock.Owner{Operator: words[1], Department: words[2]}})
	case "release":
		_, err = s.client.Release(ctx, applock.ReleaseRequest{Key: applock.Key{Object: object, Operator: words[1]}})
	case "transfer":
		to := applock.Owner{Operator: words[2], Department: words[3]}
		_, err = s.client.Transfer(ctx, applock.TransferRequest{Object: object, From: words[1], To: to})
	case "inquire":
		lock, err = s.client.Inquire(ctx, object)
	default:
		t.Fatalf("no verb %q", verb)
	}
	var held *applock.HeldError
	switch {
	case errors.As(err, &held):
		return fmt.Sprintf("N|%s|%s", held.Holder.Owner.Operator, held.Holder.Owner.Department)
	case errors.Is(err, applock.ErrNotHeld):
		return "N||"
	case err != nil:
		t.Fatal(err)
	}
	return fmt.Sprintf("Y|%s|%s", lock.Owner.Operator, lock.Owner.Department)
}

// Goal: a lock lasts 7 days and belongs to the department that is named, as in the article: a renewal keeps the grant,
// but not what the full API has given it for, nor does a transfer. Method: the full API gives and tells.
func testSevenDays(t *testing.T, s site) {
	t.Helper()
	session := s.session(t, s.handle)
	object := applock.Object{Type: "customer", ID: "42"}
	var first applock.Fence
	for _, line := range []string{"get 42 JDOE NULL -> Y||", "get 42 JDOE NULL -> Y||", "transfer 42 JDOE ASMITH NULL -> Y||"} {
		given := applock.GetRequest{Object: object, Owner: applock.Owner{Operator: "JDOE", Department: "CS"}, TTL: time.Hour}
		if _, err := s.client.Get(t.Context(), given); err != nil {
			t.Fatal(err)
		}
		s.play(t, session, line)
		lock, err := s.client.Inquire(t.Context(), object)
		if err != nil {
			t.Fatal(err)
		}
		if lock.Owner.Department != "" {
			t.Errorf("%s: the department is %q, want a blank", line, lock.Owner.Department)
		}
		if ttl := time.Until(lock.ExpiresAt); ttl > 7*24*time.Hour+time.Minute || ttl < 7*24*time.Hour-time.Minute {
			t.Errorf("%s: the lock ends in %v, want 7 days", line, ttl)
		}
		if first == 0 {
			first = lock.Fence
		}
		if isNew := lock.Fence > first; isNew != strings.HasPrefix(line, "transfer") {
			t.Errorf("%s: fence %d after %d", line, lock.Fence, first)
		}
	}
	s.checkPolicy(t, session)
}

// checkPolicy gets a customer for as long as a policy says, which is less than 7 days.
func (s site) checkPolicy(t *testing.T, session querier) {
	t.Helper()
	const day = 24 * time.Hour
	policy := applock.SetPolicyRequest{Policy: applock.Policy{Type: "customer", LongestTTL: day}, Actor: "BOSS"}
	if err := s.client.SetPolicy(t.Context(), policy); err != nil {
		t.Fatal(err)
	}
	s.play(t, session, "get 7 JDOE CS -> Y||")
	lock, err := s.client.Inquire(t.Context(), applock.Object{Type: "customer", ID: "7"})
	if err != nil {
		t.Fatal(err)
	}
	if ttl := time.Until(lock.ExpiresAt); ttl > day+time.Minute {
		t.Errorf("the lock ends in %v, want what the policy says", ttl)
	}
}

// Goal: a blank is CHAR(8) as the product has it. Method: the bytes that arrive.
func testBlanks(t *testing.T, s site) {
	t.Helper()
	const padded = "        "
	check := func(handle *sql.DB, blank, holder string) {
		t.Helper()
		session := s.session(t, handle)
		for _, step := range []struct {
			verb string
			in   []any
			want []any
		}{
			{"inquire", []any{42}, []any{"N", blank, blank, nil}},
			{"get", []any{42, "JDOE", " "}, []any{"Y", blank, blank}},
			{"get", []any{42, "ASMITH  ", "CS      "}, []any{"N", holder, blank}},
			{"inquire", []any{42}, []any{"Y", holder, blank}},
			{"transfer", []any{42, "ASMITH", "BJONES", "CS"}, []any{"N", holder, blank}},
			{"release", []any{42, "ASMITH"}, []any{"N", holder, blank}},
			{"release", []any{42, "JDOE             "}, []any{"Y", blank, blank}},
		} {
			got, err := s.call(t.Context(), session, step.verb, step.in...)
			if len(got) < len(step.want) || !slices.Equal(got[:len(step.want)], step.want) {
				t.Errorf("%s %q: %q, %v, want %q", step.verb, step.in, got, err, step.want)
			}
		}
	}
	if s.product == postgres || s.product == db2OnHSQLDB {
		check(s.handle, padded, "JDOE    ")
		return
	}
	check(s.handle, "", "JDOE")
	check(testdb.OpenMySQL(t, s.dsn, func(config *mysql.Config) {
		config.Params = map[string]string{"sql_mode": "'STRICT_TRANS_TABLES,PAD_CHAR_TO_FULL_LENGTH'"}
	}), padded, "JDOE    ")
	if isBlank := text(t, s.handle, "SELECT _utf8mb4'' COLLATE utf8mb4_bin = ' '"); isBlank != "1" {
		t.Error("the blank that arrives is not equal to a blank")
	}
}

// Goal: the caller owns the transaction, and what the database raises passes through: a call that meets another
// transaction which is changing the lock ends after 1 s with the database's own error. Method: two sessions.
func testTransactions(t *testing.T, s site) {
	t.Helper()
	one, other := begin(t, s.handle), s.session(t, s.handle)
	s.play(t, one, "get 42 JDOE CS -> Y||")
	if s.product != db2OnHSQLDB { // it has no limit for waits
		s.checkTimeout(t, other, 42)
	}
	if err := one.Rollback(); err != nil {
		t.Fatal(err)
	}
	s.play(t, other, "get 42 ASMITH CS -> Y||")
	one = begin(t, s.handle)
	s.play(t, one, "release 42 ASMITH -> Y||")
	if err := one.Rollback(); err != nil {
		t.Fatal(err)
	}
	s.play(t, other, "inquire 42 -> Y|ASMITH|CS|now")
}

// checkTimeout gets a customer that an open transaction has got.
func (s site) checkTimeout(t *testing.T, session querier, customer int) {
	t.Helper()
	timeout := "error HY000 Lock wait timeout"
	if s.product == postgres {
		timeout = "error 55P03 "
	}
	start := time.Now()
	got := answer(s.call(t.Context(), session, "get", customer, "ASMITH", "CS"))
	if took := time.Since(start); !strings.HasPrefix(got, timeout) || took > 40*time.Second { // the session itself would wait 50 s
		t.Errorf("get against an open transaction: %s after %v, want %s", got, took, timeout)
	}
}

func begin(t *testing.T, handle *sql.DB) *sql.Tx {
	t.Helper()
	// Not the test's context: that would end the transaction for us.
	tx, err := handle.BeginTx(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback() })
	return tx
}

// Goal: upgrades and removals of applock do not meet the wrappers: they are no part of it. Method: migrate on top,
// take away what the wrappers call, and bring it back.
func testWrappersAreNoPartOfApplock(t *testing.T, s site) {
	t.Helper()
	ctx, session := t.Context(), s.session(t, s.handle)
	if done, err := migrate.Up(ctx, s.client, migrate.UpRequest{}); err != nil || len(done.Steps) != 0 {
		t.Errorf("migrate on top of the wrappers: %v, %v", done, err)
	}
	missing := "error 42000 PROCEDURE "
	switch s.product {
	case postgres:
		missing = "error 42883 "
	case db2OnHSQLDB: // like Db2 for z/OS it keeps procedures that others call
		missing = "error 42501 "
		for verb := range article() {
			execute(t, s.handle, "DROP PROCEDURE "+s.schema+"."+verb+"_customer_lock")
		}
	default:
		execute(t, s.handle, "DROP PROCEDURE get_appl_lock_core")
		s.play(t, session, "get 42 JDOE CS -> error LK003 get_appl_lock")
	}
	if _, err := migrate.Uninstall(ctx, s.client, migrate.UninstallRequest{Force: true}); err != nil {
		t.Fatal(err)
	}
	if got := answer(s.call(ctx, session, "get", 42, "JDOE", "CS")); !strings.HasPrefix(got, missing) {
		t.Errorf("without applock: %s, want %s", got, missing)
	}
	if _, err := migrate.Up(ctx, s.client, migrate.UpRequest{}); err != nil {
		t.Fatal(err)
	}
	if s.product == db2OnHSQLDB {
		s.install(t)
	}
	s.play(t, session, "get 42 JDOE CS -> Y||")
}

// Goal: PostgreSQL's file goes where applock is, and nowhere else. Method: another schema, and one without applock.
func TestOtherSchema(t *testing.T) {
	t.Parallel()
	s := sitesOf(t, postgres)(t)
	client := testclient.Open(t, s.dsn, "locks", nil)
	if _, err := migrate.Up(t.Context(), client, migrate.UpRequest{}); err != nil {
		t.Fatal(err)
	}
	script := testfile.Read(t, "postgres.sql")
	s.run(t, "SET applock.schema = 'locks';"+script)
	if got := text(t, s.handle, "SELECT count(*) FROM pg_proc WHERE proname LIKE '%customer%' AND pronamespace <> 'locks'::regnamespace"); got != "0" {
		t.Errorf("%s procedures outside the schema locks", got)
	}
	locks := site{product: postgres, schema: "locks", handle: s.handle, client: client}
	locks.play(t, s.handle, "get 42 JDOE CS -> Y||")
	locks.play(t, s.handle, "full get 42 ASMITH CS -> N|JDOE|CS")
	s.play(t, s.handle, "full inquire 42 -> N||")
	execute(t, s.handle, "CREATE SCHEMA nothing")
	_, err := s.handle.ExecContext(t.Context(), "SET applock.schema = 'nothing';"+script)
	if err == nil || !strings.Contains(err.Error(), "applock is not installed in schema nothing") {
		t.Errorf("into a schema without applock: %v", err)
	}
}

// Goal: on MySQL and MariaDB the wrappers run with the owner's rights and in a mode of their own, whatever the mode in which
// they are installed, and the session keeps its mode. Method: install in another one.
func TestInstallationMode(t *testing.T) {
	t.Parallel()
	testdb.EachProduct(t, testdb.MySQLProducts(), func(t *testing.T, product string) {
		s := sitesOf(t, product)(t)
		output := s.run(t, "SET SESSION sql_mode = 'ANSI_QUOTES';"+testfile.Read(t, "mysql.sql")+`
			SELECT @@SESSION.sql_mode, GROUP_CONCAT(DISTINCT sql_mode), GROUP_CONCAT(DISTINCT security_type), COUNT(*)
			FROM information_schema.routines
			WHERE routine_schema = DATABASE() AND routine_name LIKE '%customer_lock'`)
		if want := "ANSI_QUOTES|STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION|DEFINER|4\n"; output != want {
			t.Errorf("got %q, want %q", output, want)
		}
	})
}

// Goal: on PostgreSQL a caller cannot make the wrappers use types or procedures of its own. Method: such things in places
// that the caller puts first.
func TestSearchPathIsPinned(t *testing.T) {
	t.Parallel()
	s := sitesOf(t, postgres)(t)
	s.install(t)
	session := s.session(t, s.handle)
	execute(t, session,
		"CREATE SCHEMA evil",
		`CREATE FUNCTION evil.get_appl_lock_row(text, text, text, text, bigint,
			OUT p_lock_fl text, OUT p_old_operator_id text, OUT p_old_department_id text)
			LANGUAGE sql AS $$ SELECT 'Y', '', '' $$`,
		"CREATE DOMAIN pg_temp.text AS pg_catalog.text CHECK (VALUE = 'evil')",
		"SET search_path = evil, pg_temp, applock, pg_catalog",
	)
	s.play(t, session, "get 42 JDOE CS -> Y||")
	s.play(t, session, "get 42 ASMITH CS -> N|JDOE|CS")
}
