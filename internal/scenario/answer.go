package scenario

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/applock/applock/internal/db"
)

// wordsOf returns what the words of a row consist of: its columns by name, as testdata/scenarios/README.md has them.
func wordsOf(word string) string {
	switch word {
	case "assert", "serialize", "announce", "retract":
		return "ok"
	case "purge", "purge_history":
		return "purged"
	case "inquire":
		return "ok_fl"
	case "renew", "permit", "transfers", "releases":
		return "outcome"
	case "list", "poll":
		return "object"
	case "waiters", "asking", "viewers":
		return "object/operator_id/client_id"
	case "see":
		return "kind/operator_id/client_id"
	case "events":
		return "event/object/actor_id"
	case "inbox":
		return "kind/object/other_operator_id"
	case "stats":
		return "object_type/department_id"
	case "policies":
		return "object_type/default_ttl_seconds/longest_ttl_seconds/take_reason_fl/history_level"
	}
	return "ok_fl outcome"
}

var columnName = regexp.MustCompile(`\w+`)

// RowsAnswer returns the answer that rows of the contract's columns are, whose names may begin with p_.
func RowsAnswer(word string, rows []map[string]any) Answer {
	answer := Answer{Values: map[string]string{}}
	if wordsOf(word) == "ok" {
		return Answer{Words: []string{"ok"}}
	}
	for i, row := range rows {
		values := textsOf(row)
		for part := range strings.FieldsSeq(wordsOf(word)) {
			answer.Words = append(answer.Words, columnName.ReplaceAllStringFunc(part, func(name string) string { return values[name] }))
		}
		for name, value := range values {
			answer.Values[nth(name, i+1)] = value
		}
	}
	if len(answer.Words) == 0 {
		answer.Words = []string{"none"}
	}
	return answer
}

// textsOf returns the values of a row as texts, with those that a scenario computes from them.
func textsOf(row map[string]any) map[string]string {
	values := map[string]string{}
	times := map[string]time.Time{}
	for name, value := range row {
		name = strings.TrimPrefix(name, "p_")
		values[name] = text(value)
		switch at, isTime := moment(name, value); {
		case isTime && at.IsZero():
			values[name] = ""
		case isTime:
			times[name], values[name] = at, at.UTC().Format(time.RFC3339Nano)
		}
	}
	if objectType, known := values["object_type"]; known {
		values["object"] = objectType + ":" + values["object_id"]
	}
	if _, known := values["ttl_seconds"]; !known {
		values["ttl_seconds"] = secondsBetween(times, "lock_ts", "expires_ts")
	}
	values["wait_seconds"] = secondsBetween(times, "since_ts", "until_ts")
	return values
}

// text returns NULL as an empty text.
func text(value any) string {
	if value == nil {
		return ""
	}
	return fmt.Sprint(value)
}

// moment returns the time in a column of that type. JSON and MySQL's client have texts.
func moment(column string, value any) (at time.Time, isTime bool) {
	if at, isTime := value.(time.Time); isTime {
		return at, true
	}
	if !strings.HasSuffix(column, "_ts") {
		return at, false
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02 15:04:05.999999"} {
		if at, err := time.Parse(layout, text(value)); err == nil {
			return at, true
		}
	}
	return at, false
}

// secondsBetween returns an empty text if one of the times is missing.
func secondsBetween(times map[string]time.Time, from, until string) string {
	start, started := times[from]
	end, ended := times[until]
	if !started || !ended {
		return ""
	}
	return strconv.FormatFloat(end.Sub(start).Round(time.Second).Seconds(), 'f', -1, 64)
}

// nth returns the name of an argument or value of the nth row: fence, fence_2, fence_3.
func nth(name string, n int) string {
	if n == 1 {
		return name
	}
	return name + "_" + strconv.Itoa(n)
}

// ObjectsAnswer returns the answer in objects of docs/json.md, which package applock and applockctl give: it looks for the contract's columns in
// them.
func ObjectsAnswer(word string, objects []map[string]any) Answer {
	rows := make([]map[string]any, len(objects))
	for i, object := range objects {
		rows[i] = map[string]any{}
		for _, column := range columnsOf(word) {
			name := strings.TrimPrefix(column.Name, "p_")
			rows[i][name] = valueIn(object, word, name)
			if rows[i][name] == nil && column.Type == db.Number && !strings.Contains(column.Meaning, "NULL = ") {
				rows[i][name] = 0
			}
		}
	}
	return RowsAnswer(word, rows)
}

// columnsOf returns the columns of an answer.
func columnsOf(word string) []db.Parameter {
	if view, isRead := ViewOf(word); isRead {
		return view.Columns
	}
	operation, _ := OperationOf(word)
	if operation.ResultSet() {
		return operation.Columns
	}
	return operation.RowParameters()
}

// valueIn returns the value of a column, nil if the object does not have it.
func valueIn(object map[string]any, word, column string) any {
	outcome := text(object["outcome"])
	isYes := granted(word, outcome)
	switch column {
	case "ok_fl":
		return map[bool]string{true: "Y", false: "N"}[isYes]
	case "event", "kind":
		return outcome
	case "slot_id":
		return object["object_id"]
	case "operator_id", "department_id":
		if word == "inquire" || word == "permit" || word == "list" {
			return object[strings.Replace("holder_"+column, "operator_", "", 1)]
		}
	case "old_operator_id", "old_department_id":
		holder := strings.NewReplacer("old_operator", "holder", "old", "holder").Replace(column)
		switch outcome {
		case "HELD", "ASKED":
			return object[holder]
		case "TAKEN", "GIVEN":
			return object["former_"+holder]
		}
		return nil
	case "fence":
		if outcome == "HELD" && !isYes || outcome == "OWN" {
			return 0 // a refusal does not have it
		}
	case "default_ttl_seconds", "longest_ttl_seconds", "yield_after_seconds":
		if text(object[column]) == "0" {
			return nil
		}
	}
	return object[column]
}

// granted reports whether an outcome is a yes. The outcome of an inquiry says whether there is a lock.
func granted(word, outcome string) bool {
	if word == "inquire" {
		return outcome == "HELD"
	}
	operation, _ := OperationOf(word)
	for _, answer := range operation.Outcomes() {
		if answer.Outcome == outcome {
			return answer.Granted
		}
	}
	return false
}

// AnswerOrError returns the answer that a driver's error is in the contract.
func AnswerOrError(answer Answer, err error) (Answer, error) {
	switch db.KindOf(err) {
	case db.KindBusy:
		return Answer{Words: []string{"BUSY"}}, nil
	case db.KindRetry:
		return Answer{Words: []string{"RETRY"}}, nil
	}
	return answer, err
}

// EachGrant returns the arguments of each grant of a renewal, by their names without numbers.
func EachGrant(args Args) []Args {
	var result []Args
	for n := 1; ; n++ {
		grant := Args{}
		for _, name := range []string{"object_type", "object_id", "operator_id", "fence", "ttl_seconds"} {
			if value, given := args[nth(name, n)]; given {
				grant[name] = value
			}
		}
		if len(grant) == 0 {
			return result
		}
		result = append(result, grant)
	}
}
