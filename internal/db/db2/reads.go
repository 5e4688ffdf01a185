package db2

import (
	"strconv"
	"strings"

	"github.com/applock/applock/internal/db"
)

// selection is a SELECT from a view. Numbers are literals: the client binds some as text, and Db2 must know the number of rows in advance.
type selection struct {
	conditions []string
	arguments  []any
}

// where adds a condition with its arguments.
func (s *selection) where(condition string, arguments ...any) {
	s.conditions = append(s.conditions, condition)
	s.arguments = append(s.arguments, arguments...)
}

// whereText adds a filter unless the value is empty.
func (s *selection) whereText(column, value string) {
	if value != "" {
		s.where(column+" = ?", value)
	}
}

// whereTold adds a filter unless the value is nil.
func (s *selection) whereTold(column string, value *string) {
	if value != nil {
		s.where(column+" = ?", *value)
	}
}

// clause returns the conditions.
func (s *selection) clause() string {
	if len(s.conditions) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(s.conditions, " AND ")
}

// inSeconds returns the time that many seconds before or after now, by the sign.
func inSeconds(sign string, seconds int64) string {
	return "CURRENT TIMESTAMP - CURRENT TIMEZONE " + sign + " (" + strconv.FormatInt(seconds, 10) + ") SECOND"
}

// first returns the end of a SELECT with a limit.
func first(order string, rows int64) string {
	return " ORDER BY " + order + " FETCH FIRST " + strconv.FormatInt(rows, 10) + " ROWS ONLY"
}

// columnsOf returns the columns of a view, each with a prefix.
func columnsOf(name, prefix string) string {
	var columns []string
	for _, view := range db.Views() {
		if view.Name != name {
			continue
		}
		for _, column := range view.Columns {
			columns = append(columns, prefix+column.Name)
		}
	}
	return strings.Join(columns, ", ")
}
