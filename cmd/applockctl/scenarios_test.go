package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/applock/applock/internal/scenario"
	"github.com/applock/applock/internal/testing/contract"
	"github.com/applock/applock/internal/testing/testclient"
)

// Goal: the command line gives the same verdicts as the façade and the procedures. Method: the contract's scenarios on a file, each step a
// command whose JSON and exit code are the answer.
func TestScenarios(t *testing.T) {
	t.Parallel()
	contract.Scenarios(t, contract.Backend{Ways: []string{"cli"}, New: func(t testing.TB) contract.Place {
		path := testclient.InstalledSQLite(t)
		handle, err := sql.Open("sqlite", "file:"+path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = handle.Close() })
		return contract.Place{
			Executors: map[string]scenario.Executor{"cli": userOf("sqlite:" + path).execute},
			Advance: func(ctx context.Context, duration time.Duration) error {
				_, err := handle.ExecContext(ctx, "UPDATE appl_lock SET acquired_ts = acquired_ts - $1, lock_ts = lock_ts - $1, "+
					"expires_ts = expires_ts - $1, released_ts = released_ts - $1", duration.Microseconds())
				return err
			},
		}
	}})
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
	var objects []map[string]any
	decoder := json.NewDecoder(strings.NewReader(got.stdout))
	decoder.UseNumber()
	for decoder.More() {
		var object map[string]any
		if err := decoder.Decode(&object); err != nil {
			return scenario.Answer{}, err
		}
		if object["outcome"] != string(outcomeSummed) { // which no procedure tells
			objects = append(objects, object)
		}
	}
	answer := scenario.ObjectsAnswer(operation, objects)
	if isNo := answer.Words[0] == "N" || answer.Words[0] == "FULL"; isNo != (got.code == exitNo) {
		return scenario.Answer{}, fmt.Errorf("exit code %d for %s", got.code, got.stdout)
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
