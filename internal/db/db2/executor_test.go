package db2_test

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/db2"
	"github.com/applock/applock/internal/db/dbtest"
)

// rowExecutor calls the row forms, whose answer is a result set.
func rowExecutor(handle *sql.DB, schema string) dbtest.Executor {
	return dbtest.Procedures(func(ctx context.Context, called dbtest.Routine, values []any) ([]map[string]any, error) {
		name := called.Name
		if name != "list_appl_locks" {
			name += "_row"
		}
		return query(ctx, handle, fmt.Sprintf("CALL %s.%s(%s)", schema, name, placeholders(len(values))), values...)
	}, refused)
}

// callExecutor calls the procedures with OUT parameters.
func callExecutor(handle *sql.DB, schema string) dbtest.Executor {
	return dbtest.Procedures(func(ctx context.Context, called dbtest.Routine, values []any) ([]map[string]any, error) {
		outs, arguments := outParameters(called.Name), values
		if called.Name == "list_appl_locks" {
			return query(ctx, handle, fmt.Sprintf("CALL %s.%s(%s)", schema, called.Name, placeholders(len(arguments))), arguments...)
		}
		dests := make([]any, len(outs))
		for i, out := range outs {
			dests[i] = map[db.Type]any{
				db.Text: new(string), db.FlagType: new(string), db.Number: new(int64), db.Timestamp: new(time.Time),
			}[out.Type]
			arguments = append(arguments, sql.Out{Dest: dests[i]})
		}
		_, err := handle.ExecContext(ctx, fmt.Sprintf("CALL %s.%s(%s)", schema, called.Name, placeholders(len(arguments))), arguments...)
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

func outParameters(name string) []db.Parameter {
	for _, operation := range db.Contract() {
		if operation.Name == name {
			var outs []db.Parameter
			for _, parameter := range operation.Parameters {
				if parameter.Direction == db.Out {
					outs = append(outs, parameter)
				}
			}
			return outs
		}
	}
	return nil
}

func placeholders(count int) string {
	return strings.TrimSuffix(strings.Repeat("?, ", count), ", ")
}

// query returns the rows by column.
func query(ctx context.Context, handle *sql.DB, query string, args ...any) ([]map[string]any, error) {
	rows, err := handle.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }() // Err tells what matters
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	var result []map[string]any
	for rows.Next() {
		values, targets := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			targets[i] = &values[i]
		}
		if err := rows.Scan(targets...); err != nil {
			return nil, err
		}
		row := map[string]any{}
		for i, column := range columns {
			row[strings.ToLower(column)] = values[i]
		}
		result = append(result, row)
	}
	return result, rows.Err()
}

// refused takes the parameter from the message, which begins with routine and parameter.
func refused(err error) (code, parameter string) {
	diagnosis, answered := db2.AnswerOf(err)
	if !answered || !strings.HasPrefix(diagnosis.State, "LK") {
		return "", ""
	}
	if match := regexp.MustCompile(`^\w+: (p_\w+) `).FindStringSubmatch(diagnosis.Text); match != nil {
		parameter = match[1]
	}
	return diagnosis.State, parameter
}

// advance moves all rows of a schema into the past.
func advance(ctx context.Context, handle *sql.DB, schema string, duration time.Duration) error {
	_, err := handle.ExecContext(ctx, fmt.Sprintf("UPDATE %[1]s.appl_lock SET "+
		"acquired_ts = acquired_ts - (%[2]d) SECOND, "+
		"lock_ts = lock_ts - (%[2]d) SECOND, "+
		"expires_ts = expires_ts - (%[2]d) SECOND", schema, int64(duration.Seconds())))
	return err
}
