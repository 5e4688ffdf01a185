package mysql_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	driver "github.com/go-sql-driver/mysql"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/scenario"
	"github.com/applock/applock/internal/testing/contract"
)

// rowExecutor calls the row forms, whose answer is a result set.
func rowExecutor(handle *sql.DB) scenario.Executor {
	return contract.Procedures(func(ctx context.Context, called db.Operation, values []any) ([]map[string]any, error) {
		return contract.RowsByColumn(ctx, handle, fmt.Sprintf("CALL %s(%s)", called.RowForm(), contract.Placeholders(len(values))), values...)
	}, refused)
}

// callExecutor calls the procedures with session variables for their OUT parameters, as a program in any
// language can.
func callExecutor(handle *sql.DB) scenario.Executor {
	return contract.Procedures(func(ctx context.Context, called db.Operation, values []any) ([]map[string]any, error) {
		conn, err := handle.Conn(ctx)
		if err != nil {
			return nil, err
		}
		defer func() { _ = conn.Close() }() // gives it back to the pool
		var variables, columns []string
		for _, out := range called.OutParameters() {
			variables = append(variables, "@"+out.Name)
			columns = append(columns, fmt.Sprintf("@%s AS %s", out.Name, out.Name))
			if out.Type == db.Timestamp { // a session variable has no type for it
				columns[len(columns)-1] = fmt.Sprintf("CAST(@%s AS DATETIME(6)) AS %s", out.Name, out.Name)
			}
		}
		arguments := strings.Join(append([]string{contract.Placeholders(len(values))}, variables...), ", ")
		answer, err := contract.RowsByColumn(ctx, conn, fmt.Sprintf("CALL %s(%s)", called.Name, arguments), values...)
		if err != nil || len(columns) == 0 {
			return answer, err
		}
		if len(answer) > 0 {
			return nil, fmt.Errorf("%s emitted a result set", called.Name)
		}
		return contract.RowsByColumn(ctx, conn, "SELECT "+strings.Join(columns, ", "))
	}, refused)
}

// refused takes the parameter from the message.
func refused(err error) (code, parameter string) {
	var answer *driver.MySQLError
	if !errors.As(err, &answer) || !strings.HasPrefix(string(answer.SQLState[:]), "LK") {
		return "", ""
	}
	return string(answer.SQLState[:]), contract.RefusedParameter(answer.Message)
}
