package contract

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Args are the named arguments of a step; a missing one is NULL.
type Args map[string]string

// Answer is what a call answered, in the terms of testdata/scenarios/README.md.
type Answer struct {
	// Words are the flag and the outcome, or the code and the argument of an error.
	Words []string
	// Values are the OUT values by name, without "p_".
	Values map[string]string
}

// Executor is one way of calling the operations. An error means that the call itself failed; answers
// that the contract knows, errors included, are an Answer.
type Executor func(ctx context.Context, operation string, args Args) (Answer, error)

// ErrNotOffered is the answer of an executor whose way of calling does not have the operation. The step
// is left out.
var ErrNotOffered = errors.New("not offered by this way of calling")

// Scenarios runs all files of testdata/scenarios, each through each way of calling in an empty place.
func Scenarios(t *testing.T, backend Backend) {
	t.Helper()
	eachFile(t, "scenarios", parseScenario, func(name string, scenario scenario) {
		for _, way := range backend.Ways {
			if len(scenario.via) > 0 && !slices.Contains(scenario.via, way) {
				continue
			}
			t.Run(name+"/"+way, func(t *testing.T) {
				t.Parallel()
				place := backend.New(t)
				if way == "facade" && place.Driver == nil {
					t.Fatal("the place has no Driver")
				}
				scenario.play(t, place.executor(way), place.Advance)
			})
		}
	})
}

// Player is a program in another language that plays the scenarios in a place of its own. It calls as the row form does:
// no code of ours checks an argument before the server does.
type Player struct {
	Execute Executor
	// Empty removes all locks and waiters, Advance is that of a Place.
	Empty   func(ctx context.Context) error
	Advance func(ctx context.Context, duration time.Duration) error
}

// Play runs all files of testdata/scenarios one after the other. A step that is answered otherwise is printed.
func (p Player) Play(t *testing.T) {
	t.Helper()
	eachFile(t, "scenarios", parseScenario, func(name string, scenario scenario) {
		if len(scenario.via) > 0 && !slices.Contains(scenario.via, "row") {
			return
		}
		t.Run(name, func(t *testing.T) {
			if err := p.Empty(t.Context()); err != nil {
				t.Fatal(err)
			}
			scenario.play(t, p.Execute, p.Advance)
		})
	})
}

// executor returns a way of calling. The driver does what the façade keeps to itself.
func (p Place) executor(way string) Executor {
	if way == "facade" {
		return either(p.Executors[way], Driver(p.Driver))
	}
	return p.Executors[way]
}

// either calls the second executor for what the first does not offer.
func either(first, second Executor) Executor {
	return func(ctx context.Context, operation string, args Args) (Answer, error) {
		answer, err := first(ctx, operation, args)
		if errors.Is(err, ErrNotOffered) {
			return second(ctx, operation, args)
		}
		return answer, err
	}
}

type scenario struct {
	via   []string
	steps []step
}

func (s scenario) play(t *testing.T, execute Executor, advance func(ctx context.Context, duration time.Duration) error) {
	t.Helper()
	run := scenarioRun{execute: execute, advance: advance, variables: map[string]string{}}
	for _, step := range s.steps {
		run.step(t, step)
	}
}

type step struct {
	line      int
	text      string
	operation string
	args      Args
	advance   time.Duration
	words     []string
	terms     []term
}

// term compares one OUT value.
type term struct {
	name     string
	operator string
	value    string
}

func parseScenario(text string) (scenario, error) {
	var result scenario
	for number, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if ways, found := strings.CutPrefix(line, "via "); found {
			result.via = strings.Fields(ways)
			continue
		}
		step, err := parseStep(line)
		if err != nil {
			return scenario{}, fmt.Errorf("line %d: %w", number+1, err)
		}
		step.line = number + 1
		result.steps = append(result.steps, step)
	}
	return result, nil
}

func parseStep(line string) (step, error) {
	call, answer, _ := strings.Cut(line, " -> ")
	operation, rest, _ := strings.Cut(call, " ")
	parsed := step{text: line, operation: operation, args: Args{}}
	if operation == "advance" {
		duration, err := parseDuration(rest)
		parsed.advance = duration
		return parsed, err
	}
	arguments, err := parseTerms(rest)
	if err != nil {
		return step{}, err
	}
	for _, argument := range arguments {
		if argument.value != null {
			parsed.args[argument.name] = argument.value
		}
	}
	parsed.words, parsed.terms, err = parseAnswer(answer)
	return parsed, err
}

func parseAnswer(answer string) ([]string, []term, error) {
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

// null marks the value NULL; no bare word or JSON string gives it.
const null = "\x00NULL"

var termPattern = regexp.MustCompile(`^(\w+)(=|>|<)("(?:[^"\\]|\\.)*"|[^\s"*]+)(?:\*(\d+))?(?:\s+|$)`)

func parseTerms(text string) ([]term, error) {
	var terms []term
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
			if err != nil {
				return nil, err
			}
			value = strings.Repeat(value, times)
		}
		terms = append(terms, term{name: match[1], operator: match[2], value: value})
		text = text[len(match[0]):]
	}
	return terms, nil
}

func parseDuration(text string) (time.Duration, error) {
	if days, found := strings.CutSuffix(text, "d"); found {
		number, err := strconv.Atoi(days)
		return time.Duration(number) * 24 * time.Hour, err
	}
	return time.ParseDuration(text)
}

type scenarioRun struct {
	execute   Executor
	advance   func(ctx context.Context, duration time.Duration) error
	variables map[string]string
}

func (r *scenarioRun) step(t *testing.T, step step) {
	t.Helper()
	ctx := t.Context()
	if step.operation == "advance" {
		if err := r.advance(ctx, step.advance); err != nil {
			t.Fatalf("line %d: %s: %v", step.line, step.text, err)
		}
		return
	}
	answer, err := r.execute(ctx, step.operation, bind(step.args, r.variables))
	if errors.Is(err, ErrNotOffered) {
		return
	}
	if err != nil {
		t.Fatalf("line %d: %s: %v", step.line, step.text, err)
	}
	if problem := compare(answer, step.words, step.terms, r.variables); problem != "" {
		t.Errorf("line %d: %s\n%s", step.line, step.text, problem)
	}
}

// bind puts the values of variables into arguments.
func bind(args Args, variables map[string]string) Args {
	bound := maps.Clone(args)
	for name, value := range args {
		if variable, known := variables[value]; known {
			bound[name] = variable
		}
	}
	return bound
}

// compare returns what is wrong with an answer, or nothing. It binds variables.
func compare(answer Answer, words []string, terms []term, variables map[string]string) string {
	if !slices.Equal(answer.Words, words) {
		return fmt.Sprintf("answered %s %v", strings.Join(answer.Words, " "), answer.Values)
	}
	for _, term := range terms {
		got, known := answer.Values[term.name]
		if !known {
			return fmt.Sprintf("the answer has no %s: %v", term.name, answer.Values)
		}
		want := term.value
		if strings.HasPrefix(want, "$") {
			bound, isBound := variables[want]
			if !isBound {
				variables[want] = got
				continue
			}
			want = bound
		}
		if !holds(got, term.operator, want) {
			return fmt.Sprintf("answered %s=%q, want %s%s", term.name, got, term.operator, want)
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
