package mysql_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"strings"

	driver "github.com/go-sql-driver/mysql"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/dbtest"
)

// rowExecutor calls the row forms, whose answer is a result set.
func rowExecutor(handle *sql.DB) dbtest.Executor {
	return dbtest.Procedures(func(ctx context.Context, called dbtest.Routine, values []any) ([]map[string]any, error) {
		name := called.Name
		if name != "list_appl_locks" {
			name += "_row"
		}
		return query(ctx, handle, fmt.Sprintf("CALL %s(%s)", name, placeholders(values)), values...)
	}, refused)
}

// callExecutor calls the procedures with session variables for their OUT parameters, as a program in any
// language can.
func callExecutor(handle *sql.DB) dbtest.Executor {
	return dbtest.Procedures(func(ctx context.Context, called dbtest.Routine, values []any) ([]map[string]any, error) {
		conn, err := handle.Conn(ctx)
		if err != nil {
			return nil, err
		}
		defer func() { _ = conn.Close() }() // gives it back to the pool
		var variables, columns []string
		for _, out := range outParameters(called.Name) {
			variables = append(variables, "@"+out.Name)
			columns = append(columns, fmt.Sprintf("@%s AS %s", out.Name, out.Name))
			if out.Type == db.Timestamp { // a session variable has no type for it
				columns[len(columns)-1] = fmt.Sprintf("CAST(@%s AS DATETIME(6)) AS %s", out.Name, out.Name)
			}
		}
		arguments := strings.Join(append([]string{placeholders(values)}, variables...), ", ")
		answer, err := query(ctx, conn, fmt.Sprintf("CALL %s(%s)", called.Name, arguments), values...)
		if err != nil || len(columns) == 0 {
			return answer, err
		}
		if len(answer) > 0 {
			return nil, fmt.Errorf("%s emitted a result set", called.Name)
		}
		return query(ctx, conn, "SELECT "+strings.Join(columns, ", "))
	}, refused)
}

func outParameters(name string) []db.Parameter {
	var out []db.Parameter
	for _, operation := range db.Contract() {
		for _, parameter := range operation.Parameters {
			if operation.Name == name && parameter.Direction == db.Out {
				out = append(out, parameter)
			}
		}
	}
	return out
}

func placeholders(values []any) string {
	return strings.TrimSuffix(strings.Repeat("?, ", len(values)), ", ")
}

// querier is a pool, a connection or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// query returns the rows by column.
func query(ctx context.Context, client querier, query string, args ...any) ([]map[string]any, error) {
	rows, err := client.QueryContext(ctx, query, args...)
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
			row[column] = values[i]
			if bytes, ok := values[i].([]byte); ok {
				row[column] = string(bytes)
			}
		}
		result = append(result, row)
	}
	return result, rows.Err()
}

// refused takes the parameter from the message, which begins with routine and parameter.
func refused(err error) (code, parameter string) {
	var answer *driver.MySQLError
	if !errors.As(err, &answer) || !strings.HasPrefix(string(answer.SQLState[:]), "LK") {
		return "", ""
	}
	if match := regexp.MustCompile(`^\w+: (p_\w+) `).FindStringSubmatch(answer.Message); match != nil {
		parameter = match[1]
	}
	return string(answer.SQLState[:]), parameter
}
