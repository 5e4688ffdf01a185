package contract

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/scenario"
)

// operationOf returns the operation of a word in the scenarios.
func operationOf(word string) (operation db.Operation, known bool) {
	for _, operation := range db.Contract() {
		if scenario.Word(operation) == word && !operation.Version {
			return operation, true
		}
	}
	return db.Operation{}, false
}

// Procedures calls with bare SQL, without any of this project's Go code. run calls an operation with the values of its IN parameters and
// returns its rows by column. refused returns the code of an LK error and the parameter that it names, or two empty texts.
func Procedures(
	run func(ctx context.Context, called db.Operation, values []any) ([]map[string]any, error),
	refused func(err error) (code, parameter string),
) scenario.Executor {
	return func(ctx context.Context, operation string, args scenario.Args) (scenario.Answer, error) {
		if _, isRead := viewOf(operation); isRead { // for Reads
			return scenario.Answer{}, scenario.ErrNotOffered
		}
		called, known := operationOf(operation)
		if !known {
			return scenario.Answer{}, fmt.Errorf("unknown operation %q", operation)
		}
		if operation == "renew" {
			args = withDocument(args)
		}
		var values []any
		for _, parameter := range called.InParameters() {
			values = append(values, argument(parameter, args))
		}
		rows, err := run(ctx, called, values)
		if err != nil {
			code, parameter := refused(err)
			if code == "" {
				return scenario.Answer{}, err
			}
			return scenario.Answer{Words: strings.Fields(code + " " + strings.TrimPrefix(parameter, "p_"))}, nil
		}
		return rowsAnswer(operation, rows), nil
	}
}

// argument returns the value of a parameter: NULL if none is given.
func argument(parameter db.Parameter, args scenario.Args) any {
	value, given := args[strings.TrimPrefix(parameter.Name, "p_")]
	switch {
	case !given:
		return nil
	case parameter.Type == db.Number:
		return numberOrText(value)
	}
	return value
}

// numberOrText returns a number, or the text unchanged if it is none, so that the server gets it.
func numberOrText(value string) any {
	if number, err := strconv.ParseInt(value, 10, 64); err == nil {
		return number
	}
	return value
}

// Placeholders returns count question marks, for the arguments of a call.
func Placeholders(count int) string {
	return strings.TrimSuffix(strings.Repeat("?, ", count), ", ")
}

// Querier is a pool, a connection or a transaction.
type Querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// Rows returns the columns and the rows of a query. Bytes are text.
func Rows(ctx context.Context, client Querier, query string, args ...any) (columns []string, found [][]any, err error) {
	rows, err := client.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = rows.Close() }() // Err has the error
	columns, err = rows.Columns()
	if err != nil {
		return nil, nil, err
	}
	for rows.Next() {
		values, targets := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			targets[i] = &values[i]
		}
		if err := rows.Scan(targets...); err != nil {
			return nil, nil, err
		}
		for i, value := range values {
			if bytes, ok := value.([]byte); ok {
				values[i] = string(bytes)
			}
		}
		found = append(found, values)
	}
	return columns, found, rows.Err()
}

// RowsByColumn returns the rows of a query by the names of their columns, with the server's values.
func RowsByColumn(ctx context.Context, client Querier, query string, args ...any) ([]map[string]any, error) {
	columns, found, err := Rows(ctx, client, query, args...)
	if err != nil {
		return nil, err
	}
	var result []map[string]any
	for _, values := range found {
		row := map[string]any{}
		for i, column := range columns {
			row[column] = values[i]
		}
		result = append(result, row)
	}
	return result, nil
}

// RefusedParameter returns the parameter from the message of an LK error, which begins with routine and parameter.
func RefusedParameter(message string) string {
	if match := regexp.MustCompile(`^\w+: (p_\w+) `).FindStringSubmatch(message); match != nil {
		return match[1]
	}
	return ""
}

func rowsAnswer(operation string, rows []map[string]any) scenario.Answer {
	switch operation {
	case "list":
		return scenario.ListAnswer(rows)
	case "stats":
		return scenario.StatsAnswer(rows)
	case "policies":
		return scenario.PoliciesAnswer(rows)
	case "assert", "serialize", "announce", "retract":
		return scenario.Answer{Words: []string{"ok"}}
	case "renew":
		return scenario.RenewAnswer(eachRow(rows, renewedGrant))
	case "permit":
		return scenario.PermitAnswer(eachRow(rows, permit))
	case "transfers", "releases":
		return scenario.ChangesAnswer(eachRow(rows, changedLock))
	case "poll":
		return scenario.PollAnswer(eachRow(rows, awaitedObject))
	case "waiters":
		return scenario.WaitersAnswer(eachRow(rows, waiter))
	case "asking":
		return scenario.AskingAnswer(eachRow(rows, asker))
	case "events":
		return scenario.EventsAnswer(eachRow(rows, event))
	case "see":
		return scenario.SeeAnswer(eachRow(rows, presence))
	case "viewers":
		return scenario.ViewersAnswer(eachRow(rows, viewer))
	case "inbox":
		return scenario.InboxAnswer(eachRow(rows, notice))
	}
	answer := scenario.Answer{Values: map[string]string{}}
	row := rows[0]
	for name, value := range row {
		answer.Values[strings.TrimPrefix(name, "p_")] = scenario.Text(value)
	}
	for _, name := range []string{"p_ok_fl", "p_outcome", "p_purged"} {
		if value, present := row[name]; present {
			answer.Words = append(answer.Words, scenario.Text(value))
		}
	}
	if from, ok := row["p_lock_ts"].(time.Time); ok {
		until, _ := row["p_expires_ts"].(time.Time)
		answer.Values["ttl_seconds"] = strconv.FormatFloat(until.Sub(from).Round(time.Second).Seconds(), 'f', -1, 64)
	}
	return answer
}

// withDocument adds the JSON for p_grants, unless a step has its own. A missing argument is also missing in the JSON.
func withDocument(args scenario.Args) scenario.Args {
	if _, given := args["grants"]; given || len(args) == 0 {
		return args
	}
	var document []map[string]any
	for _, grant := range scenario.EachGrant(args) {
		record := map[string]any{}
		for name, value := range grant {
			record[name] = value
			if name == "fence" || name == "ttl_seconds" {
				record[name] = numberOrText(value)
			}
		}
		document = append(document, record)
	}
	text, _ := json.Marshal(document) // texts and numbers always marshal
	return scenario.Args{"grants": string(text)}
}

func eachRow[T any](rows []map[string]any, convert func(row map[string]any) T) []T {
	var result []T
	for _, row := range rows {
		result = append(result, convert(row))
	}
	return result
}

func renewedGrant(row map[string]any) db.RenewedGrant {
	return db.RenewedGrant{
		ObjectType:      scenario.Text(row["object_type"]),
		ObjectID:        scenario.Text(row["object_id"]),
		Outcome:         db.Outcome(scenario.Text(row["outcome"])),
		OldOperatorID:   scenario.Text(row["old_operator_id"]),
		OldDepartmentID: scenario.Text(row["old_department_id"]),
		ExpiresTS:       instant(row["expires_ts"]),
		SecondsLeft:     whole(row["seconds_left"]),
	}
}

func permit(row map[string]any) db.Permit {
	return db.Permit{
		Outcome:      db.Outcome(scenario.Text(row["outcome"])),
		SlotID:       scenario.Text(row["slot_id"]),
		OperatorID:   scenario.Text(row["operator_id"]),
		DepartmentID: scenario.Text(row["department_id"]),
		Fence:        whole(row["fence"]),
		ExpiresTS:    instant(row["expires_ts"]),
		SecondsLeft:  whole(row["seconds_left"]),
		Note:         scenario.Text(row["note"]),
	}
}

func changedLock(row map[string]any) db.ChangedLock {
	return db.ChangedLock{
		ObjectType:      scenario.Text(row["object_type"]),
		ObjectID:        scenario.Text(row["object_id"]),
		Outcome:         db.Outcome(scenario.Text(row["outcome"])),
		OldOperatorID:   scenario.Text(row["old_operator_id"]),
		OldDepartmentID: scenario.Text(row["old_department_id"]),
		Fence:           whole(row["fence"]),
		ExpiresTS:       instant(row["expires_ts"]),
		SecondsLeft:     whole(row["seconds_left"]),
	}
}

func awaitedObject(row map[string]any) db.AwaitedObject {
	return db.AwaitedObject{
		ObjectType: scenario.Text(row["object_type"]),
		ObjectID:   scenario.Text(row["object_id"]),
		FreeInUS:   whole(row["free_in_us"]),
	}
}

func waiter(row map[string]any) db.Waiter {
	return db.Waiter{
		ObjectType:   scenario.Text(row["object_type"]),
		ObjectID:     scenario.Text(row["object_id"]),
		OperatorID:   scenario.Text(row["operator_id"]),
		DepartmentID: scenario.Text(row["department_id"]),
		ClientID:     scenario.Text(row["client_id"]),
		SinceTS:      instant(row["since_ts"]),
		UntilTS:      instant(row["until_ts"]),

		WaitedSeconds:      whole(row["waited_seconds"]),
		HolderID:           scenario.Text(row["holder_id"]),
		HolderDepartmentID: scenario.Text(row["holder_department_id"]),
		SecondsLeft:        whole(row["seconds_left"]),
	}
}

func asker(row map[string]any) db.Asker {
	return db.Asker{
		ObjectType:   scenario.Text(row["object_type"]),
		ObjectID:     scenario.Text(row["object_id"]),
		OperatorID:   scenario.Text(row["operator_id"]),
		DepartmentID: scenario.Text(row["department_id"]),
		ClientID:     scenario.Text(row["client_id"]),
		Message:      scenario.Text(row["message"]),
		SinceTS:      instant(row["since_ts"]),
		UntilTS:      instant(row["until_ts"]),
		Answer:       scenario.Text(row["answer"]),
		AnswerReason: scenario.Text(row["answer_reason"]),

		WaitedSeconds:      whole(row["waited_seconds"]),
		HolderID:           scenario.Text(row["holder_id"]),
		HolderDepartmentID: scenario.Text(row["holder_department_id"]),
		SecondsLeft:        whole(row["seconds_left"]),
	}
}

func viewer(row map[string]any) db.Viewer {
	return db.Viewer{
		ObjectType:   scenario.Text(row["object_type"]),
		ObjectID:     scenario.Text(row["object_id"]),
		OperatorID:   scenario.Text(row["operator_id"]),
		DepartmentID: scenario.Text(row["department_id"]),
		ClientID:     scenario.Text(row["client_id"]),
		State:        db.PresenceState(scenario.Text(row["state"])),
		SinceTS:      instant(row["since_ts"]),
		SecondsLeft:  whole(row["seconds_left"]),
	}
}

func presence(row map[string]any) db.Presence {
	return db.Presence{
		Kind:         db.PresenceKind(scenario.Text(row["kind"])),
		OperatorID:   scenario.Text(row["operator_id"]),
		DepartmentID: scenario.Text(row["department_id"]),
		ClientID:     scenario.Text(row["client_id"]),
		State:        db.PresenceState(scenario.Text(row["state"])),
		SinceTS:      instant(row["since_ts"]),
		SecondsLeft:  whole(row["seconds_left"]),
		Message:      scenario.Text(row["message"]),
	}
}

func event(row map[string]any) db.Event {
	return db.Event{
		EventID:          whole(row["event_id"]),
		EventTS:          instant(row["event_ts"]),
		ObjectType:       scenario.Text(row["object_type"]),
		ObjectID:         scenario.Text(row["object_id"]),
		Event:            db.EventKind(scenario.Text(row["event"])),
		ActorID:          scenario.Text(row["actor_id"]),
		DBUser:           scenario.Text(row["db_user"]),
		Program:          scenario.Text(row["program"]),
		FromOperatorID:   scenario.Text(row["from_operator_id"]),
		FromDepartmentID: scenario.Text(row["from_department_id"]),
		ToOperatorID:     scenario.Text(row["to_operator_id"]),
		ToDepartmentID:   scenario.Text(row["to_department_id"]),
		FromFence:        whole(row["from_fence"]),
		ToFence:          whole(row["to_fence"]),
		Reason:           scenario.Text(row["reason"]),
	}
}

func notice(row map[string]any) db.Notice {
	return db.Notice{
		Kind:              db.NoticeKind(scenario.Text(row["kind"])),
		EventID:           whole(row["event_id"]),
		EventTS:           instant(row["event_ts"]),
		ObjectType:        scenario.Text(row["object_type"]),
		ObjectID:          scenario.Text(row["object_id"]),
		OtherOperatorID:   scenario.Text(row["other_operator_id"]),
		OtherDepartmentID: scenario.Text(row["other_department_id"]),
		SecondsLeft:       whole(row["seconds_left"]),
		Reason:            scenario.Text(row["reason"]),
		SafeEventID:       whole(row["safe_event_id"]),
		Message:           scenario.Text(row["message"]),
		ClientID:          scenario.Text(row["client_id"]),
		Fence:             whole(row["fence"]),
	}
}

// whole returns -1, which no step expects, if the value is no whole number.
func whole(value any) int64 {
	number, err := strconv.ParseInt(scenario.Text(value), 10, 64)
	if err != nil {
		return -1
	}
	return number
}

// instant is zero for NULL. MySQL's client returns a time as text by default.
func instant(value any) time.Time {
	if text, isText := value.(string); isText {
		result, _ := time.Parse("2006-01-02 15:04:05.999999", text)
		return result
	}
	result, _ := value.(time.Time)
	return result
}
