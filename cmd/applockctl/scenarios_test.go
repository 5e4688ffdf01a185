package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/applock/applock/internal/scenario"
	"github.com/applock/applock/internal/testing/contract"
	"github.com/applock/applock/internal/testing/testclient"
)

// Goal: the command line gives the same verdicts as the façade and the procedures. Method: the contract's
// scenarios on each dialect, each step a command whose JSON and exit code are the answer.
func TestScenarios(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		contract.Scenarios(t, contract.Backend{Ways: []string{"cli"}, New: func(t testing.TB) contract.Place {
			path := testclient.InstalledSQLite(t)
			handle, err := sql.Open("sqlite", "file:"+path)
			if err != nil {
				t.Fatal(err)
			}
			return placeOf(t, "sqlite:"+path, handle,
				"UPDATE appl_lock SET acquired_ts = acquired_ts - $1, lock_ts = lock_ts - $1, expires_ts = expires_ts - $1, released_ts = released_ts - $1")
		}})
	})
	onServers(t, func(t *testing.T, s server) {
		backdate := `UPDATE applock.appl_lock SET acquired_ts = acquired_ts - $1 * interval '1 microsecond',
			lock_ts = lock_ts - $1 * interval '1 microsecond', expires_ts = expires_ts - $1 * interval '1 microsecond',
			released_ts = released_ts - $1 * interval '1 microsecond'`
		if s.isMySQL() {
			backdate = `UPDATE appl_lock, (SELECT ? AS microseconds) AS passed SET
				acquired_ts = acquired_ts - INTERVAL microseconds MICROSECOND,
				lock_ts = lock_ts - INTERVAL microseconds MICROSECOND,
				expires_ts = expires_ts - INTERVAL microseconds MICROSECOND,
				released_ts = released_ts - INTERVAL microseconds MICROSECOND`
		}
		contract.Scenarios(t, contract.Backend{Ways: []string{"cli"}, New: func(t testing.TB) contract.Place {
			dsn := s.lentDatabase(t)
			return placeOf(t, dsn, s.open(t, dsn), backdate)
		}})
	})
}

// placeOf is a place in an installed database. Backdate moves all rows by a number of microseconds, its only argument.
func placeOf(t testing.TB, dsn string, handle *sql.DB, backdate string) contract.Place {
	t.Helper()
	t.Cleanup(func() { _ = handle.Close() })
	return contract.Place{
		Executors: map[string]scenario.Executor{"cli": userOf(dsn).execute},
		Advance: func(ctx context.Context, duration time.Duration) error {
			_, err := handle.ExecContext(ctx, backdate, duration.Microseconds())
			return err
		},
	}
}

// flags maps the arguments of a step to flags.
func flags() map[string]string {
	return map[string]string{
		"operator_id":         "--operator",
		"department_id":       "--department",
		"ttl_seconds":         "--ttl",
		"fence":               "--fence",
		"actor_id":            "--by",
		"reason":              "--reason",
		"from_operator_id":    "--from",
		"to_operator_id":      "--to",
		"to_department_id":    "--to-department",
		"older_than_seconds":  "--older-than",
		"max_rows":            "--batch",
		"permits":             "--permits",
		"default_ttl_seconds": "--default-ttl",
		"longest_ttl_seconds": "--longest-ttl",
	}
}

// execute runs a step as a command.
func (u user) execute(ctx context.Context, operation string, args scenario.Args) (scenario.Answer, error) {
	if operation == "serialize" || operation == "assert" && args["fence"] == "" || operation == "list" && args["max_rows"] != "" {
		return scenario.Answer{}, scenario.ErrNotOffered
	}
	if operation == "permit" && args["permits"] == "" {
		return scenario.Answer{}, scenario.ErrNotOffered // that is get without --permits
	}
	command := []string{operation, "--output", "json"}
	switch operation {
	case "permit":
		command[0] = "get"
	case "set", "drop":
		command = append([]string{"policy"}, command...)
	case "policies":
		command = append([]string{"policy", "list"}, command[1:]...)
	}
	if args["take_reason_fl"] == "N" {
		command = append(command, "--take-without-reason")
	}
	if level := args["history_level"]; level != "" {
		command = append(command, "--history="+strings.ToLower(level))
	}
	if operation == "set" || operation == "drop" {
		command = append(command, args["object_type"])
	} else if operation == "list" || operation == "stats" || operation == "policies" {
		if objectType, given := args["object_type"]; given {
			command = append(command, "--type="+objectType)
		}
	} else if operation != "purge" {
		command = append(command, args["object_type"]+":"+args["object_id"])
	}
	if operation == "note" {
		command = append(command, args["note"])
	}
	if args["new_fl"] == "Y" {
		command = append(command, "--new")
	}
	if operation == "transfer" && args["actor_id"] == "" {
		command = append(command, "--by=unknown") // the command asks who does it
	}
	for name, value := range args {
		if operation == "take" && name == "expected_fence" {
			name = "fence"
		}
		flag, known := flags()[name]
		if !known {
			continue
		}
		if strings.HasSuffix(name, "_seconds") {
			value += "s"
		}
		command = append(command, flag+"="+value)
	}
	return cliAnswer(operation, u.runContext(ctx, command...))
}

func cliAnswer(operation string, got result) (scenario.Answer, error) {
	if got.code == exitUsage {
		return scenario.Answer{Words: []string{"LK001", blamed(got.stderr)}}, nil
	}
	if got.code != exitYes && got.code != exitNo {
		return scenario.Answer{}, fmt.Errorf("exit code %d: %s", got.code, got.stderr)
	}
	if operation == "assert" {
		return scenario.Answer{Words: []string{map[int]string{exitYes: "ok", exitNo: "LK002"}[got.code]}}, nil
	}
	var rows []map[string]any
	decoder := json.NewDecoder(strings.NewReader(got.stdout))
	decoder.UseNumber()
	for decoder.More() {
		var row map[string]any
		if err := decoder.Decode(&row); err != nil {
			return scenario.Answer{}, err
		}
		rows = append(rows, row)
	}
	switch operation {
	case "list":
		return scenario.ListAnswer(rows), nil
	case "stats":
		return scenario.StatsAnswer(rows), nil
	case "policies":
		for _, row := range rows {
			for _, name := range []string{"default_ttl_seconds", "longest_ttl_seconds"} {
				if fmt.Sprint(row[name]) == "0" {
					row[name] = nil // a command's word for none
				}
			}
		}
		return scenario.PoliciesAnswer(rows), nil
	}
	if operation == "permit" {
		return permitAnswer(rows, got.code)
	}
	return rowAnswer(operation, rows[0], got.code)
}

// rowAnswer gives an answer the words of the procedures: their flag is the exit code, and who holds an object is the
// operator of an inquiry and the old operator of a refusal.
func rowAnswer(operation string, row map[string]any, code int) (scenario.Answer, error) {
	answer := scenario.Answer{Values: map[string]string{}}
	for name, value := range row {
		answer.Values[name] = ""
		if value != nil {
			answer.Values[name] = fmt.Sprint(value)
		}
	}
	outcome := answer.Values["outcome"]
	if operation == "purge" {
		answer.Words = []string{answer.Values["purged"]}
		return answer, nil
	}
	answer.Words = []string{"Y"}
	if code == exitNo {
		answer.Words[0] = "N"
	}
	holder, department := answer.Values["holder_id"], answer.Values["holder_department_id"]
	if operation == "inquire" {
		answer.Values["operator_id"], answer.Values["department_id"] = holder, department
		if held := outcome == "HELD"; held != (code == exitYes) {
			return scenario.Answer{}, fmt.Errorf("exit code %d for %s", code, outcome)
		}
	} else {
		answer.Words = append(answer.Words, outcome)
		switch outcome {
		case "HELD":
		case "TAKEN":
			holder, department = answer.Values["former_holder_id"], answer.Values["former_holder_department_id"]
		default:
			holder, department = "", ""
		}
		answer.Values["old_operator_id"], answer.Values["old_department_id"] = holder, department
	}
	from, fromErr := time.Parse(time.RFC3339Nano, answer.Values["lock_ts"])
	until, untilErr := time.Parse(time.RFC3339Nano, answer.Values["expires_ts"])
	if fromErr == nil && untilErr == nil {
		answer.Values["ttl_seconds"] = strconv.FormatFloat(until.Sub(from).Round(time.Second).Seconds(), 'f', -1, 64)
	}
	return answer, nil
}

// permitAnswer has the outcome of each row: who holds a slot is its operator.
func permitAnswer(rows []map[string]any, code int) (scenario.Answer, error) {
	answer := scenario.Answer{Values: map[string]string{}}
	for i, row := range rows {
		suffix := ""
		if i > 0 {
			suffix = "_" + strconv.Itoa(i+1)
		}
		outcome := fmt.Sprint(row["outcome"])
		answer.Words = append(answer.Words, outcome)
		if full := outcome == "FULL"; full != (code == exitNo) {
			return scenario.Answer{}, fmt.Errorf("exit code %d for %s", code, outcome)
		}
		for key, name := range map[string]string{
			"object_id": "slot_id", "holder_id": "operator_id", "holder_department_id": "department_id",
			"fence": "fence", "expires_ts": "expires_ts", "seconds_left": "seconds_left", "note": "note",
		} {
			answer.Values[name+suffix] = fmt.Sprint(row[key])
		}
	}
	return answer, nil
}

// blamed returns the argument that an error names, by its own name or by that of its flag.
func blamed(stderr string) string {
	for name, flag := range flags() {
		if regexp.MustCompile(flag + `\b[^-]`).MatchString(stderr) {
			return name
		}
	}
	for text, name := range map[string]string{
		"the type of OBJECT": "object_type", "TYPE ": "object_type", "--type": "object_type", "the id of OBJECT": "object_id", "TEXT has": "note",
	} {
		if strings.Contains(stderr, text) {
			return name
		}
	}
	return stderr
}
