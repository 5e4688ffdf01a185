// Package scenario is the language of the scenarios of testdata: it parses their steps and compares answers. The contract suite plays them on
// every dialect and in every way of calling, and verify on a live database.
package scenario

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/applock/applock/internal/db"
)

// Args are the named arguments of a step; a missing one is NULL.
type Args map[string]string

// Answer is the answer of a call, in the terms of testdata/scenarios/README.md.
type Answer struct {
	// Words are the flag and the outcome, or the code and the argument of an error.
	Words []string
	// Values are the OUT values by name, without "p_".
	Values map[string]string
}

// Executor calls operations in one way. An error means that the call itself failed. All answers in the contract, including errors, are an
// Answer.
type Executor func(ctx context.Context, operation string, args Args) (Answer, error)

// ErrNotOffered means that an executor does not have the operation. The step is skipped.
var ErrNotOffered = errors.New("not offered by this way of calling")

// Word returns a scenario's word for an operation: the verb of its name, or its subject if another operation has the verb.
func Word(operation db.Operation) string {
	switch operation.Name {
	case "get_appl_lock_permit":
		return "permit"
	case "transfer_appl_locks":
		return "transfers"
	case "release_appl_locks":
		return "releases"
	case "purge_appl_lock_history":
		return "purge_history"
	}
	verb, _, _ := strings.Cut(operation.Name, "_appl_lock")
	return verb
}

// ViewWord returns a scenario's word for reading a view.
func ViewWord(view db.View) string {
	switch view.Name {
	case "appl_lock_live":
		return "list"
	case "appl_lock_waiting":
		return "waiters"
	case "appl_lock_history":
		return "events"
	}
	return strings.TrimPrefix(view.Name, "appl_lock_")
}

// OperationOf returns the operation of a word.
func OperationOf(word string) (operation db.Operation, known bool) {
	for _, operation := range db.Contract() {
		if Word(operation) == word && !operation.Version {
			return operation, true
		}
	}
	return db.Operation{}, false
}

// ViewOf returns the view that a word reads.
func ViewOf(word string) (view db.View, known bool) {
	for _, view := range db.Views() {
		if ViewWord(view) == word {
			return view, true
		}
	}
	return db.View{}, false
}

// Scenario is a file of steps.
type Scenario struct {
	// Via names the executors for which the file is written; empty means all.
	Via   []string
	Steps []Step
}

// Step is one call with the expected answer.
type Step struct {
	// Line is its number in the file, and Text the line itself.
	Line      int
	Text      string
	Operation string
	Args      Args
	// Advance is how far the operation "advance" sets the clock.
	Advance time.Duration
	Words   []string
	Terms   []Term
}

// Term compares one OUT value.
type Term struct {
	Name     string
	Operator string
	Value    string
}

// Parse reads the text of a scenario file.
func Parse(text string) (Scenario, error) {
	var result Scenario
	for number, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if ways, found := strings.CutPrefix(line, "via "); found {
			result.Via = strings.Fields(ways)
			continue
		}
		step, err := ParseStep(line)
		if err != nil {
			return Scenario{}, fmt.Errorf("line %d: %w", number+1, err)
		}
		step.Line = number + 1
		result.Steps = append(result.Steps, step)
	}
	return result, nil
}

// ParseStep parses a step from its line.
func ParseStep(line string) (Step, error) {
	call, answer, _ := strings.Cut(line, " -> ")
	operation, rest, _ := strings.Cut(call, " ")
	parsed := Step{Text: line, Operation: operation, Args: Args{}}
	if operation == "advance" {
		duration, err := parseDuration(rest)
		parsed.Advance = duration
		return parsed, err
	}
	arguments, err := parseTerms(rest)
	if err != nil {
		return Step{}, err
	}
	for _, argument := range arguments {
		if argument.Value != null {
			parsed.Args[argument.Name] = argument.Value
		}
	}
	parsed.Words, parsed.Terms, err = parseAnswer(answer)
	return parsed, err
}

func parseAnswer(answer string) ([]string, []Term, error) {
	var words []string
	answer = strings.TrimSpace(answer)
	for answer != "" {
		word, rest, _ := strings.Cut(answer, " ")
		if strings.ContainsAny(word, "=><") {
			break
		}
		words = append(words, word)
		answer = strings.TrimSpace(rest)
	}
	terms, err := parseTerms(answer)
	return words, terms, err
}

// mostTimes is the maximum of a value's repetitions, more than any argument accepts.
const mostTimes = 100_000

// null marks the value NULL; no bare word or JSON string is equal to it.
const null = "\x00NULL"

var termPattern = regexp.MustCompile(`^(\w+)(=|>|<)("(?:[^"\\]|\\.)*"|[^\s"*]+)(?:\*(\d+))?(?:\s+|$)`)

func parseTerms(text string) ([]Term, error) {
	var terms []Term
	for text = strings.TrimSpace(text); text != ""; {
		match := termPattern.FindStringSubmatch(text)
		if match == nil {
			return nil, fmt.Errorf("cannot read %q", text)
		}
		value := match[3]
		if strings.HasPrefix(value, `"`) {
			if err := json.Unmarshal([]byte(value), &value); err != nil {
				return nil, fmt.Errorf("cannot read %s: %w", match[3], err)
			}
		} else if value == "NULL" {
			value = null
		}
		if match[4] != "" {
			times, err := strconv.Atoi(match[4])
			if err != nil || times > mostTimes {
				return nil, fmt.Errorf("cannot repeat %s more than %d times", match[3], mostTimes)
			}
			value = strings.Repeat(value, times)
		}
		terms = append(terms, Term{Name: match[1], Operator: match[2], Value: value})
		text = text[len(match[0]):]
	}
	return terms, nil
}

func parseDuration(text string) (time.Duration, error) {
	if days, found := strings.CutSuffix(text, "d"); found {
		const day = 24 * time.Hour
		number, err := strconv.ParseInt(days, 10, 64)
		if err != nil || number > int64(math.MaxInt64/day) || number < int64(math.MinInt64/day) {
			return 0, fmt.Errorf("cannot read %q", text)
		}
		return time.Duration(number) * day, nil
	}
	return time.ParseDuration(text)
}

// Bind replaces variables in arguments by their values.
func Bind(args Args, variables map[string]string) Args {
	bound := maps.Clone(args)
	for name, value := range args {
		if variable, known := variables[value]; known {
			bound[name] = variable
		}
	}
	return bound
}

// Compare returns the deviation from the expected answer, or an empty text. It binds variables.
func Compare(answer Answer, words []string, terms []Term, variables map[string]string) string {
	if !slices.Equal(answer.Words, words) {
		return fmt.Sprintf("answered %s %v", strings.Join(answer.Words, " "), answer.Values)
	}
	for _, term := range terms {
		got, known := answer.Values[term.Name]
		if !known {
			return fmt.Sprintf("the answer has no %s: %v", term.Name, answer.Values)
		}
		want := term.Value
		if strings.HasPrefix(want, "$") {
			bound, isBound := variables[want]
			if !isBound {
				variables[want] = got
				continue
			}
			want = bound
		}
		if !holds(got, term.Operator, want) {
			return fmt.Sprintf("answered %s=%q, want %s%s", term.Name, got, term.Operator, want)
		}
	}
	return ""
}

func holds(got, operator, want string) bool {
	if operator == "=" {
		return got == want
	}
	gotNumber, gotErr := strconv.ParseInt(got, 10, 64)
	wantNumber, wantErr := strconv.ParseInt(want, 10, 64)
	if gotErr != nil || wantErr != nil {
		return false
	}
	if operator == ">" {
		return gotNumber > wantNumber
	}
	return gotNumber < wantNumber
}
