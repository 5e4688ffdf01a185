package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/scenario"
	"github.com/applock/applock/internal/testing/contract"
)

// callForm is the procedure, as a program in any language calls it.
func callForm(operation db.Operation, arguments string) string {
	if operation.ResultSet() {
		return fmt.Sprintf("SELECT * FROM applock.%s(%s)", operation.Name, arguments)
	}
	return fmt.Sprintf("CALL applock.%s(%s)", operation.Name, arguments)
}

// rowForm is the function that returns the OUT parameters as a row.
func rowForm(operation db.Operation, arguments string) string {
	return fmt.Sprintf("SELECT * FROM applock.%s(%s)", operation.RowForm(), arguments)
}

// sqlExecutor calls the operations with bare SQL.
func sqlExecutor(pool *pgxpool.Pool, form func(db.Operation, string) string) scenario.Executor {
	return contract.Procedures(func(ctx context.Context, called db.Operation, values []any) ([]map[string]any, error) {
		placeholders := make([]string, len(values))
		for i := range values {
			placeholders[i] = "$" + strconv.Itoa(i+1)
		}
		query := form(called, strings.Join(placeholders, ", "))
		rows, err := pool.Query(ctx, query, append([]any{pgx.QueryExecModeExec}, values...)...)
		if err != nil {
			return nil, err
		}
		return pgx.CollectRows(rows, pgx.RowToMap)
	}, refused)
}

func refused(err error) (code, parameter string) {
	var pgErr *pgconn.PgError
	if !errors.As(err, &pgErr) || !strings.HasPrefix(pgErr.Code, "LK") {
		return "", ""
	}
	return pgErr.Code, pgErr.ColumnName
}
