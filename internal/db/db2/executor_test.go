package db2_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/db2"
	"github.com/applock/applock/internal/scenario"
	"github.com/applock/applock/internal/testing/contract"
)

// rowExecutor calls the row forms, whose answer is a result set.
func rowExecutor(handle *sql.DB, schema string) scenario.Executor {
	return contract.Procedures(func(ctx context.Context, called db.Operation, values []any) ([]map[string]any, error) {
		return query(ctx, handle, fmt.Sprintf("CALL %s.%s(%s)", schema, called.RowForm(), contract.Placeholders(len(values))), asDb2(called, values)...)
	}, refused)
}

// callExecutor calls the procedures with OUT parameters.
func callExecutor(handle *sql.DB, schema string) scenario.Executor {
	return contract.Procedures(func(ctx context.Context, called db.Operation, values []any) ([]map[string]any, error) {
		outs, arguments := called.OutParameters(), asDb2(called, values)
		if called.ResultSet() {
			return query(ctx, handle, fmt.Sprintf("CALL %s.%s(%s)", schema, called.Name, contract.Placeholders(len(arguments))), arguments...)
		}
		dests := make([]any, len(outs))
		for i, out := range outs {
			dests[i] = map[db.Type]any{
				db.Text: new(string), db.FlagType: new(string), db.Number: new(int64), db.Timestamp: new(time.Time),
			}[out.Type]
			arguments = append(arguments, sql.Out{Dest: dests[i]})
		}
		_, err := handle.ExecContext(ctx, fmt.Sprintf("CALL %s.%s(%s)", schema, called.Name, contract.Placeholders(len(arguments))), arguments...)
		if err != nil {
			return nil, err
		}
		row := map[string]any{}
		for i, out := range outs {
			row[out.Name] = valueOf(dests[i])
		}
		return []map[string]any{row}, nil
	}, refused)
}

// asDb2 returns the arguments as Db2 takes them: fields in place of JSON.
func asDb2(called db.Operation, values []any) []any {
	text, isText := values[0].(string)
	var grants []map[string]any
	if called.Name != "renew_appl_locks" || !isText || json.Unmarshal([]byte(text), &grants) != nil {
		return values
	}
	key := func(grant map[string]any) string { return fmt.Sprint(grant["object_type"], ":", grant["object_id"]) }
	slices.SortFunc(grants, func(a, b map[string]any) int { return strings.Compare(key(a), key(b)) })
	var fields strings.Builder
	for _, grant := range grants {
		for _, name := range []string{"object_type", "object_id", "operator_id", "fence", "ttl_seconds"} {
			value := fmt.Sprint(grant[name])
			switch grant[name].(type) {
			case nil:
				value = ""
			case float64:
				value = fmt.Sprintf("%.0f", grant[name])
			}
			fmt.Fprintf(&fields, "%d:%s", utf8.RuneCountInString(value), value)
		}
	}
	return []any{fields.String()}
}

func valueOf(dest any) any {
	switch dest := dest.(type) {
	case *string:
		return *dest
	case *int64:
		return *dest
	case *time.Time:
		if dest.Year() <= 1 { // NULL: go_ibm_db cannot tell it
			return nil
		}
		// go_ibm_db takes the timestamps of OUT parameters for local time.
		return time.Date(dest.Year(), dest.Month(), dest.Day(), dest.Hour(), dest.Minute(), dest.Second(), dest.Nanosecond(), time.UTC)
	}
	return nil
}

// query returns the rows by column, whose names Db2 has in upper case.
func query(ctx context.Context, handle *sql.DB, query string, args ...any) ([]map[string]any, error) {
	rows, err := contract.RowsByColumn(ctx, handle, query, args...)
	for i, row := range rows {
		rows[i] = map[string]any{}
		for column, value := range row {
			rows[i][strings.ToLower(column)] = value
		}
	}
	return rows, err
}

// refused takes the parameter from the message.
func refused(err error) (code, parameter string) {
	diagnosis, answered := db2.AnswerOf(err)
	if !answered || !strings.HasPrefix(diagnosis.State, "LK") {
		return "", ""
	}
	text := diagnosis.Text
	if _, quoted, isClients := strings.Cut(text, `diagnostic text: "`); isClients { // IBM's client has a sentence around it
		text, _, _ = strings.Cut(quoted, `"`)
	}
	if len(text) > messageLimit {
		return "a message that Db2 cuts off: " + text, ""
	}
	return diagnosis.State, contract.RefusedParameter(text)
}

// advance moves all rows of the tables of a schema into the past.
func advance(ctx context.Context, handle *sql.DB, schema string, duration time.Duration) error {
	for table, columns := range map[string][]string{
		"appl_lock":        {"acquired_ts", "lock_ts", "expires_ts", "released_ts"},
		"appl_lock_waiter": {"since_ts", "until_ts", "expires_ts"},
		"appl_lock_ask":    {"since_ts", "until_ts", "expires_ts", "shown_ts", "answered_ts", "edited_ts"},
		"appl_lock_viewer": {"since_ts", "seen_ts", "expires_ts"},
		"appl_lock_event":  {"event_ts"},
	} {
		var changes []string
		for _, column := range columns {
			changes = append(changes, fmt.Sprintf("%[1]s = %[1]s - (%[2]d) SECOND", column, int64(duration.Seconds())))
		}
		if _, err := handle.ExecContext(ctx, fmt.Sprintf("UPDATE %s.%s SET %s", schema, table, strings.Join(changes, ", "))); err != nil {
			return err
		}
	}
	return nil
}
