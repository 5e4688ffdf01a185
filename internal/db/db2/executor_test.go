package db2_test

import (
	"context"
	"database/sql"
	"fmt"
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
		return query(ctx, handle, fmt.Sprintf("CALL %s.%s(%s)", schema, name, dbtest.Placeholders(len(values))), values...)
	}, refused)
}

// callExecutor calls the procedures with OUT parameters.
func callExecutor(handle *sql.DB, schema string) dbtest.Executor {
	return dbtest.Procedures(func(ctx context.Context, called dbtest.Routine, values []any) ([]map[string]any, error) {
		outs, arguments := dbtest.OutParameters(called.Name), values
		if called.Name == "list_appl_locks" {
			return query(ctx, handle, fmt.Sprintf("CALL %s.%s(%s)", schema, called.Name, dbtest.Placeholders(len(arguments))), arguments...)
		}
		dests := make([]any, len(outs))
		for i, out := range outs {
			dests[i] = map[db.Type]any{
				db.Text: new(string), db.FlagType: new(string), db.Number: new(int64), db.Timestamp: new(time.Time),
			}[out.Type]
			arguments = append(arguments, sql.Out{Dest: dests[i]})
		}
		_, err := handle.ExecContext(ctx, fmt.Sprintf("CALL %s.%s(%s)", schema, called.Name, dbtest.Placeholders(len(arguments))), arguments...)
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

// query returns the rows by column, whose names Db2 has in upper case.
func query(ctx context.Context, handle *sql.DB, query string, args ...any) ([]map[string]any, error) {
	rows, err := dbtest.RowsByColumn(ctx, handle, query, args...)
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
	return diagnosis.State, dbtest.RefusedParameter(diagnosis.Text)
}

// advance moves all rows of a schema into the past.
func advance(ctx context.Context, handle *sql.DB, schema string, duration time.Duration) error {
	_, err := handle.ExecContext(ctx, fmt.Sprintf("UPDATE %[1]s.appl_lock SET "+
		"acquired_ts = acquired_ts - (%[2]d) SECOND, "+
		"lock_ts = lock_ts - (%[2]d) SECOND, "+
		"expires_ts = expires_ts - (%[2]d) SECOND", schema, int64(duration.Seconds())))
	return err
}
