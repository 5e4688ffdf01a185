package contract

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/scenario"
)

// The verdicts on a call. A refusal also names the parameter.
const (
	accepted = "accepted"
	refusal  = "LK001 "
	// undeliverable is a value that the engine does not accept as text, before a procedure sees it.
	undeliverable = "error"
)

// Goal: the façade and every dialect accept exactly the arguments that the contract allows, so a caller who bypasses the façade gains
// nothing. Text is data only: a refused value changes nothing, and an accepted value is stored as given, and no more. Method: a table of
// hostile values for each IN parameter of each operation, all other arguments being good, through each way of calling, judged by the
// limits in the contract's own words. At the end the test reads the contents of all tables.
func hostileArguments(t *testing.T, backend Backend) {
	t.Parallel()
	for _, way := range backend.Ways {
		if way == "call" {
			continue // the row form has the same procedure; the scenarios have its refusals
		}
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			place := backend.New(t)
			sentinel := applock.Object{Type: "sentinel", ID: "1"}
			before := mustGet(t, place.Client, sentinel, "SENTINEL")
			caller := newHostileCaller(backend, place, way)
			for _, operation := range db.Contract() {
				caller.tryAll(t, place, operation)
			}
			after, err := place.Client.Inquire(t.Context(), sentinel)
			if err != nil || after.Fence != before.Fence || after.Owner != before.Owner || !after.ExpiresAt.Equal(before.ExpiresAt) {
				t.Errorf("a lock that nobody has named was %+v and is %+v, %v", before, after, err)
			}
			onlyWhatWasGiven(t, place)
		})
	}
}

// hostileCaller is one way of calling.
type hostileCaller struct {
	execute  scenario.Executor
	isFacade bool
	takes    func(value string) bool
	octets   bool
}

func newHostileCaller(backend Backend, place Place, way string) hostileCaller {
	caller := hostileCaller{execute: place.Executor(way), isFacade: way == "facade", takes: backend.Takes, octets: backend.OperatorOctets}
	if caller.isFacade || caller.takes == nil {
		caller.takes = func(string) bool { return false }
	}
	return caller
}

// tryAll gives each parameter of an operation hostile values: first the ones that must be refused and must change nothing.
func (c hostileCaller) tryAll(t *testing.T, place Place, operation db.Operation) {
	t.Helper()
	before := contents(t, place)
	good := map[db.Parameter][]string{}
	for n, parameter := range operation.InParameters() {
		if !c.offers(operation, parameter) {
			continue
		}
		allowed, values, err := limitsOf(parameter, len(operation.Name)+n)
		if err != nil {
			t.Errorf("%s: %s: %v", operation.Name, parameter.Name, err)
			continue
		}
		for _, value := range values {
			switch {
			case c.leavesOut(parameter, value):
			case allowed(value) || c.isFacade && isNotGiven(parameter, value):
				good[parameter] = append(good[parameter], value)
			default:
				c.mustRefuse(t, operation, parameter, value)
			}
		}
	}
	if after := contents(t, place); !slices.Equal(after, before) {
		t.Errorf("%s: what was refused has changed\n%v\nto\n%v", operation.Name, before, after)
	}
	for parameter, values := range good {
		for _, value := range values {
			if got := c.verdict(t.Context(), operation, parameter, value); got != accepted {
				t.Errorf("%s: %s = %.80q: %s, want it %s", operation.Name, parameter.Name, value, got, accepted)
			}
		}
	}
}

func (c hostileCaller) mustRefuse(t *testing.T, operation db.Operation, parameter db.Parameter, value string) {
	t.Helper()
	want := refusal + strings.TrimPrefix(parameter.Name, "p_")
	got := c.verdict(t.Context(), operation, parameter, value)
	if got != want && (got != undeliverable || c.isFacade || isText(value)) {
		t.Errorf("%s: %s = %.80q: %s, want %s", operation.Name, parameter.Name, value, got, want)
	}
}

// offers reports whether this way of calling can give a parameter any value.
func (c hostileCaller) offers(operation db.Operation, parameter db.Parameter) bool {
	word := scenario.Word(operation)
	keptByFacade := slices.Contains([]string{"announce", "retract", "poll"}, word)                          // the façade checks first
	flagOrPage := strings.HasSuffix(parameter.Name, "_fl") || strings.HasPrefix(parameter.Name, "p_after_") // a bool; pages of its own
	isSkipped := parameter.Type == db.Document || c.isFacade && (keptByFacade || flagOrPage)                // JSON has tests of its own
	return !isSkipped
}

// verdict calls an operation with good arguments and one hostile value.
func (c hostileCaller) verdict(ctx context.Context, operation db.Operation, parameter db.Parameter, value string) string {
	args := scenario.Args{}
	for _, other := range operation.InParameters() {
		switch {
		case strings.Contains(other.Meaning, "NULL ="):
		case other.Name == "p_answer":
			args["answer"] = "NO"
		case other.Name == "p_to_operator_id":
			args["to_operator_id"] = "another"
		case other.Type == db.Number:
			args[strings.TrimPrefix(other.Name, "p_")] = "1"
		default:
			args[strings.TrimPrefix(other.Name, "p_")] = "good"
		}
	}
	args[strings.TrimPrefix(parameter.Name, "p_")] = value
	answer, err := c.execute(ctx, scenario.Word(operation), args)
	switch {
	case errors.Is(err, scenario.ErrNotOffered):
		return "not offered"
	case err != nil && !isText(value):
		return undeliverable
	case err != nil:
		return err.Error()
	case c.isFacade && strings.Join(answer.Words, " ") == refusal: // serialize without a transaction, the last check of all
		return accepted
	case answer.Words[0] == "LK001":
		return strings.Join(answer.Words, " ")
	}
	return accepted
}

// isBeyondDuration reports whether a number of seconds is more than a time.Duration in the façade can hold.
func isBeyondDuration(parameter db.Parameter, value string) bool {
	const most = int64(math.MaxInt64 / time.Second)
	number := whole(value)
	return strings.HasSuffix(parameter.Name, "_seconds") && (number > most || number < -most)
}

// isText reports whether every engine accepts a value as text.
func isText(value string) bool { return utf8.ValidString(value) && !strings.Contains(value, "\x00") }

// isNotGiven reports whether the façade treats a value as absent, where the contract has a default.
func isNotGiven(parameter db.Parameter, value string) bool {
	if !strings.Contains(parameter.Meaning, "NULL =") {
		return false
	}
	return parameter.Type == db.Number && value == "0" || parameter.Type == db.Text && value == ""
}

// limitsOf returns the values that a parameter may have, in the words of the contract, and the values to try. All parameters together try
// all texts.
func limitsOf(parameter db.Parameter, turn int) (allowed func(value string) bool, values []string, err error) {
	if strings.HasSuffix(parameter.Name, "_fl") {
		mayBeEmpty := strings.Contains(parameter.Meaning, "empty")
		return func(value string) bool {
			flag := strings.TrimRight(value, " ")
			return flag == "Y" || flag == "N" || flag == "" && mayBeEmpty
		}, hostileTexts(1, turn), nil
	}
	if strings.HasSuffix(parameter.Name, "_level") || parameter.Name == "p_answer" || parameter.Name == "p_state" {
		words := regexp.MustCompile("`([A-Z]+)`").FindAllStringSubmatch(parameter.Meaning, -1)
		return func(value string) bool {
			return slices.ContainsFunc(words, func(word []string) bool { return word[1] == strings.TrimRight(value, " ") })
		}, append(hostileTexts(1, turn), words[0][1], strings.ToLower(words[0][1])), nil
	}
	if parameter.Name == "p_position" {
		return regexp.MustCompile(`^([0-9]{1,18}(,[0-9]+(-[0-9]+)?)*)?$`).MatchString, append(hostileTexts(1, turn), quotingTexts()...), nil
	}
	least, most, err := limitsIn(parameter)
	if err != nil {
		return nil, nil, err
	}
	if parameter.Type == db.Number {
		return func(value string) bool {
			number, err := strconv.ParseInt(value, 10, 64)
			return err == nil && number >= least && number <= most
		}, hostileNumbers(least, most), nil
	}
	return func(value string) bool {
		trimmed := strings.TrimRight(value, " ")
		length := int64(utf8.RuneCountInString(trimmed))
		isName := isText(value) && (parameter.Name != "p_object_type" || !strings.Contains(trimmed, ":")) && (!isKept(parameter) || !hasControl(trimmed))
		return isName && length >= least && length <= most
	}, hostileTexts(int(most), turn), nil
}

// isKept reports whether a parameter is a type, an id, an operator, a department or a message, which may have no control characters.
func isKept(parameter db.Parameter) bool {
	return slices.Contains([]string{
		"p_object_type", "p_object_id", "p_operator_id", "p_department_id", "p_from_operator_id", "p_to_operator_id", "p_to_department_id", "p_asker_id", "p_message",
	}, parameter.Name)
}

func hasControl(text string) bool { return strings.ContainsFunc(text, unicode.IsControl) }

// leavesOut reports whether nothing is said of a value.
func (c hostileCaller) leavesOut(parameter db.Parameter, value string) bool {
	const most = 255
	isOperator := strings.HasSuffix(parameter.Name, "operator_id") || parameter.Name == "p_actor_id" || parameter.Name == "p_asker_id"
	name := strings.TrimRight(value, " ")
	tooManyBytes := c.octets && isOperator && len(name) > most && utf8.RuneCountInString(name) <= most
	return tooManyBytes || c.isFacade && isBeyondDuration(parameter, value) || c.takes(value) || isOpen(parameter, value)
}

// isOpen reports whether the contract does not say what happens to a control character. This is so in a filter, which then selects
// nothing.
func isOpen(parameter db.Parameter, value string) bool {
	isFilter := parameter.Name == "p_object_type" && parameter.Optional() || strings.HasPrefix(parameter.Name, "p_after_") || parameter.Name == "p_actor_id"
	isPosition := parameter.Name == "p_position" && (strings.Trim(value, " ") == "" || len(value) > 4000) // each engine has its limit
	return isPosition || isFilter && hasControl(value)
}

// limitsIn returns the limits in the text of a parameter's meaning. A filter or a page has the limits of its column.
func limitsIn(parameter db.Parameter) (least, most int64, err error) {
	if least, most, stated := limitsStated(parameter.Meaning); stated {
		return least, most, nil
	}
	isPage := strings.HasPrefix(parameter.Name, "p_after_")
	about := strings.Replace(parameter.Name, "p_after_", "p_", 1)
	for _, operation := range db.Contract() {
		for _, other := range operation.InParameters() {
			isSame := other.Name == parameter.Name || other.Name == about || isPage && other.Name == strings.Replace(about, "p_", "p_object_", 1)
			least, most, stated := limitsStated(other.Meaning)
			if isSame && stated && isPage && other.Type == db.Text {
				least = 0
			}
			if isSame && stated {
				return least, most, nil
			}
		}
	}
	return 0, 0, fmt.Errorf("its meaning has no limits: %q", parameter.Meaning)
}

func limitsStated(meaning string) (least, most int64, stated bool) {
	if match := regexp.MustCompile(`\b(\d+) to (\d+)\b`).FindStringSubmatch(meaning); match != nil {
		return whole(match[1]), whole(match[2]), true
	}
	if match := regexp.MustCompile(`\b(\d+) or greater`).FindStringSubmatch(meaning); match != nil {
		return whole(match[1]), math.MaxInt64, true
	}
	match := regexp.MustCompile(`\bup to (\d+) characters`).FindStringSubmatch(meaning)
	switch {
	case match == nil:
		return 0, 0, false
	case strings.Contains(meaning, "`#`"): // plus one digit, after at least one character
		return 1, whole(match[1]) - int64(len("#1")), true
	}
	return 0, whole(match[1]), true
}

func hostileNumbers(least, most int64) []string {
	numbers := []int64{math.MinInt64, math.MinInt32, -1, 0, least, least + 1, most - 1, most, math.MaxInt32, math.MaxInt32 + 1, math.MaxInt64}
	if most < math.MaxInt64 {
		numbers = append(numbers, most+1)
	}
	values := map[string]bool{}
	for _, number := range numbers {
		values[strconv.FormatInt(number, 10)] = true
	}
	return slices.Sorted(maps.Keys(values))
}

// hostileTexts are texts for a parameter of at most most characters: they try its limits and some of its quoting.
func hostileTexts(most, turn int) []string {
	values := []string{
		"", "   ", " leading and trailing   ", "a:b", "nul\x00inside", "invalid\xff", `'"\%_;--`,
		strings.Repeat("😀", most), strings.Repeat("x", most) + strings.Repeat(" ", 300), strings.Repeat("x", most+1), strings.Repeat("日", most+1),
	}
	quoting := quotingTexts()
	for n := range 4 {
		values = append(values, quoting[(4*turn+n)%len(quoting)])
	}
	return values
}

func quotingTexts() []string {
	return []string{
		"in ner", "\t", "\n", "\r\n", "\u00a0", "\u3000", "tab\t", "Y", "N", "NULL", "null", "0", ":",
		"'", "''", `"`, `\`, `\'`, `\\`, "`", "%", "_", "$1", "$$", "?", ":x", "@x", "{}", "[", "%s%n", "\x1b[2J",
		"e\u0301", "é", "ß", "İ", "\u202e", "\ufeff", "\u200b", "\uffff", "<script>", "&amp;", "\x00", "\xed\xa0\x80", "\xc0\x80", "cut \xf0\x9f\x98",
		"'; DROP TABLE appl_lock; --", "' OR '1'='1", "1); DELETE FROM appl_lock; --", `\'; DROP TABLE appl_lock; #`,
		"x' || pg_sleep(60) || 'x", "*/ DROP TABLE appl_lock /*", strings.Repeat("x", 70_000), strings.Repeat("é", 255), strings.Repeat("'", 64), strings.Repeat(`\`, 64),
	}
}

// tables are all tables with callers' text, and the columns with it.
func tables(place Place) map[string]string {
	return map[string]string{
		place.Table:             "object_type, object_id, operator_id, department_id, note",
		place.Table + "_waiter": "object_type, object_id, operator_id, department_id, client_id, holder_id",
		place.Table + "_ask":    "object_type, object_id, operator_id, department_id, client_id, message, holder_id, answer_reason",
		place.Table + "_event": "object_type, object_id, actor_id, from_operator_id, from_department_id, to_operator_id, to_department_id, " +
			"CASE WHEN event IN ('POLICY', 'PURGED', 'HISTORY_PURGED') THEN '' ELSE reason END", // their reason has the procedure's text
		place.Table + "_policy": "object_type, default_ttl_seconds, longest_ttl_seconds, take_reason_fl",
	}
}

// contents returns all rows of all tables, each as one text.
func contents(t *testing.T, place Place) []string {
	t.Helper()
	var all []string
	for table, columns := range tables(place) {
		_, rows, err := Rows(t.Context(), place.SQL, "SELECT "+columns+" FROM "+table)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rows {
			all = append(all, fmt.Sprintf("%s: %q", table, row))
		}
	}
	slices.Sort(all)
	return all
}

// onlyWhatWasGiven fails if the tables have text that no call has given.
func onlyWhatWasGiven(t *testing.T, place Place) {
	t.Helper()
	given := map[string]bool{"good": true, "sentinel": true, "SENTINEL": true, "1": true, "": true, "Y": true, "N": true}
	for _, operation := range db.Contract() {
		for n, parameter := range operation.InParameters() {
			allowed, values, err := limitsOf(parameter, len(operation.Name)+n)
			if err != nil {
				continue // already reported
			}
			for _, value := range values {
				given[strings.TrimRight(value, " ")] = allowed(value) || given[strings.TrimRight(value, " ")]
			}
		}
	}
	slot := regexp.MustCompile(`#\d+$`)
	for table, columns := range tables(place) {
		_, rows, err := Rows(t.Context(), place.SQL, "SELECT "+columns+" FROM "+table)
		if err != nil || len(rows) == 0 && table == place.Table {
			t.Fatalf("%s has %d rows: %v", table, len(rows), err)
		}
		for _, row := range rows {
			for i, value := range row {
				text, isText := value.(string)
				if isText && !given[text] && !given[slot.ReplaceAllString(text, "")] {
					t.Errorf("%s has %q in column %d of %s, which nobody gave", table, text, i+1, columns)
				}
			}
		}
	}
}
