package conditions_test

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/applock/applock/internal/scenario"
	"github.com/applock/applock/internal/testing/contract"
)

// joins shows one lock at one row of the caller's, found by its whole key, by the join of the page.
func (s *site) joins(t *testing.T) {
	t.Helper()
	one := func(kind string) string { return strings.Join(s.row.of(kind), "") }
	value := one("value")
	s.execute(t, "DROP TABLE IF EXISTS customers")
	s.execute(t, "CREATE TABLE customers (id "+one("key")+" PRIMARY KEY)")
	t.Cleanup(func() { _, _ = s.admin.ExecContext(context.Background(), "DROP TABLE customers") })
	written := map[bool]string{true: "UUID_TO_BIN('" + value + "')", false: "'" + value + "'"}[one("key") == "BINARY(16)"]
	s.execute(t, "INSERT INTO customers VALUES ("+written+")")
	if number, err := strconv.ParseInt(value, 10, 64); err == nil { // which is the same as a double
		s.execute(t, fmt.Sprintf("INSERT INTO customers VALUES ('%d')", number+1))
	}
	ordinary := s.ordinary(t)
	s.clear(t)
	for _, id := range []string{value, "other"} {
		if _, err := ordinary(t.Context(), "get", scenario.Args{"object_type": "joined", "object_id": id, "operator_id": "JDOE"}); err != nil {
			t.Fatal(err)
		}
	}
	join := "FROM customers AS c LEFT JOIN " + s.prefix() + "appl_lock_live AS l ON l.object_type = 'joined' AND l.object_id = " + one("join")
	if found := s.value(t, "SELECT CONCAT(COUNT(*), ' ', COUNT(l.operator_id)) "+join); !strings.HasSuffix(found, " 1") {
		t.Errorf("rows and locks: %s, want one lock", found)
	}
	conn, err := s.admin.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	explain, plan := "EXPLAIN FORMAT=TRADITIONAL ", regexp.MustCompile(`\bkey_len:1280\b.*\btable:(l|appl_lock)\b.*\btype:eq_ref\b`)
	if s.product == "postgres" {
		explain, plan = "EXPLAIN ", regexp.MustCompile(`Index Cond: .*object_type.*object_id`)
		s.execute(t, `INSERT INTO applock.appl_lock (object_type, object_id, operator_id, department_id, fence, acquired_ts, lock_ts, ttl_seconds, expires_ts)
			SELECT l.object_type, l.object_id || n, 'x', '', 1, now(), now(), 60, now() FROM applock.appl_lock AS l, generate_series(1, 1000) AS n`)
		if _, err := conn.ExecContext(t.Context(), "ANALYZE customers, applock.appl_lock; SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off"); err != nil {
			t.Fatal(err)
		}
		defer func() { _, _ = conn.ExecContext(context.Background(), "RESET ALL") }()
	}
	if s.product == "sqlite" {
		explain, plan = "EXPLAIN QUERY PLAN ", regexp.MustCompile(`SEARCH \w+ USING .*\(object_type=\? AND object_id=\?\)`)
	}
	rows, err := contract.RowsByColumn(t.Context(), conn, explain+"SELECT c.id, l.operator_id "+join)
	if text := fmt.Sprint(rows); err != nil || !plan.MatchString(text) {
		t.Errorf("%v, the plan goes not by the whole key: %s", err, text)
	}
}
