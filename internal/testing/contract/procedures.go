package contract

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/scenario"
)

// Procedures calls with bare SQL, without any of this project's Go code. run calls an operation with the values of its IN parameters and
// returns its rows by column. refused returns the code of an LK error and the parameter that it names, or two empty texts.
func Procedures(
	run func(ctx context.Context, called db.Operation, values []any) ([]map[string]any, error),
	refused func(err error) (code, parameter string),
) scenario.Executor {
	return func(ctx context.Context, operation string, args scenario.Args) (scenario.Answer, error) {
		if _, isRead := scenario.ViewOf(operation); isRead { // for Reads
			return scenario.Answer{}, scenario.ErrNotOffered
		}
		called, known := scenario.OperationOf(operation)
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
		return scenario.RowsAnswer(operation, rows), nil
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

// whole returns -1, which no step expects, if the value is no whole number.
func whole(value string) int64 {
	number, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		return -1
	}
	return number
}
