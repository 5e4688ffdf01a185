package db2_test

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/applock/applock/internal/build/render"
	migration "github.com/applock/applock/internal/migrate/db2"
	"github.com/applock/applock/migrations"
	"github.com/applock/applock/procedures"
)

// No server of Db2 can be had, and HSQLDB runs the procedures without the clauses that it does not know. This file has the rules for what
// neither HSQLDB nor a grammar notices.

// terminatorLine is where the statements of a source begin.
const terminatorLine = "--#SET TERMINATOR @"

// source is a file of procedures/db2.
type source struct {
	stem string
	// text is as it is written, steps are its statements in order. IF, WHILE, FOR and BEGIN are steps of their own, up to what they hold.
	text  string
	steps []string
	// zos is what z/OS has of it, with all that is rendered.
	zos string
}

func newSource(t *testing.T, name, text string) source {
	t.Helper()
	rendered, err := render.File(name)
	if err != nil {
		t.Fatal(err)
	}
	s := source{stem: strings.TrimSuffix(path.Base(name), ".sql"), text: text, steps: stepsOf(text)}
	_, statements, _ := strings.Cut(rendered, terminatorLine)
	for statement := range strings.SplitSeq(statements, "\n@\n") {
		s.zos += migration.ZOSStatement(strings.TrimLeft(statement, "\n")+"\n") + "\n"
	}
	return s
}

var sqlWord = regexp.MustCompile(`--[^\n]*|'(?:[^']|'')*'|;|[^\s';]+`)

// stepsOf cuts a text behind semicolons, THEN, ELSE, DO and BEGIN, but not inside CASE.
func stepsOf(text string) (steps []string) {
	var step []string
	cases := 0
	for _, word := range sqlWord.FindAllString(text, -1) {
		switch {
		case strings.HasPrefix(word, "--"):
			continue
		case strings.HasSuffix(word, "CASE"):
			cases++
		case cases > 0 && strings.HasPrefix(word, "END"):
			cases--
		}
		if word != ";" && word != "@" {
			step = append(step, word)
		}
		if cases == 0 && len(step) > 0 && slices.Contains([]string{";", "@", "THEN", "ELSE", "DO", "BEGIN"}, word) {
			steps, step = append(steps, strings.Join(step, " ")), nil
		}
	}
	return steps
}

const (
	readClock = "SET v_now = CURRENT TIMESTAMP - CURRENT TIMEZONE"
	// messageLimit is how many bytes of a message Db2 keeps.
	messageLimit = 70
)

var (
	tables       = regexp.MustCompile(`\bappl_lock(_waiter|_ask|_viewer|_policy|_fence|_event)?\b`)
	change       = regexp.MustCompile(`^(UPDATE|DELETE FROM|INSERT INTO) appl_lock`)
	readsLock    = regexp.MustCompile(`^SELECT .*\bappl_lock\b`)
	optionBlock  = regexp.MustCompile(`(?m)\)\nSPECIFIC (\w+)\n(?:DYNAMIC RESULT SETS 1\n)?LANGUAGE SQL\nNOT DETERMINISTIC\n(?:CONTAINS SQL|MODIFIES SQL DATA|READS SQL DATA)\n(?:main: )?BEGIN$`)
	created      = regexp.MustCompile(`(?m)^CREATE OR REPLACE PROCEDURE (\w+)`)
	onlyOnLUW    = regexp.MustCompile(`\)\nSPECIFIC|OR REPLACE (?:VIEW|FUNCTION)|LOCK TIMEOUT|COMMENT ON|(?m)^CALL`)
	zosOptions   = "PARAMETER CCSID UNICODE\nISOLATION LEVEL CS\nCONCURRENT ACCESS RESOLUTION USE CURRENTLY COMMITTED\nVALIDATE BIND\nDISALLOW DEBUG MODE\n"
	signal       = regexp.MustCompile(`^SIGNAL SQLSTATE 'LK00[123]' SET MESSAGE_TEXT = (?:v_message|'(\w+): (?:[^']|'')*')$`)
	lengthCall   = regexp.MustCompile(`\w*LENGTH\([^)]*\)`)
	rightLength  = regexp.MustCompile(`^CHARACTER_LENGTH\(\w+, (?:CODEUNITS32|OCTETS)\)$`)
	wrongUnit    = regexp.MustCompile(`[^)] SECOND\b|\b(?:MICROSECOND|SECONDS|MINUTES?|HOURS?|DAYS?|WEEKS?|MONTHS?|YEARS?)\b`)
	wrongForm    = regexp.MustCompile(`\b(?:COMMIT|ROLLBACK|SAVEPOINT|PREPARE|EXECUTE|GOTO|FOR UPDATE|WITH HOLD|HAVING|SQLCODE|CURRENT_\w+|AUTONOMOUS)\b|"`)
	notASCII     = regexp.MustCompile(`[^ -~\n]`)
	longName     = regexp.MustCompile(`\b[A-Za-z_]\w{30,}\b`)
	withoutWords = regexp.MustCompile(`--[^\n]*|'(?:[^']|'')*'`)
)

// code is the text without comments and literals.
func (s source) code() string { return withoutWords.ReplaceAllString(s.text, "''") }

// first returns the first step for which it holds, or "".
func (s source) first(holds func(i int, step string) bool) string {
	for i, step := range s.steps {
		if holds(i, step) {
			return step
		}
	}
	return ""
}

// next returns the step behind, or "".
func (s source) next(i int) string {
	if i+1 < len(s.steps) {
		return s.steps[i+1]
	}
	return ""
}

// isolation is how a SELECT of our tables must end: with another level a caller would keep locks, or wait where CS does not. What an inbox
// or a heartbeat only marks may be passed over; the next call finds it.
func (s source) isolation(step string) string {
	switch {
	case s.stem == "assert_appl_lock":
		return "WITH RS USE AND KEEP SHARE LOCKS"
	case strings.HasPrefix(step, "FOR request") && s.stem != "purge_appl_locks":
		return "WITH CS SKIP LOCKED DATA DO"
	case strings.HasPrefix(step, "FOR"):
		return "WITH CS DO"
	}
	return "WITH CS"
}

// lintRule is a rule and the broken copies that show that it can fail. find returns what is wrong, or "".
type lintRule struct {
	name   string
	find   func(s source) string
	broken []lintEdit
}

// lintEdit replaces old, which the file has once.
type lintEdit struct{ file, old, broken string }

func lintRules() []lintRule {
	return slices.Concat(rulesOfFiles(), rulesOfText(), rulesOfLocks())
}

// rulesOfFiles: what a routine declares, on both systems.
func rulesOfFiles() []lintRule {
	return []lintRule{
		{"each procedure has the options from which those of z/OS are made", func(s source) string {
			var names, withOptions []string
			for _, match := range created.FindAllStringSubmatch(s.text, -1) {
				names = append(names, match[1])
			}
			for _, match := range optionBlock.FindAllStringSubmatch(s.text, -1) {
				withOptions = append(withOptions, match[1])
			}
			if !slices.Equal(names, withOptions) {
				return fmt.Sprintf("options of %v, want %v", withOptions, names)
			}
			return ""
		}, []lintEdit{
			{"inbox_appl_locks", "NOT DETERMINISTIC", "DETERMINISTIC"},
			{"serialize_appl_lock", "SPECIFIC serialize_appl_lock\n", "SPECIFIC serialize_appl_locks\n"},
			{"serialize_appl_lock", "MODIFIES SQL DATA\n", "MODIFIES SQL DATA\nAUTONOMOUS\n"},
		}},
		{"z/OS has its own options and nothing of LUW's", func(s source) string {
			if found := onlyOnLUW.FindString(s.zos); found != "" {
				return found
			}
			if got, want := strings.Count(s.zos, zosOptions), len(created.FindAllString(s.zos, -1)); got != want {
				return fmt.Sprintf("options of %d procedures, want %d", got, want)
			}
			return ""
		}, nil}, // it is made: internal/migrate/db2 tests the changes
		{"characters are of ASCII, whatever the code page", func(s source) string { return notASCII.FindString(s.text) },
			[]lintEdit{{"serialize_appl_lock", "let one", "für einen"}}},
		{"names have at most 30 bytes, as z/OS takes them", func(s source) string { return longName.FindString(s.code()) },
			[]lintEdit{{"serialize_appl_lock", "DECLARE v_object_type,", "DECLARE v_object_type_without_trailing_blanks, v_object_type,"}}},
	}
}

// rulesOfText: forms that HSQLDB takes, too, but that mean something else on Db2, or are not in the diagrams of one of its systems.
func rulesOfText() []lintRule {
	return []lintRule{
		{"nothing ends the caller's transaction, jumps, is prepared, or asks for an error afterwards", func(s source) string {
			return wrongForm.FindString(s.code())
		}, []lintEdit{
			{"serialize_appl_lock", "    -- S1: take the turn.", "    COMMIT;"},
			{"serialize_appl_lock", "    -- S1: take the turn.", "    EXECUTE IMMEDIATE v_object_id;"},
			{"purge_appl_locks", "l.fence < v_now_us", "l.fence < v_now_us FOR UPDATE"},
			{"purge_appl_locks", "FOR candidate AS", "FOR candidate AS found CURSOR WITH HOLD FOR"},
			{"serialize_appl_lock", "INTO appl_lock_serialize", `INTO "appl_lock_serialize"`},
		}},
		{"a duration is (x) SECOND, and times are counted by the expressions that are rendered in BIGINT", func(s source) string {
			return wrongUnit.FindString(s.code())
		}, []lintEdit{
			{"purge_appl_locks", "(v_older_than_seconds) SECOND", "v_older_than_seconds SECOND"},
			{"purge_appl_locks", "(v_older_than_seconds) SECOND", "(v_older_than_seconds) SECONDS"},
			{"inquire_appl_lock", "SECONDS_UP(v_now, v_expires_ts)", "(DAYS(v_expires_ts) - DAYS(v_now)) * 86400"},
		}},
		{"lengths are those of characters", func(s source) string {
			for _, call := range lengthCall.FindAllString(s.code(), -1) {
				if !rightLength.MatchString(call) {
					return call
				}
			}
			return ""
		}, []lintEdit{
			{"serialize_appl_lock", "CHARACTER_LENGTH(v_object_type, CODEUNITS32) NOT", "CHARACTER_LENGTH(v_object_type) NOT"},
			{"serialize_appl_lock", "CHARACTER_LENGTH(v_object_type, CODEUNITS32) NOT", "LENGTH(v_object_type) NOT"},
		}},
		{"a message is a literal of at most 70 bytes behind the routine's name, or v_message", func(s source) string {
			return s.first(func(_ int, step string) bool {
				match := signal.FindStringSubmatch(step)
				isOurs := match != nil && (match[1] == "" || match[1] == s.stem || match[1] == "appl_lock") && len(step) <= len("SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT = ''")+messageLimit
				return strings.HasPrefix(step, "SIGNAL") && !isOurs
			})
		}, []lintEdit{
			{"assert_appl_lock", "nobody holds it'", "nobody holds ' || p_object_id"},
			{"assert_appl_lock", "nobody holds it'", "nobody holds it, or its lock expired a moment before the call'"},
			{"assert_appl_lock", "'assert_appl_lock: nobody", "'get_appl_lock: nobody"},
			{"assert_appl_lock", "'LK002' SET MESSAGE_TEXT = '", "'75002' SET MESSAGE_TEXT = '"},
		}},
		{"the only error that is caught is a duplicate, of the one INSERT of its block", func(s source) string {
			return s.first(func(i int, step string) bool {
				isHandler := step == "DECLARE CONTINUE HANDLER FOR SQLSTATE '23505' SET v_changed = 0"
				isOfOneInsert := s.steps[max(i-1, 0)] == "BEGIN" && s.next(i) == "SET v_changed = 1" &&
					change.MatchString(s.next(i+1)) && s.next(i+2) == "END"
				return strings.Contains(step, "HANDLER") && (!isHandler || !isOfOneInsert)
			})
		}, []lintEdit{
			{"get_appl_lock", "CONTINUE HANDLER", "EXIT HANDLER"},
			{"get_appl_lock", "SQLSTATE '23505'", "SQLEXCEPTION"},
			{"get_appl_lock", "SET v_changed = 1;\n", "SET v_changed = 1;\n DELETE FROM appl_lock;\n"},
		}},
		{"a SELECT INTO gives one row: NOT FOUND would leave the variables of the round before", func(s source) string {
			return s.first(func(_ int, step string) bool {
				return strings.HasPrefix(step, "SELECT") && (!strings.HasPrefix(step, "SELECT COUNT(*)") || !strings.Contains(step, " INTO ") || strings.Contains(step, "GROUP BY")) &&
					s.stem != "views"
			})
		}, []lintEdit{
			{"inquire_appl_lock", "COUNT(*)", "1"},
			{"assert_appl_lock", "WITH RS", "GROUP BY l.object_id WITH RS"},
		}},
	}
}

// rulesOfLocks: what waits, what is locked, and what a decision may rely on.
func rulesOfLocks() []lintRule {
	return []lintRule{
		{"each SELECT of our tables has its isolation", func(s source) string {
			return s.first(func(_ int, step string) bool {
				return strings.Contains(step, "SELECT ") && tables.MatchString(step) && !change.MatchString(step) &&
					!strings.HasSuffix(step, " "+s.isolation(step)) && s.stem != "views"
			})
		}, []lintEdit{
			{"assert_appl_lock", "WITH RS USE AND KEEP SHARE LOCKS", "WITH CS"},
			{"inquire_appl_lock", "\n    WITH CS", ""},
			{"inbox_appl_locks", "WITH CS SKIP LOCKED DATA", "WITH CS"},
			{"inbox_appl_locks", "        ) AS m\n        WITH CS;\n        IF v_events", "        ) AS m\n        WITH CS SKIP LOCKED DATA;\n        IF v_events"},
			{"purge_appl_locks", "WITH CS\n    DO\n        IF", "DO\n        IF"},
		}},
		{"what changes a table waits for 1 s, and for nothing in a renewal; LUW's default waits for ever", func(s source) string {
			want := "SET CURRENT LOCK TIMEOUT 1"
			if s.stem == "renew_appl_locks" {
				want = "SET CURRENT LOCK TIMEOUT 0"
			}
			uses := func(step string) bool { return change.MatchString(step) || strings.Contains(step, "FROM appl_lock") }
			timeout, use := slices.Index(s.steps, want), slices.IndexFunc(s.steps, uses)
			changes := slices.ContainsFunc(s.steps, change.MatchString) || s.stem == "assert_appl_lock"
			// A semaphore waits as long as it takes, and a record is of an operation that has set it.
			if changes && (timeout < 0 || timeout > use) && !slices.Contains([]string{"serialize_appl_lock", "appl_lock_record"}, s.stem) {
				return "not set before the first statement"
			}
			return ""
		}, []lintEdit{
			{"note_appl_lock", "    SET CURRENT LOCK TIMEOUT 1;\n", ""},
			{"assert_appl_lock", "    SET CURRENT LOCK TIMEOUT 1;\n", ""},
			{"renew_appl_locks", "SET CURRENT LOCK TIMEOUT 0", "SET CURRENT LOCK TIMEOUT 1"},
		}},
		{"the clock that judges a lock is read directly behind it, so that nothing ends unseen meanwhile", func(s source) string {
			return s.first(func(i int, step string) bool {
				return readsLock.MatchString(step) && s.isDecision() && s.next(i) != readClock
			})
		}, []lintEdit{
			{"release_appl_lock", "SET v_now =", "SET v_changed = 0; SET v_now ="},
			{"get_appl_lock_permit", "                SET v_now = CURRENT TIMESTAMP - CURRENT TIMEZONE;\n", ""},
		}},
		{"a decision about a lock names what was read of it, also what only a clock tells apart", func(s source) string {
			return s.first(func(i int, step string) bool {
				isLater := strings.HasPrefix(step, "UPDATE appl_lock AS l SET fence = v_fence, acquired_ts") // the row is locked
				return regexp.MustCompile(`^(UPDATE|DELETE FROM) appl_lock\b`).MatchString(step) && !isLater &&
					(!regexp.MustCompile(`fence = [vc]_.* AND (l\.)?lock_ts = [vc]_.* AND (l\.)?expires_ts = [vc]_.* AND .*released_ts`).MatchString(step) || strings.Contains(step, " OR l.expires_ts") ||
						s.next(i) != "GET DIAGNOSTICS v_changed = ROW_COUNT")
			})
		}, []lintEdit{
			{"get_appl_lock", "                AND l.lock_ts = v_old_lock_ts\n", ""},
			{"release_appl_lock", "\n            AND l.released_ts IS NULL", ""},
			{"purge_appl_locks", "\n            AND expires_ts = c_expires_ts", ""},
			{"release_appl_lock", "GET DIAGNOSTICS", "SET v_rows = 0; GET DIAGNOSTICS"},
		}},
		{"a turn of a semaphore is its own row", func(s source) string {
			return s.first(func(_ int, step string) bool {
				return strings.HasPrefix(step, "DELETE FROM appl_lock_serialize") && !strings.Contains(step, "object_type = v_object_type AND object_id = v_object_id")
			})
		}, []lintEdit{{"serialize_appl_lock", "WHERE object_type = v_object_type\n        AND", "WHERE"}}},
		{"a renewal changes nothing before all grants are checked: Db2 does not take back what a procedure has done", func(s source) string {
			checked := slices.Index(s.steps, "IF v_pass = 2 THEN")
			if s.stem == "renew_appl_locks" && (checked < 0 || slices.IndexFunc(s.steps, change.MatchString) < checked) {
				return "a change before IF v_pass = 2"
			}
			return ""
		}, []lintEdit{{"renew_appl_locks", "IF v_pass = 2 THEN", "IF v_pass = 1 THEN"}}},
	}
}

// isDecision tells of those that answer by what they have read of a lock, and not with a page of rows.
func (s source) isDecision() bool {
	return !slices.Contains([]string{"inbox_appl_locks", "poll_appl_locks", "see_appl_lock", "release_appl_locks", "transfer_appl_locks"}, s.stem)
}

var gooseBlock = regexp.MustCompile(`(?s)-- \+goose StatementBegin\n(.*?)\n-- \+goose StatementEnd\n`)

// Goal: goose and the server take each statement of the migrations, also those for z/OS, which no test runs: each is wrapped, because outside
// goose keeps the semicolon that it cuts at, is one, and has no terminator of a script. Method: the text, and copies with one fault.
func TestMigrationsAreWrapped(t *testing.T) {
	t.Parallel()
	find := func(text string) string {
		for _, block := range gooseBlock.FindAllStringSubmatch(text, -1) {
			if strings.HasSuffix(block[1], ";") || strings.Contains(block[1], "+goose") || !strings.Contains(block[1], "PROCEDURE") && strings.Contains(block[1], ";\n") ||
				strings.Contains(block[1]+"\n", "\n@\n") || strings.Contains(block[1], "--#SET") {
				return block[1]
			}
		}
		rest := strings.NewReplacer("-- +goose Up\n", "", "-- +goose Down\n", "").Replace(gooseBlock.ReplaceAllString(text, ""))
		return regexp.MustCompile(`(?m)^([^-\n]|-[^-]|--#SET|.*\+goose).*`).FindString(rest)
	}
	zos := migration.ZOSMigrations()
	for _, name := range []string{"00001_appl_lock.sql", "00002_procedures.sql"} {
		luw, err := fs.ReadFile(migrations.FS, "db2/"+name)
		if err != nil {
			t.Fatal(err)
		}
		ofZOS, err := fs.ReadFile(zos, name)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{string(luw), string(ofZOS)} {
			if found := find(text); found != "" {
				t.Errorf("%s: %.200s", name, found)
			}
			for _, edit := range [][2]string{
				{"\n-- +goose StatementEnd\n", "\n"}, {"\n-- +goose StatementEnd\n", ";\n-- +goose StatementEnd\n"},
				{"\n-- +goose StatementEnd\n", "\n@\n-- +goose StatementEnd\n"}, {"-- +goose Down\n", "COMMIT;\n-- +goose Down\n"},
			} {
				if find(strings.Replace(text, edit[0], edit[1], 1)) == "" {
					t.Errorf("%s with %q: nobody notices", name, edit[1])
				}
			}
		}
	}
}

// Goal: Db2's text keeps the rules that nothing else checks, and each rule can fail. Method: every rule reads every file, and its broken
// copies.
func TestHeavyLint(t *testing.T) {
	t.Parallel()
	names, err := render.Names("db2")
	if err != nil {
		t.Fatal(err)
	}
	sources := map[string]source{}
	for _, name := range names {
		text, err := procedures.FS.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		s := newSource(t, name, string(text))
		sources[s.stem] = s
	}
	for _, rule := range lintRules() {
		for stem, s := range sources {
			if found := rule.find(s); found != "" {
				t.Errorf("%s: %s: %.200s", stem, rule.name, found)
			}
		}
		for _, edit := range rule.broken {
			s := sources[edit.file]
			if count := strings.Count(s.text, edit.old); count != 1 {
				t.Errorf("%s has %q %d times, want it once", edit.file, edit.old, count)
			}
			s.text = strings.Replace(s.text, edit.old, edit.broken, 1)
			s.steps = stepsOf(s.text)
			if rule.find(s) == "" {
				t.Errorf("%s with %q: nobody notices: %s", edit.file, edit.broken, rule.name)
			}
		}
	}
}
