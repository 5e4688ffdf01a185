package dbtest

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Routine is an operation's name and its IN parameters in order.
type Routine struct {
	Name       string
	Parameters []string
}

func routines() map[string]Routine {
	return map[string]Routine{
		"get":       {"get_appl_lock", []string{"object_type", "object_id", "operator_id", "department_id", "ttl_seconds"}},
		"release":   {"release_appl_lock", []string{"object_type", "object_id", "operator_id", "fence"}},
		"inquire":   {"inquire_appl_lock", []string{"object_type", "object_id"}},
		"transfer":  {"transfer_appl_lock", []string{"object_type", "object_id", "from_operator_id", "to_operator_id", "to_department_id", "ttl_seconds"}},
		"list":      {"list_appl_locks", []string{"object_type", "operator_id", "department_id", "after_type", "after_id", "max_rows"}},
		"purge":     {"purge_appl_locks", []string{"older_than_seconds", "max_rows"}},
		"assert":    {"assert_appl_lock", []string{"object_type", "object_id", "operator_id", "fence"}},
		"serialize": {"serialize_appl_lock", []string{"object_type", "object_id"}},
	}
}

// Procedures is the way of calling with bare SQL, without any of this project's Go code. run calls a
// routine and returns its rows by column; refused returns the code of an LK error and the parameter that
// it names, or nothing.
func Procedures(
	run func(ctx context.Context, called Routine, values []any) ([]map[string]any, error),
	refused func(err error) (code, parameter string),
) Executor {
	return func(ctx context.Context, operation string, args Args) (Answer, error) {
		called, known := routines()[operation]
		if !known {
			return Answer{}, fmt.Errorf("unknown operation %q", operation)
		}
		values := make([]any, len(called.Parameters))
		for i, parameter := range called.Parameters {
			value, given := args[parameter]
			if number, err := strconv.ParseInt(value, 10, 64); err == nil && isNumber(parameter) {
				values[i] = number
			} else if given {
				values[i] = value
			}
		}
		rows, err := run(ctx, called, values)
		if err != nil {
			code, parameter := refused(err)
			if code == "" {
				return Answer{}, err
			}
			return Answer{Words: strings.Fields(code + " " + strings.TrimPrefix(parameter, "p_"))}, nil
		}
		return rowsAnswer(operation, rows), nil
	}
}

func isNumber(parameter string) bool {
	return parameter == "fence" || parameter == "max_rows" || strings.HasSuffix(parameter, "_seconds")
}

func rowsAnswer(operation string, rows []map[string]any) Answer {
	if operation == "list" {
		var objects []string
		for _, row := range rows {
			objects = append(objects, fmt.Sprintf("%s:%s", row["object_type"], row["object_id"]))
		}
		return ListAnswer(objects)
	}
	if operation == "assert" || operation == "serialize" {
		return Answer{Words: []string{"ok"}}
	}
	answer := Answer{Values: map[string]string{}}
	row := rows[0]
	for name, value := range row {
		answer.Values[strings.TrimPrefix(name, "p_")] = text(value)
	}
	for _, name := range []string{"p_lock_fl", "p_return_cd", "p_outcome", "p_purged"} {
		if value, present := row[name]; present {
			answer.Words = append(answer.Words, text(value))
		}
	}
	if from, ok := row["p_lock_ts"].(time.Time); ok {
		until, _ := row["p_expires_ts"].(time.Time)
		answer.Values["ttl_seconds"] = strconv.FormatFloat(until.Sub(from).Round(time.Second).Seconds(), 'f', -1, 64)
	}
	return answer
}

func text(value any) string {
	switch value := value.(type) {
	case nil:
		return ""
	case time.Time:
		return value.UTC().Format(time.RFC3339Nano)
	}
	return fmt.Sprint(value)
}
