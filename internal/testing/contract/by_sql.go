package contract

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"

	driver "github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/scenario"
)

// MySQLRow calls the row forms, whose answer is a result set.
func MySQLRow(handle *sql.DB) scenario.Executor {
	return Procedures(func(ctx context.Context, called db.Operation, values []any) ([]map[string]any, error) {
		return RowsByColumn(ctx, handle, fmt.Sprintf("CALL %s(%s)", called.RowForm(), Placeholders(len(values))), values...)
	}, refusedByMySQL)
}

// MySQLCall calls the procedures with session variables for their OUT parameters, as a program in any
// language can.
func MySQLCall(handle *sql.DB) scenario.Executor {
	return Procedures(func(ctx context.Context, called db.Operation, values []any) ([]map[string]any, error) {
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
		arguments := strings.Join(append([]string{Placeholders(len(values))}, variables...), ", ")
		answer, err := RowsByColumn(ctx, conn, fmt.Sprintf("CALL %s(%s)", called.Name, arguments), values...)
		if err != nil || len(columns) == 0 {
			return answer, err
		}
		if len(answer) > 0 {
			return nil, fmt.Errorf("%s emitted a result set", called.Name)
		}
		return RowsByColumn(ctx, conn, "SELECT "+strings.Join(columns, ", "))
	}, refusedByMySQL)
}

// refusedByMySQL takes the parameter from the message.
func refusedByMySQL(err error) (code, parameter string) {
	var answer *driver.MySQLError
	if !errors.As(err, &answer) || !strings.HasPrefix(string(answer.SQLState[:]), "LK") {
		return "", ""
	}
	return string(answer.SQLState[:]), RefusedParameter(answer.Message)
}

// PostgresCall is the procedure, as a program in any language calls it.
func PostgresCall(operation db.Operation, arguments string) string {
	if operation.ResultSet() {
		return fmt.Sprintf("SELECT * FROM applock.%s(%s)", operation.Name, arguments)
	}
	return fmt.Sprintf("CALL applock.%s(%s)", operation.Name, arguments)
}

// PostgresRow is the function that returns the OUT parameters as a row.
func PostgresRow(operation db.Operation, arguments string) string {
	return fmt.Sprintf("SELECT * FROM applock.%s(%s)", operation.RowForm(), arguments)
}

// Postgres calls the operations with bare SQL in one of these forms, and in one of pgx's modes.
func Postgres(pool *pgxpool.Pool, mode pgx.QueryExecMode, form func(db.Operation, string) string) scenario.Executor {
	return Procedures(func(ctx context.Context, called db.Operation, values []any) ([]map[string]any, error) {
		placeholders := make([]string, len(values))
		for i := range values {
			placeholders[i] = "$" + strconv.Itoa(i+1)
		}
		query := form(called, strings.Join(placeholders, ", "))
		rows, err := pool.Query(ctx, query, append([]any{mode}, values...)...)
		if err != nil {
			return nil, err
		}
		return pgx.CollectRows(rows, pgx.RowToMap)
	}, refusedByPostgres)
}

func refusedByPostgres(err error) (code, parameter string) {
	var pgErr *pgconn.PgError
	if !errors.As(err, &pgErr) || !strings.HasPrefix(pgErr.Code, "LK") {
		return "", ""
	}
	return pgErr.Code, pgErr.ColumnName
}
