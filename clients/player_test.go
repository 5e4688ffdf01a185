package clients_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/scenario"
	"github.com/applock/applock/internal/testing/contract"
)

// process is a player: a program that reads a call from each line of its input, and answers with lines. adding.md says how.
// It is safe for concurrent use, one call after the other.
type process struct {
	mutex  sync.Mutex
	input  io.Writer
	output *bufio.Scanner
	errors *bytes.Buffer
	done   func() error
}

// refusal is an error that a player reports.
type refusal struct {
	state, message string
}

func (r refusal) Error() string { return r.state + " " + r.message }

// startPlayer starts a player of a driver that works in a place. It ends with the test.
func startPlayer(t *testing.T, d driver, at place) *process {
	t.Helper()
	return start(t, d.program(t, at, d.language.folder, "player", d.name))
}

func start(t *testing.T, command *exec.Cmd) *process {
	t.Helper()
	input, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var complaints bytes.Buffer
	command.Stderr = &complaints
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	wait := sync.OnceValue(command.Wait)
	t.Cleanup(func() {
		_ = input.Close()
		_ = wait()
	})
	return &process{input: input, output: bufio.NewScanner(output), errors: &complaints, done: wait}
}

// call sends a call and returns the rows of the answer. It calls read, if given, for each line that begins so, and lets the
// player go on then.
func (p *process) call(operation string, values []any, read func(fields []string)) ([][]string, error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	fields := []string{operation}
	for _, value := range values {
		fields = append(fields, encode(value))
	}
	if _, err := fmt.Fprintln(p.input, strings.Join(fields, "\t")); err != nil {
		return nil, p.ended(err)
	}
	var rows [][]string
	for p.output.Scan() {
		fields := strings.Split(p.output.Text(), "\t")
		switch {
		case fields[0] == "row":
			rows = append(rows, fields[1:])
		case fields[0] == "end":
			return rows, nil
		case fields[0] == "error" && len(fields) == 3:
			return nil, refusal{state: fields[1], message: decode(fields[2])}
		case fields[0] == "read" && read != nil:
			read(fields[1:])
			if _, err := fmt.Fprintln(p.input, "go"); err != nil {
				return nil, p.ended(err)
			}
		default:
			return nil, fmt.Errorf("the player answered %q", p.output.Text())
		}
	}
	return nil, p.ended(p.output.Err())
}

// ended describes the end of a player, with what it complained about.
func (p *process) ended(err error) error {
	err = errors.Join(err, p.done())
	return fmt.Errorf("the player ended: %w\n%s", err, tail(p.errors.String()))
}

// tail returns the end of what a program complained about: some quote all of their code.
func tail(text string) string {
	const most = 2000
	return text[max(0, len(text)-most):]
}

// executor is the player's way of calling and of reading the views.
func (p *process) executor() scenario.Executor {
	call, read := p.caller(), contract.Views(p.read)
	return func(ctx context.Context, operation string, args scenario.Args) (scenario.Answer, error) {
		answer, err := call(ctx, operation, args)
		if errors.Is(err, scenario.ErrNotOffered) && slices.Contains([]string{"list", "waiters", "asking", "viewers", "events", "policies", "stats"}, operation) {
			return read(ctx, operation, args)
		}
		return answer, err
	}
}

// read reads a view. An order of its own a caller writes a SELECT of its own for.
func (p *process) read(_ context.Context, view db.View, args scenario.Args) ([]map[string]any, error) {
	var fields []any
	for name, value := range args {
		switch {
		case slices.Contains([]string{"order", "newest_first", "older_than_seconds", "expires_within_seconds"}, name):
			return nil, scenario.ErrNotOffered
		case !strings.HasPrefix(name, "after_"):
			fields = append(fields, name, value)
		}
	}
	if args["after_type"]+args["after_event_id"] != "" {
		for _, column := range pageKey(view) {
			fields = append(fields, "after_"+column, args["after_"+strings.TrimPrefix(column, "object_")]) // after_type is that of object_type
		}
	}
	rows, err := p.call(view.Name, fields, nil)
	if err != nil {
		return nil, err
	}
	var result []map[string]any
	for _, row := range rows {
		converted, err := typed(view.Columns, row)
		if err != nil {
			return nil, err
		}
		result = append(result, converted)
	}
	return result, nil
}

// pageKey is what pages of a view go by. The department of who waits, asks or looks does not tell it from others.
func pageKey(view db.View) []string {
	var key []string
	for _, column := range view.Columns[:view.Key] {
		isPerson := slices.Contains([]string{"appl_lock_waiting", "appl_lock_asking", "appl_lock_viewers"}, view.Name)
		if !isPerson || column.Name != "department_id" {
			key = append(key, column.Name)
		}
	}
	return key
}

func (p *process) caller() scenario.Executor {
	return contract.Procedures(func(_ context.Context, called db.Operation, values []any) ([]map[string]any, error) {
		if called.Name == "renew_appl_locks" {
			grants, err := grantFields(values[0])
			if err != nil {
				return nil, err
			}
			values = grants
		}
		rows, err := p.call(called.Name, values, nil)
		if err != nil {
			return nil, err
		}
		var result []map[string]any
		for _, row := range rows {
			converted, err := judged(called, row)
			if err != nil {
				return nil, err
			}
			result = append(result, converted)
		}
		return result, nil
	}, refused)
}

var refusedParameter = regexp.MustCompile(`\w+_appl_\w+: (p_\w+) `)

func refused(err error) (code, parameter string) {
	var answer refusal
	if !errors.As(err, &answer) || !strings.HasPrefix(answer.state, "LK") {
		return "", ""
	}
	if match := refusedParameter.FindStringSubmatch(answer.message); match != nil {
		parameter = match[1]
	}
	return answer.state, parameter
}

// grantFields returns the grants of a document one behind the other, five values each. What is no list of grants with
// whole numbers cannot be said to a function that takes one.
func grantFields(document any) ([]any, error) {
	text, _ := document.(string)
	var grants []struct {
		ObjectType *string `json:"object_type"`
		ObjectID   *string `json:"object_id"`
		OperatorID *string `json:"operator_id"`
		Fence      *int64  `json:"fence"`
		TTLSeconds *int64  `json:"ttl_seconds"`
	}
	if err := json.Unmarshal([]byte(text), &grants); err != nil || grants == nil {
		return nil, scenario.ErrNotOffered
	}
	var fields []any
	for _, grant := range grants {
		fields = append(fields, grant.ObjectType, grant.ObjectID, grant.OperatorID, grant.Fence, grant.TTLSeconds)
	}
	return fields, nil
}

// judged converts a row. It begins with granted, true or false, where the operation has outcomes: what the library makes of the answer.
// Where that is not what the contract says, it is an error.
func judged(called db.Operation, row []string) (map[string]any, error) {
	outcomes := called.Outcomes()
	if len(outcomes) == 0 {
		return typed(answered(called), row)
	}
	converted, err := typed(answered(called), row[1:])
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(outcomes, func(a db.Answer) bool {
		return a.Outcome == converted["outcome"] && strconv.FormatBool(a.Granted) == row[0]
	}) {
		return nil, fmt.Errorf("%s: the library says of %q that granted is %s, and the contract does not", called.Name, row[1:], row[0])
	}
	return converted, nil
}

// answered is what a row of an operation has.
func answered(called db.Operation) []db.Parameter {
	if called.ResultSet() {
		return called.Columns
	}
	return called.RowParameters()
}

// typed gives the values of a row the names and the types of the contract.
func typed(columns []db.Parameter, row []string) (map[string]any, error) {
	if len(row) != len(columns) {
		return nil, fmt.Errorf("%d columns, want %d: %q", len(row), len(columns), row)
	}
	result := map[string]any{}
	for i, column := range columns {
		value, err := typedValue(column.Type, row[i])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", column.Name, err)
		}
		result[strings.TrimPrefix(column.Name, "p_")] = value
		result[column.Name] = value
	}
	return result, sameMoment(result)
}

func typedValue(kind db.Type, field string) (any, error) {
	switch {
	case field == `\N`:
		return nil, nil
	case kind == db.Number:
		return strconv.ParseInt(field, 10, 64)
	case kind == db.Timestamp:
		return time.Parse(time.RFC3339Nano, field)
	}
	return decode(field), nil
}

// zoneError is longer than clocks differ, and shorter than the zone in which players live is away from UTC.
const zoneError = time.Hour

// sameMoment compares the two ways in which an answer says when a lock ends: a driver that takes the server's time for the
// client's is hours off.
func sameMoment(row map[string]any) error {
	expires, known := row["expires_ts"].(time.Time)
	left, _ := row["seconds_left"].(int64)
	if !known || left <= 0 {
		return nil
	}
	off := time.Until(expires) - time.Duration(left)*time.Second
	if off.Abs() > zoneError {
		return fmt.Errorf("expires_ts is %s, and seconds_left %d: %s off", expires, left, off)
	}
	return nil
}

// encode writes a value as a field of a line.
func encode(value any) string {
	switch value := value.(type) {
	case nil:
		return `\N`
	case *string:
		if value == nil {
			return `\N`
		}
		return encode(*value)
	case *int64:
		if value == nil {
			return `\N`
		}
		return encode(*value)
	}
	return strings.NewReplacer(`\`, `\\`, "\t", `\t`, "\n", `\n`, "\r", `\r`).Replace(fmt.Sprint(value))
}

// decode reads a field that is not NULL.
func decode(field string) string {
	return strings.NewReplacer(`\\`, `\`, `\t`, "\t", `\n`, "\n", `\r`, "\r").Replace(field)
}

// environment is that of a program in another language. It lives in a zone that is not UTC, as people do,
// and that has no summer time, so that the pages show the same hours all the year.
func environment(added ...string) []string {
	return append(append(os.Environ(), "TZ=America/Panama"), added...)
}
