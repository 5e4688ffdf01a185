package contract

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/db"
)

// Goal: the views have the same columns in the same order everywhere, and a caller's own SQL on them has the same result everywhere.
// Method: their columns as the server gives them; a table of customers joined with the locks; counts; and a reader who has read before.
func views(t *testing.T, backend Backend) {
	t.Run("Columns", func(t *testing.T) { viewColumns(t, backend) })
	t.Run("Join", func(t *testing.T) { viewJoin(t, backend) })
	t.Run("Rows", func(t *testing.T) { viewRows(t, backend) })
}

// view returns the name of a view as SQL must write it.
func (p Place) view(name string) string { return strings.TrimSuffix(p.Table, "appl_lock") + name }

func viewColumns(t *testing.T, backend Backend) {
	t.Parallel()
	place := backend.New(t)
	for _, view := range db.Views() {
		columns, _, err := Rows(t.Context(), place.SQL, "SELECT * FROM "+place.view(view.Name))
		if err != nil {
			t.Errorf("%s: %v", view.Name, err)
			continue
		}
		var want []string
		for _, column := range view.Columns {
			want = append(want, column.Name)
		}
		for i := range columns {
			columns[i] = strings.ToLower(columns[i])
		}
		if !slices.Equal(columns, want) {
			t.Errorf("%s has the columns\n%q, want\n%q", view.Name, columns, want)
		}
	}
}

// viewJoin asks for "my open cases, and who works on them".
func viewJoin(t *testing.T, backend Backend) {
	t.Parallel()
	place := backend.New(t)
	cases := createCases(t, place)
	get := func(id, operator, department string, ttl time.Duration) {
		t.Helper()
		owner := applock.Owner{Operator: operator, Department: department}
		if _, err := place.Client.Get(t.Context(), applock.GetRequest{Object: customer(id), Owner: owner, TTL: ttl}); err != nil {
			t.Fatal(err)
		}
	}
	get("1", "KIM", "CS", time.Minute) // will have expired
	if err := place.Advance(t.Context(), time.Hour); err != nil {
		t.Fatal(err)
	}
	get("2", "ASMITH", "SALES", time.Hour)
	get("3", "JDOE", "", 0)
	get("4", "BROWN", "CS", 0)
	get("5", "BROWN", "CS", 0)
	mustRelease(t, place.Client, customer("4"), "BROWN")
	mustAwait(t, place, "2", "JDOE")
	mustAwait(t, place, "2", "KIM")
	requireTexts(t, place, `SELECT c.id, c.name, l.operator_id, l.department_id, l.ttl_seconds
		FROM `+cases+` AS c LEFT JOIN `+place.view("appl_lock_live")+` AS l ON l.object_type = 'customer' AND l.object_id = c.id
		WHERE c.owner_id = 'JDOE' ORDER BY c.id`,
		"1 Ångström NULL NULL NULL", "2 O'Brien ASMITH SALES 3600", "3 Lee JDOE  604800", "4 Kim NULL NULL NULL")
	requireTexts(t, place, `SELECT c.id, l.operator_id FROM `+cases+` AS c JOIN `+place.view("appl_lock_live")+` AS l
			ON l.object_type = 'customer' AND l.object_id = c.id ORDER BY c.id`,
		"2 ASMITH", "3 JDOE", "5 BROWN")
	requireTexts(t, place, `SELECT c.id, w.operator_id, w.holder_id, w.holder_department_id FROM `+cases+` AS c
			JOIN `+place.view("appl_lock_waiting")+` AS w ON w.object_type = 'customer' AND w.object_id = c.id ORDER BY c.id, w.operator_id`,
		"2 JDOE ASMITH SALES", "2 KIM ASMITH SALES")
	requireTexts(t, place, `SELECT l.operator_id, COUNT(*) FROM `+place.view("appl_lock_live")+` AS l GROUP BY l.operator_id ORDER BY l.operator_id`,
		"ASMITH 1", "BROWN 1", "JDOE 1")
}

// createCases makes a table of the caller's own, and returns its name.
func createCases(t *testing.T, place Place) string {
	t.Helper()
	const table = "customer_case"
	statements := []string{"CREATE TABLE " + table + " (id VARCHAR(20) NOT NULL PRIMARY KEY, name VARCHAR(40) NOT NULL, owner_id VARCHAR(64) NOT NULL)"}
	if place.dialect() == "mysql" { // with the collation of the columns that it is joined with
		statements[0] += " CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"
	}
	for _, row := range []string{"'1', 'Ångström', 'JDOE'", "'2', 'O''Brien', 'JDOE'", "'3', 'Lee', 'JDOE'", "'4', 'Kim', 'JDOE'", "'5', 'Roe', 'ASMITH'"} {
		statements = append(statements, "INSERT INTO "+table+" VALUES ("+row+")")
	}
	for _, statement := range statements {
		if _, err := place.SQL.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	t.Cleanup(func() {
		if _, err := place.SQL.Exec("DROP TABLE " + table); err != nil { //nolint:noctx // the test's context has ended
			t.Error(err)
		}
	})
	return table
}

// requireTexts compares the rows of a query, each row as one text.
func requireTexts(t *testing.T, place Place, query string, want ...string) {
	t.Helper()
	_, rows, err := Rows(t.Context(), place.SQL, query)
	if err != nil {
		t.Errorf("%s: %v", query, err)
		return
	}
	var got []string
	for _, row := range rows {
		var texts []string
		for _, value := range row {
			if value == nil {
				value = "NULL"
			}
			texts = append(texts, fmt.Sprint(value))
		}
		got = append(got, strings.Join(texts, " "))
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s\nanswers %q, want %q", query, got, want)
	}
}

// viewRows compares one row of each view with the values in the answers of the operations.
func viewRows(t *testing.T, backend Backend) {
	t.Parallel()
	place := backend.New(t)
	if err := place.Client.SetPolicy(t.Context(), applock.SetPolicyRequest{
		Policy: applock.Policy{Type: "customer", DefaultTTL: time.Hour}, Actor: "BOSS",
	}); err != nil {
		t.Fatal(err)
	}
	grant := mustGet(t, place.Client, customer(42), "JDOE")
	mustAwait(t, place, "42", "ASMITH")
	between := func(column string, least, most int) string { // the bounds also hold on a busy machine
		return fmt.Sprintf("CASE WHEN %s BETWEEN %d AND %d THEN 'so' ELSE 'no' END", column, least, most)
	}
	const longest = 1800
	requireTexts(t, place, "SELECT object_type, object_id, operator_id, department_id, fence, "+between("seconds_left", longest, 2*longest)+
		", ttl_seconds, note FROM "+place.view("appl_lock_live"), fmt.Sprintf("customer 42 JDOE  %d so 3600 ", grant.Fence))
	requireTexts(t, place, "SELECT object_type, object_id, operator_id, department_id, client_id, until_ts, "+between("waited_seconds", 0, longest)+
		", holder_id, holder_department_id, "+between("seconds_left", longest, 2*longest)+" FROM "+place.view("appl_lock_waiting"),
		"customer 42 ASMITH  "+client+" NULL so JDOE  so")
	requireTexts(t, place, "SELECT object_type, object_id, event, actor_id, from_operator_id, to_operator_id, from_fence, to_fence, reason FROM "+
		place.view("appl_lock_history"), "customer  POLICY BOSS   0 0 default 3600, longest none, take reason Y, history CHANGES, presence Y, yield after none")
	requireTexts(t, place, "SELECT object_type, default_ttl_seconds, longest_ttl_seconds, take_reason_fl, history_level FROM "+
		place.view("appl_lock_policies"), "customer 3600 NULL Y CHANGES")
	requireTexts(t, place, "SELECT object_type, department_id, live, expired, "+between("oldest_seconds", 0, longest)+", "+
		between("next_expiry_seconds", longest, 2*longest)+", waiters, "+between("longest_wait_seconds", 0, longest)+" FROM "+
		place.view("appl_lock_stats"), "customer  1 0 so so 1 so")
}
