package fromthearticle_test

import (
	"context"
	"crypto/rand"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"strings"
	"testing"

	"github.com/applock/applock/internal/testing/hsqldb"
	"github.com/applock/applock/internal/testing/testdb"
)

// No Db2 can be had, so the wrappers for Db2 are executed on HSQLDB, with applock's own procedures for Db2 under
// them. docs/db2.md tells what that leaves open.

// startHSQLDB starts what all databases of a test share. Their time zone is not UTC.
func startHSQLDB(t *testing.T) *hsqldb.Bridge {
	t.Helper()
	return hsqldb.Start(t, testdb.HSQLDB(t), "Asia/Tokyo")
}

// newHSQLDB makes a database. It returns its name and a pool.
func newHSQLDB(t *testing.T, bridge *hsqldb.Bridge) (name string, handle *sql.DB) {
	t.Helper()
	name = rand.Text()
	handle, err := bridge.Open(t.Context(), name, hsqldb.MVCC)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = handle.Close() })
	return name, handle
}

// openHSQLDB returns a pool of one session, which has the rights of another user.
func openHSQLDB(t *testing.T, bridge *hsqldb.Bridge, database, user string) *sql.DB {
	t.Helper()
	handle := bridge.Again(database)
	t.Cleanup(func() { _ = handle.Close() })
	handle.SetMaxOpenConns(1)
	execute(t, handle, "SET SESSION AUTHORIZATION '"+strings.ToUpper(user)+"'")
	return handle
}

// callHSQLDB calls a wrapper and returns its OUT parameters.
func callHSQLDB(ctx context.Context, session querier, query, verb string, in []any) ([]any, error) {
	bound := in
	var outs []driver.Valuer
	for _, parameter := range article()[verb].out {
		if strings.HasSuffix(parameter, " TIMESTAMP") {
			out := new(sql.NullTime)
			bound, outs = append(bound, sql.Out{Dest: out}), append(outs, out)
			continue
		}
		out := new(sql.NullString)
		bound, outs = append(bound, sql.Out{Dest: out}), append(outs, out)
	}
	if _, err := session.ExecContext(ctx, query, bound...); err != nil {
		return nil, err
	}
	values := make([]any, len(outs))
	for i, out := range outs {
		values[i], _ = out.Value() // they have no errors
	}
	return values, nil
}

// runHSQLDB runs a script as docs/from-the-article.md says: statements end with @ or, if there is none, with a semicolon.
func (s site) runHSQLDB(t *testing.T, script string) string {
	t.Helper()
	if _, below, found := strings.Cut(script, "--#SET TERMINATOR @\n"); found {
		script = below
	}
	end := ";\n"
	if strings.Contains(script, "@\n") {
		end = "@\n"
	}
	conn, err := s.handle.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }() // gives it back to the pool
	execute(t, conn, "SET CURRENT SCHEMA = "+s.schema, "SET CURRENT PATH = SYSTEM PATH, "+s.schema)
	var output strings.Builder
	for statement := range strings.SplitSeq(script, end) {
		if statement = strings.TrimSpace(statement); statement == "" {
			continue
		}
		found, err := rows(t.Context(), conn, statement)
		if err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
		for _, row := range found {
			line := make([]string, len(row))
			for i, value := range row {
				line[i] = fmt.Sprint(value)
			}
			output.WriteString(strings.Join(line, "|") + "\n")
		}
	}
	return output.String()
}
