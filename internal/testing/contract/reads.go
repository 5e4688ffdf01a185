package contract

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/scenario"
)

// Reads reads the views by a SELECT, without any of this project's Go code. dialect is that of the SQL, prefix stands before the names of
// views, and run runs a query and returns its rows by the names of their columns.
func Reads(dialect, prefix string, run func(ctx context.Context, query string, values []any) ([]map[string]any, error)) scenario.Executor {
	return Views(func(ctx context.Context, view db.View, args scenario.Args) ([]map[string]any, error) {
		s := selection{dialect: dialect, prefix: prefix, view: view}
		rows, err := run(ctx, s.query(args), s.values)
		for i, row := range rows {
			rows[i] = lowerCase(row)
			if dialect == "mysql" {
				inUTC(rows[i])
			}
		}
		return rows, err
	})
}

// Views reads the views by a program. read returns the rows of a view that the arguments select.
func Views(read func(ctx context.Context, view db.View, args scenario.Args) ([]map[string]any, error)) scenario.Executor {
	return func(ctx context.Context, word string, args scenario.Args) (scenario.Answer, error) {
		view, known := scenario.ViewOf(word)
		if !known {
			return scenario.Answer{}, fmt.Errorf("%q reads no view", word)
		}
		rows, err := read(ctx, view, args)
		if err != nil {
			return scenario.Answer{}, err
		}
		return scenario.RowsAnswer(word, rows), nil
	}
}

// inUTC corrects a DATETIME, which has no zone: the client reads it in its own zone, but the server means UTC.
func inUTC(row map[string]any) {
	for name, value := range row {
		if at, isTime := value.(time.Time); isTime {
			row[name] = time.Date(at.Year(), at.Month(), at.Day(), at.Hour(), at.Minute(), at.Second(), at.Nanosecond(), time.UTC)
		}
	}
}

func lowerCase(row map[string]any) map[string]any {
	lower := map[string]any{}
	for name, value := range row {
		lower[strings.ToLower(name)] = value
	}
	return lower
}

// selection builds a SELECT from the arguments.
type selection struct {
	dialect, prefix string
	view            db.View
	conditions      []string
	values          []any
}

// bind adds a value and returns its placeholder.
func (s *selection) bind(value any) string {
	s.values = append(s.values, value)
	if s.dialect == "postgres" {
		return "$" + strconv.Itoa(len(s.values))
	}
	return "?"
}

func (s *selection) query(args scenario.Args) string {
	descends := args["newest_first"] == "Y"
	var columns []string
	for _, column := range s.view.Columns {
		columns = append(columns, "v."+column.Name)
		value, given := args[column.Name]
		switch {
		case given && s.view.Name == "appl_lock_history" && column.Name == "operator_id":
		case given:
			s.conditions = append(s.conditions, "v."+column.Name+" = "+s.bind(value))
		}
	}
	if operator, given := args["operator_id"]; given && s.view.Name == "appl_lock_history" {
		s.conditions = append(s.conditions, fmt.Sprintf("(v.actor_id = %s OR v.from_operator_id = %s OR v.to_operator_id = %s)",
			s.bind(operator), s.bind(operator), s.bind(operator)))
	}
	s.restrictTimes(args)
	s.goOn(args, descends)
	from := s.prefix + s.view.Name + " AS v"
	if args["order"] == string(db.LiveWaitedFor) {
		from += " JOIN (SELECT object_type, object_id, MIN(since_ts) AS since_ts FROM " + s.prefix + "appl_lock_waiting GROUP BY object_type, object_id) AS w" +
			" ON w.object_type = v.object_type AND w.object_id = v.object_id"
	}
	query := "SELECT " + strings.Join(columns, ", ") + " FROM " + from
	if len(s.conditions) > 0 {
		query += " WHERE " + strings.Join(s.conditions, " AND ")
	}
	return query + " ORDER BY " + s.order(args["order"], descends) + s.limit(args)
}

// restrictTimes adds the conditions on the database's clock.
func (s *selection) restrictTimes(args scenario.Args) {
	for _, each := range []struct{ argument, column string }{{"older_than_seconds", "acquired_ts <= "}, {"since_seconds", "event_ts >= "}} {
		if value, given := args[each.argument]; given {
			s.conditions = append(s.conditions, "v."+each.column+s.ago(whole(value)))
		}
	}
	if value, given := args["expires_within_seconds"]; given {
		s.conditions = append(s.conditions, "v.seconds_left <= "+strconv.FormatInt(whole(value), 10))
	}
}

// ago returns SQL for the time that many seconds before now.
func (s *selection) ago(seconds int64) string {
	switch s.dialect {
	case "postgres":
		return fmt.Sprintf("statement_timestamp() - interval '%d seconds'", seconds)
	case "mysql":
		return fmt.Sprintf("UTC_TIMESTAMP(6) - INTERVAL %d SECOND", seconds)
	}
	return fmt.Sprintf("CURRENT TIMESTAMP - CURRENT TIMEZONE - (%d) SECOND", seconds)
}

// goOn adds the condition of the next page: keys after the last one.
func (s *selection) goOn(args scenario.Args, descends bool) {
	if after, given := args["after_event_id"]; given {
		comparison := map[bool]string{false: " > ", true: " < "}[descends]
		s.conditions = append(s.conditions, "v.event_id"+comparison+s.bind(whole(after)))
		return
	}
	if _, given := args["after_type"]; !given {
		return
	}
	arguments := []string{"after_type", "after_id", "after_operator_id", "after_client_id"}
	columns := []string{"v.object_type", "v.object_id", "v.operator_id", "v.client_id"}
	if s.view.Name == "appl_lock_live" {
		arguments, columns = arguments[:2], columns[:2]
	}
	if s.dialect == "postgres" {
		var marks []string
		for _, argument := range arguments {
			marks = append(marks, s.bind(args[argument]))
		}
		s.conditions = append(s.conditions, "("+strings.Join(columns, ", ")+") > ("+strings.Join(marks, ", ")+")")
		return
	}
	var alternatives []string
	for last := range arguments {
		var equal []string
		for i := range last {
			equal = append(equal, columns[i]+" = "+s.bind(args[arguments[i]]))
		}
		alternatives = append(alternatives, strings.Join(append(equal, columns[last]+" > "+s.bind(args[arguments[last]])), " AND "))
	}
	s.conditions = append(s.conditions, "("+strings.Join(alternatives, " OR ")+")")
}

func (s *selection) order(order string, descends bool) string {
	var columns []string
	switch db.LiveOrder(order) {
	case db.LiveEndsSoonest:
		columns = []string{"v.expires_ts"}
	case db.LiveOldest:
		columns = []string{"v.acquired_ts"}
	case db.LiveWaitedFor:
		columns = []string{"w.since_ts"}
	case db.LiveByKey:
	}
	for _, column := range s.view.Columns[:s.view.Key] {
		columns = append(columns, "v."+column.Name)
	}
	if descends {
		return strings.Join(columns, " DESC, ") + " DESC"
	}
	return strings.Join(columns, ", ")
}

func (s *selection) limit(args scenario.Args) string {
	most, given := args["max_rows"]
	switch {
	case !given:
		return ""
	case s.dialect == "db2":
		return fmt.Sprintf(" FETCH FIRST %d ROWS ONLY", whole(most))
	}
	return fmt.Sprintf(" LIMIT %d", whole(most))
}
