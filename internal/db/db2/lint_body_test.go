package db2_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// This file has the rules for what stands in a body. Most look at one step, and return "" when it is fine.

const (
	readClock    = "SET v_now = CURRENT TIMESTAMP - CURRENT TIMEZONE"
	microseconds = "CAST(DAYS(v_now) - DAYS(DATE('1970-01-01')) AS BIGINT) * 86400000000" +
		" + CAST(MIDNIGHT_SECONDS(v_now) AS BIGINT) * 1000000 + MICROSECOND(v_now)"
)

// microsecondsBetween is the time from one moment to a later one.
func microsecondsBetween(from, to string) string {
	return strings.NewReplacer("from", from, "to", to).Replace("CAST(DAYS(to) - DAYS(from) AS BIGINT) * 86400000000" +
		" + CAST(MIDNIGHT_SECONDS(to) - MIDNIGHT_SECONDS(from) AS BIGINT) * 1000000" +
		" + MICROSECOND(to) - MICROSECOND(from)")
}

// secondsLeft is the time from now to a later moment, rounded up.
func secondsLeft(to string) string {
	return strings.ReplaceAll("CAST(DAYS(to) - DAYS(v_now) AS BIGINT) * 86400 + MIDNIGHT_SECONDS(to) - MIDNIGHT_SECONDS(v_now)"+
		" + CASE WHEN MICROSECOND(to) > MICROSECOND(v_now) THEN 1 ELSE 0 END", "to", to)
}

// setLockTimeout: 1 s for all but the renewal, where one lock must not delay the others.
func setLockTimeout(r sqlRoutine) string {
	if r.isOneOf("renew_appl_locks") {
		return "SET CURRENT LOCK TIMEOUT 0"
	}
	return "SET CURRENT LOCK TIMEOUT 1"
}

// usesTables tells of a step that it asks or changes one of the tables, readsTables that it asks.
func (s sqlStep) usesTables() bool {
	return s.has("appl_lock") || s.has("appl_lock_waiter") || s.has("appl_lock_ask") || s.has("appl_lock_viewer")
}
func (s sqlStep) readsTables() bool { return s.has("SELECT") && s.usesTables() }

// changedTable returns the table of an UPDATE or DELETE.
func (s sqlStep) changedTable() string {
	switch {
	case s.verb() == "update" && len(s.sqlTokens) > 1:
		return s.sqlTokens[1].text
	case s.begins("DELETE FROM") && len(s.sqlTokens) > 2:
		return s.sqlTokens[2].text
	}
	return ""
}

// next returns the step behind, or an empty one.
func (r sqlRoutine) next(i int) sqlStep {
	if i+1 < len(r.steps) {
		return r.steps[i+1]
	}
	return sqlStep{}
}

// statementIsPermitted keeps out transaction control, jumps and dynamic SQL, and what this linter cannot read.
func statementIsPermitted(r sqlRoutine, i int) string {
	permitted := strings.Fields("begin call declare delete else elseif end for get if insert leave open select set signal update while")
	if verb := r.steps[i].verb(); !slices.Contains(permitted, verb) {
		return fmt.Sprintf("begins a statement with %s", verb)
	}
	return ""
}

// stepIsBalanced: what ends is what began, and the body is one compound statement.
func stepIsBalanced(r sqlRoutine, i int) string {
	step, isFirst, isLast := r.steps[i], i == 0, i == len(r.steps)-1
	isEnd := step.verb() == "end"
	if isLast && (!isEnd || step.opener != 0) || !isFirst && step.opener < 0 {
		return fmt.Sprintf("`%s` stands outside the body's BEGIN and END, or there is one END too few", step)
	}
	if !isEnd {
		return ""
	}
	opener := r.steps[step.opener]
	wanted := "END " + opener.verb()
	switch {
	case opener.is("BEGIN"):
		wanted = "END"
	case opener.ends(": BEGIN"):
		wanted = "END " + opener.sqlTokens[0].text
	case opener.sqlTokens[1].text == ":":
		wanted += " " + opener.sqlTokens[0].text
	}
	if !step.is(wanted) {
		return fmt.Sprintf("`%s` ends `%s`, want `%s`", step, opener, wanted)
	}
	return ""
}

// forbiddenPhrases are what the other rules leave open, with the reason.
func forbiddenPhrases() map[string]string {
	return map[string]string{
		"SKIP LOCKED":       "a row that is locked would be taken for none",
		"FOR UPDATE":        "a refused caller would keep a lock",
		"WITH HOLD":         "a cursor would outlive the caller's transaction",
		"GROUP BY":          "a SELECT INTO would give no row",
		"HAVING":            "a SELECT INTO would give no row",
		"DECLARE SQLCODE":   "what a statement did is told by its row count",
		"DECLARE SQLSTATE":  "what a statement did is told by its row count",
		"CURRENT_DATE":      "time is read in UTC",
		"CURRENT_TIME":      "time is read in UTC",
		"CURRENT_TIMESTAMP": "time is read in UTC",
		`"`:                 "a name in quotes is another name",
	}
}

func nothingForbidden(r sqlRoutine, i int) string {
	for phrase, why := range forbiddenPhrases() {
		isPermitted := phrase == "GROUP BY" && r.steps[i].begins("DECLARE answer CURSOR") || phrase == "SKIP LOCKED" && passesOver(r, i)
		if r.steps[i].has(phrase) && !isPermitted {
			return fmt.Sprintf("%s: %s", phrase, why)
		}
	}
	return ""
}

// passesOver tells of a step that it only looks for what may be changed, and that the next call finds what it does not.
func passesOver(r sqlRoutine, i int) bool {
	return r.isOneOf("inbox_appl_locks", "see_appl_lock") && r.steps[i].verb() == "for"
}

// block returns the verbs of the compound statement that a step stands in.
func (r sqlRoutine) block(i int) []string {
	var verbs []string
	for _, step := range r.steps[r.steps[i].opener+1:] {
		if step.depth < r.steps[i].depth {
			break
		}
		verbs = append(verbs, step.verb())
	}
	return verbs
}

// insertIsCaught: an error that is not expected leaves the procedure as it is. The one that is expected is a
// duplicate, of an INSERT into one of the tables that stands alone with its handler and its flag.
func insertIsCaught(r sqlRoutine, i int) string {
	step := r.steps[i]
	isHandler := step.has("HANDLER")
	if isHandler && !step.is("DECLARE CONTINUE HANDLER FOR SQLSTATE '23505' SET v_changed = 0") {
		return fmt.Sprintf("`%s`: the only handler is that for 23505", step)
	}
	isInsert := step.begins("INSERT INTO appl_lock (") || step.begins("INSERT INTO appl_lock_waiter (") ||
		step.begins("INSERT INTO appl_lock_ask (") || step.begins("INSERT INTO appl_lock_viewer (")
	if !isHandler && !isInsert {
		return ""
	}
	if block := r.block(i); !slices.Equal(block, []string{"declare", "set", "insert", "end"}) ||
		isHandler && !r.next(i).is("SET v_changed = 1") || !isHandler && !r.steps[i-2].has("HANDLER") {
		return fmt.Sprintf("an INSERT or a handler stands in a block of %q, want the handler, SET v_changed = 1 and the INSERT", block)
	}
	return ""
}

// outParameters returns the names and types of a routine's OUT parameters.
func (r sqlRoutine) outParameters() map[string]string {
	all := map[string]string{}
	for _, parameter := range r.parameters {
		if parameter.begins("OUT") || parameter.begins("INOUT") {
			all[parameter[1].text] = parameter[2:].String()
		}
	}
	return all
}

// outParametersAreSetFirst: go_ibm_db cannot tell a NULL, so no way out may leave one but for a timestamp.
func outParametersAreSetFirst(r sqlRoutine) []string {
	missing := r.outParameters()
	for _, step := range r.steps {
		if verb := step.verb(); verb != "begin" && verb != "declare" && verb != "set" {
			break
		}
		const literalAssignment = 4 // SET name = literal
		if step.verb() != "set" || len(step.sqlTokens) != literalAssignment {
			continue
		}
		name, value := step.sqlTokens[1].text, step.last()
		isValue := isLiteral(value) || regexp.MustCompile(`^\d+$`).MatchString(value)
		if isValue || value == "null" && missing[name] == "timestamp" {
			delete(missing, name)
		}
	}
	var complaints []string
	for name := range missing {
		complaints = append(complaints, r.complaint(r.line, "%s is not set to a literal before the first other statement", name))
	}
	return complaints
}

// outParameterIsOnlySet: HSQLDB, where the procedures are tested, cannot read one; and none is set to NULL
// but a timestamp.
func outParameterIsOnlySet(r sqlRoutine, i int) string {
	step := r.steps[i]
	for name, kind := range r.outParameters() {
		for at, token := range step.sqlTokens {
			if token.text == name && (at != 1 || step.verb() != "set") {
				return name + " is used, not only set"
			}
		}
		if step.is("SET "+name+" = NULL") && kind != "timestamp" {
			return name + " is set to NULL"
		}
	}
	return ""
}

// currentIsClockOrTimeout: local time jumps, and no other register is ours to read or to set.
func currentIsClockOrTimeout(r sqlRoutine, i int) string {
	if step := r.steps[i]; step.has("CURRENT") && !step.is(readClock) && !step.is(setLockTimeout(r)) {
		return fmt.Sprintf("`%s`: CURRENT stands only in `%s` and in `%s`", step, readClock, setLockTimeout(r))
	}
	return ""
}

var durationUnit = regexp.MustCompile(`^(microsecond|second|minute|hour|day|week|month|year)s?$`)

// durationIsParenthesised: a bare variable is not in LUW's diagram, and HSQLDB has no plurals.
func durationIsParenthesised(r sqlRoutine, i int) string {
	tokens := r.steps[i].sqlTokens
	for at, token := range tokens {
		isFunction := at+1 < len(tokens) && tokens[at+1].text == "("
		if !durationUnit.MatchString(token.text) || isFunction || at == 0 {
			continue
		}
		open := tokens.parenthesis(at - 1)
		if token.text != "second" || open < 1 || open > at || !slices.Contains([]string{"+", "-"}, tokens[open-1].text) {
			return fmt.Sprintf("`%s`: a duration is written as (x) SECOND", tokens)
		}
	}
	return ""
}

// permittedTimes are what counts time.
func permittedTimes() []string {
	times := []string{microseconds}
	for _, moment := range []string{"v_old_expires_ts", "v_expires_ts", "l.expires_ts", "m.expires_ts"} {
		times = append(times, secondsLeft(moment), microsecondsBetween("v_now", moment))
	}
	return times
}

var countsTime = regexp.MustCompile(`\b(days|midnight_seconds|microsecond)\(`)

// timeIsCountedInBigint: a day has more microseconds than an INTEGER holds, and 69 years more seconds.
func timeIsCountedInBigint(r sqlRoutine, i int) string {
	rest := r.steps[i].String()
	if !countsTime.MatchString(rest) {
		return ""
	}
	for _, time := range permittedTimes() {
		rest = strings.ReplaceAll(rest, tokenize(time, 0).String(), "")
	}
	if countsTime.MatchString(rest) {
		return fmt.Sprintf("`%s` counts time in another way than %q", r.steps[i], permittedTimes())
	}
	return ""
}

var lengthCall = regexp.MustCompile(`\b\w*length\(\w+[,)]( codeunits32\))?`)

// lengthIsOfCharacters: other functions, and this one with another unit, count bytes.
func lengthIsOfCharacters(r sqlRoutine, i int) string {
	for _, call := range lengthCall.FindAllStringSubmatch(r.steps[i].String(), -1) {
		if !strings.HasPrefix(call[0], "character_length(") || call[1] == "" {
			return fmt.Sprintf("`%s`: want character_length(variable, codeunits32)", call[0])
		}
	}
	return ""
}

// variableHasParametersType: v_name takes what p_name holds, so that nothing is cut off before it is checked.
func variableHasParametersType(r sqlRoutine, i int) string {
	step := r.steps[i]
	if step.verb() != "declare" {
		return ""
	}
	names := step.sqlTokens[1:].split(",")
	last := names[len(names)-1]
	names[len(names)-1] = last[:1]
	kind, _, _ := strings.Cut(last[1:].String(), " default ")
	for _, parameter := range r.parameters {
		variable := "v_" + strings.TrimPrefix(parameter[1].text, "p_")
		isIt := func(name sqlTokens) bool { return name.String() == variable }
		if slices.ContainsFunc(names, isIt) && kind != parameter[2:].String() {
			return fmt.Sprintf("`%s`: %s is %s", step, parameter[1].text, parameter[2:])
		}
	}
	return ""
}

// clockIsReadBehindRow: what is judged with a clock that is read later cannot have ended meanwhile unseen.
func clockIsReadBehindRow(r sqlRoutine, i int) string {
	judges := r.isOneOf("get_appl_lock", "release_appl_lock", "appl_lock_move", "note_appl_lock", "inquire_appl_lock", "assert_appl_lock",
		"renew_appl_locks", "get_appl_lock_permit", "announce_appl_lock_waiter", "ask_appl_lock", "answer_appl_lock")
	judged := func(step sqlStep) bool { return step.verb() == "select" && step.has("appl_lock") }
	switch step := r.steps[i]; {
	case judges && judged(step) && !r.next(i).is(readClock):
		return fmt.Sprintf("directly behind the SELECT of appl_lock stands `%s`, want `%s`", r.next(i), readClock)
	case judges && step.is(readClock) && (i == 0 || !judged(r.steps[i-1]) && !r.steps[i-1].is("SET v_begun = v_now")):
		return "the clock is read elsewhere than directly behind the SELECT of appl_lock"
	}
	return ""
}

// lockTimeoutIsSet: LUW's default waits for ever.
func lockTimeoutIsSet(r sqlRoutine) []string {
	waits := !r.zos() && r.isOneOf("get_appl_lock", "release_appl_lock", "appl_lock_move", "take_appl_lock", "note_appl_lock", "assert_appl_lock",
		"purge_appl_locks", "purge_appl_lock_history", "renew_appl_locks", "announce_appl_lock_waiter", "retract_appl_lock_waiter", "poll_appl_locks",
		"see_appl_lock", "set_appl_lock_policy", "drop_appl_lock_policy", "ask_appl_lock", "answer_appl_lock", "inbox_appl_locks")
	var complaints []string
	isSet := false
	for _, step := range r.steps {
		switch line := step.sqlTokens[0].line; {
		case step.is(setLockTimeout(r)) && (!waits || isSet || step.depth != 1):
			complaints = append(complaints, r.complaint(line, "the lock timeout is set where it must not be, twice, or in a branch"))
		case step.is(setLockTimeout(r)):
			isSet = true
		case step.usesTables() && waits && !isSet:
			return append(complaints, r.complaint(line, "a table is used before the lock timeout is set"))
		}
	}
	if waits && !isSet {
		complaints = append(complaints, r.complaint(r.line, "the lock timeout is not set"))
	}
	return complaints
}

// readHasIsolation: a caller with another isolation level would keep locks, or wait where CS does not.
func readHasIsolation(r sqlRoutine, i int) string {
	step := r.steps[i]
	if !step.readsTables() {
		return ""
	}
	tokens := step.sqlTokens
	if step.last() == "do" {
		tokens = tokens[:len(tokens)-1]
	}
	wanted := "WITH CS"
	switch {
	case r.isOneOf("assert_appl_lock"):
		wanted = "WITH RS USE AND KEEP SHARE LOCKS"
	case passesOver(r, i):
		wanted = "WITH CS SKIP LOCKED DATA"
	}
	if !tokens.ends(wanted) {
		return fmt.Sprintf("a SELECT of a table ends in `%s`, want `%s`", tokens[max(0, len(tokens)-3):], wanted)
	}
	return ""
}

// selectGivesOneRow: NOT FOUND would leave the variables of the round before.
func selectGivesOneRow(r sqlRoutine, i int) string {
	if step := r.steps[i]; step.verb() == "select" && (!step.begins("SELECT COUNT(*)") || !step.has("INTO")) {
		return fmt.Sprintf("`%s` may give no row: want SELECT COUNT(*) ... INTO", step)
	}
	return ""
}

// permittedConditions are those of the changes of a table: of the very row that was read, or of a waiter or a request, which has nothing to
// decide but whether it is live. What follows a change of the row in the same call names the key: it is locked.
func permittedConditions(r sqlRoutine, i int, table string) []string {
	key, read := "object_type = v_object_type AND object_id = v_object_id", " AND fence = v_old_fence AND lock_ts = v_old_lock_ts AND expires_ts = v_old_expires_ts"
	if r.isOneOf("appl_lock_move") {
		key = "object_type = p_object_type AND object_id = p_object_id"
	}
	waiterKey := key + " AND operator_id = v_operator_id AND client_id = v_client_id"
	const holder = "COALESCE((SELECT operator_id FROM appl_lock AS l WHERE object_type = object_type AND object_id = object_id" +
		" AND released_ts IS NULL AND expires_ts > v_now), '')"
	locks := []string{
		key + read + " AND released_ts IS NULL",
		"object_type = c_object_type AND object_id = c_object_id AND fence = c_fence AND lock_ts = c_lock_ts AND expires_ts = c_expires_ts" +
			" AND (released_ts = c_released_ts OR (released_ts IS NULL AND c_released_ts IS NULL))",
	}
	switch {
	case r.isBehindChange(i):
		locks = []string{key}
	case r.isOneOf("get_appl_lock"):
		locks = []string{key + read + " AND (released_ts = v_old_released_ts OR (released_ts IS NULL AND v_old_released_ts IS NULL)) AND note = v_old_note"}
	}
	return map[string][]string{
		"appl_lock": locks,
		// Of the dead of one object, or of its own row.
		"appl_lock_viewer": {
			waiterKey,
			key + " AND expires_ts < v_before",
			"object_type = c_viewer_type AND object_id = c_viewer_id AND operator_id = c_viewer_operator" +
				" AND client_id = c_viewer_client AND expires_ts = c_viewer_expires",
		},
		"appl_lock_serialize": {key},
		"appl_lock_policy":    {"object_type = v_object_type"},
		"appl_lock_fence":     {"fence < v_highest_fence"},
		// Nobody changes an event, and it is nobody's decision.
		"appl_lock_event": {"event_id = c_event_id"},
		"appl_lock_waiter": {
			waiterKey,
			"client_id = v_client_id AND (until_ts IS NULL OR (until_ts > v_now AND until_ts > expires_ts))",
			"client_id = v_client_id AND (until_ts IS NULL OR until_ts > v_now) AND holder_id <> " + holder + " WITH CS",
			"object_type = c_waiter_type AND object_id = c_waiter_id AND operator_id = c_waiter_operator" +
				" AND client_id = c_waiter_client AND expires_ts = c_waiter_expires",
		},
		"appl_lock_ask": requestConditions(r, key),
	}[table]
}

// requestConditions are those of the changes of requests. A key of three columns is that of all that an operator asks for the object.
func requestConditions(r sqlRoutine, key string) []string {
	asker := key + " AND operator_id = v_asker_id"
	const candidate = "object_type = c_object_type AND object_id = c_object_id AND operator_id = c_operator_id AND client_id = c_client_id"
	return map[string][]string{
		"ask_appl_lock": {
			key + " AND operator_id = v_operator_id AND client_id = v_client_id",
			key + " AND operator_id = v_operator_id",
		},
		"answer_appl_lock": {asker + " AND (v_client_id IS NULL OR client_id = v_client_id) AND expires_ts > v_now", asker},
		"inbox_appl_locks": {candidate + " AND fence = c_fence AND shown_ts IS NULL"},
		"see_appl_lock":    {key + " AND operator_id = c_operator_id AND client_id = c_client_id AND fence = c_fence AND shown_ts IS NOT NULL"},
		"purge_appl_locks": {
			"object_type = c_request_type AND object_id = c_request_id AND operator_id = c_request_operator" +
				" AND client_id = c_request_client AND expires_ts = c_request_expires",
		},
	}[r.name]
}

// isBehindChange tells of a step that it stands where the row has been changed, and took long.
func (r sqlRoutine) isBehindChange(i int) bool {
	return r.steps[i].opener >= 0 && r.steps[r.steps[i].opener].is("IF v_now NOT BETWEEN v_begun AND v_begun + (1) SECOND THEN")
}

var alias = regexp.MustCompile(`\b[lwpfav]\.`)

// changeIsOfTheRowRead: an UPDATE or DELETE decides, so it must not find another row than the one that was
// judged, or the same one changed.
func changeIsOfTheRowRead(r sqlRoutine, i int) string {
	step := r.steps[i]
	table := step.changedTable()
	if table == "" {
		return ""
	}
	_, condition, _ := step.cut("where")
	got := tokenize(alias.ReplaceAllString(condition, ""), 0)
	if permitted := permittedConditions(r, i, table); !slices.ContainsFunc(permitted, got.is) {
		return fmt.Sprintf("a change of %s is `WHERE %s`, want %q", table, condition, permitted)
	}
	return ""
}

func changeIsCounted(r sqlRoutine, i int) string {
	const count = "GET DIAGNOSTICS v_changed = ROW_COUNT"
	table := r.steps[i].changedTable()
	decides := table == "appl_lock" && !r.isBehindChange(i) || table == "appl_lock_policy" || table == "appl_lock_event" ||
		table == "appl_lock_waiter" && r.isOneOf("announce_appl_lock_waiter") ||
		table == "appl_lock_ask" && r.isOneOf("ask_appl_lock", "answer_appl_lock") && r.steps[i].verb() == "update"
	if decides && !r.next(i).is(count) {
		return fmt.Sprintf("directly behind a change of %s stands `%s`, want `%s`", table, r.next(i), count)
	}
	return ""
}

// renewalIsOfTheSecondPass: what is checked later may still be refused, and Db2 does not take back what a procedure has
// done before it ends with an error. (HSQLDB does.)
func renewalIsOfTheSecondPass(r sqlRoutine, i int) string {
	if !r.isOneOf("renew_appl_locks") || r.steps[i].changedTable() == "" {
		return ""
	}
	for at := r.steps[i].opener; at >= 0; at = r.steps[at].opener {
		if r.steps[at].is("IF v_pass = 2 THEN") {
			return ""
		}
	}
	return "a change stands outside of `IF v_pass = 2 THEN`"
}

// messageLimit is how many bytes of a message Db2 keeps.
const messageLimit = 70

var signalPattern = regexp.MustCompile(`^signal sqlstate 'LK00[123]' set message_text = (v_message|'.*')$`)

// signalIsOurs: the message is a literal or a variable, since HSQLDB and some grammars of z/OS take nothing
// else; it begins with the routine's name.
func signalIsOurs(r sqlRoutine, i int) string {
	step := r.steps[i]
	if step.verb() != "signal" {
		return ""
	}
	signal := signalPattern.FindStringSubmatch(step.String())
	if signal == nil || len(step.sqlTokens) != len(tokenize("SIGNAL SQLSTATE 'x' SET MESSAGE_TEXT = 'x'", 0)) {
		return fmt.Sprintf("`%s` is not SIGNAL SQLSTATE 'LK00n' SET MESSAGE_TEXT = a literal or v_message", step)
	}
	subject := r.name
	if _, _, found := r.operation(); !found {
		subject = "appl_lock"
	}
	message := literalText(signal[1])
	if isLiteral(signal[1]) && (len(message) > messageLimit || !strings.HasPrefix(message, subject+": ")) {
		return fmt.Sprintf("the message %q has %d bytes, at most %d; it begins with %s", message, len(message), messageLimit, subject)
	}
	return ""
}

// calledWith returns the callee and the arguments of a CALL.
func (s sqlStep) calledWith() (callee string, arguments []sqlTokens) {
	const open = 2
	if s.verb() != "call" || len(s.sqlTokens) <= open || s.parenthesis(open) < 0 {
		return "", nil
	}
	return s.sqlTokens[1].text, s.sqlTokens[open+1 : s.parenthesis(open)].split(",")
}

// refusalNamesItsArgument: the clients read the name of the argument out of the message.
func refusalNamesItsArgument(r sqlRoutine, i int) string {
	callee, arguments := r.steps[i].calledWith()
	if !strings.HasPrefix(callee, "appl_lock_refuse_") {
		return ""
	}
	var parameters []string
	for _, parameter := range r.parameters {
		if parameter.begins("IN") {
			parameters = append(parameters, "'"+parameter[1].text+"'")
		}
	}
	if len(arguments) < 2 || !arguments[0].is("'"+r.name+"'") || !slices.Contains(parameters, arguments[1].String()) {
		return fmt.Sprintf("refuses %s, want its own name and one of its IN parameters %q", arguments, parameters)
	}
	return ""
}

// refusalsFitIntoMessages computes, for each CALL of an appl_lock_refuse_ routine, the longest message that the
// routine can make of the arguments.
func refusalsFitIntoMessages(files []sqlFile) []string {
	routines := map[string]sqlRoutine{}
	for _, file := range files {
		for _, routine := range file.routines {
			routines[routine.name] = routine
		}
	}
	var complaints []string
	for _, routine := range routines {
		for _, step := range routine.steps {
			callee, arguments := step.calledWith()
			if !strings.HasPrefix(callee, "appl_lock_refuse_") {
				continue
			}
			if length := longestMessage(routines[callee], arguments); length > messageLimit {
				complaints = append(complaints, routine.complaint(step.sqlTokens[0].line, "`%s` makes a message of %d bytes, at most %d", step, length, messageLimit))
			}
		}
	}
	return complaints
}

// longestMessage is that of all assignments to v_message, whichever branch they stand in.
func longestMessage(callee sqlRoutine, arguments []sqlTokens) int {
	given := map[string]sqlTokens{}
	for i, parameter := range callee.parameters[:min(len(callee.parameters), len(arguments))] {
		given[parameter[1].text] = arguments[i]
	}
	longest := 0
	for _, step := range callee.steps {
		if !step.begins("SET v_message =") {
			continue
		}
		length := 0
		for _, part := range step.sqlTokens[3:].split("||") {
			length += longestText(part, given)
		}
		longest = max(longest, length)
	}
	return longest
}

// longestText returns the length of a part: a literal, a parameter, or CAST(parameter AS VARCHAR(20)).
func longestText(part sqlTokens, given map[string]sqlTokens) int {
	if part.begins("CAST (") {
		part = part[2:3]
	}
	if argument, isParameter := given[part.String()]; isParameter {
		part = argument
	}
	if len(part) > 1 {
		return len("4000") // a length, counted by the caller
	}
	return len(literalText(part.String()))
}
