package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/applock/applock/internal/db/dbtest"
)

// routine is an operation's name and its IN parameters in order.
type routine struct {
	name       string
	parameters []string
}

func routines() map[string]routine {
	return map[string]routine{
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

// callForm is the procedure, as a program in any language calls it.
func callForm(routine routine, arguments string) string {
	if routine.name == "list_appl_locks" {
		return fmt.Sprintf("SELECT * FROM applock.list_appl_locks(%s)", arguments)
	}
	return fmt.Sprintf("CALL applock.%s(%s)", routine.name, arguments)
}

// rowForm is the function that returns the OUT parameters as a row.
func rowForm(routine routine, arguments string) string {
	if routine.name == "list_appl_locks" {
		return callForm(routine, arguments)
	}
	return fmt.Sprintf("SELECT * FROM applock.%s_row(%s)", routine.name, arguments)
}

// sqlExecutor calls the operations with bare SQL, without any of this project's Go code.
func sqlExecutor(pool *pgxpool.Pool, form func(routine, string) string) dbtest.Executor {
	return func(ctx context.Context, operation string, args dbtest.Args) (dbtest.Answer, error) {
		called, known := routines()[operation]
		if !known {
			return dbtest.Answer{}, fmt.Errorf("unknown operation %q", operation)
		}
		placeholders := make([]string, len(called.parameters))
		values := make([]any, len(called.parameters))
		for i, parameter := range called.parameters {
			placeholders[i] = "$" + strconv.Itoa(i+1)
			value, given := args[parameter]
			if number, err := strconv.ParseInt(value, 10, 64); err == nil && isNumber(parameter) {
				values[i] = number
			} else if given {
				values[i] = value
			}
		}
		query := form(called, strings.Join(placeholders, ", "))
		rows, err := pool.Query(ctx, query, append([]any{pgx.QueryExecModeExec}, values...)...)
		if err != nil {
			return errorAnswer(err)
		}
		results, err := pgx.CollectRows(rows, pgx.RowToMap)
		if err != nil {
			return errorAnswer(err)
		}
		return rowsAnswer(operation, results), nil
	}
}

func isNumber(parameter string) bool {
	return parameter == "fence" || parameter == "max_rows" || strings.HasSuffix(parameter, "_seconds")
}

func rowsAnswer(operation string, rows []map[string]any) dbtest.Answer {
	if operation == "list" {
		var objects []string
		for _, row := range rows {
			objects = append(objects, fmt.Sprintf("%s:%s", row["object_type"], row["object_id"]))
		}
		return dbtest.ListAnswer(objects)
	}
	if operation == "assert" || operation == "serialize" {
		return dbtest.Answer{Words: []string{"ok"}}
	}
	answer := dbtest.Answer{Values: map[string]string{}}
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

func errorAnswer(err error) (dbtest.Answer, error) {
	var pgErr *pgconn.PgError
	if !errors.As(err, &pgErr) || !strings.HasPrefix(pgErr.Code, "LK") {
		return dbtest.Answer{}, err
	}
	words := []string{pgErr.Code}
	if pgErr.ColumnName != "" {
		words = append(words, strings.TrimPrefix(pgErr.ColumnName, "p_"))
	}
	return dbtest.Answer{Words: words}, nil
}
