package main

import (
	"strings"
	"testing"

	"github.com/applock/applock/internal/testing/contract"
)

// harm is something that somebody has done to an installation.
type harm struct {
	name string
	do   []string
	// check and text are what verify says.
	check, text string
	// repair is how the command that mends it begins, behind the name of the program, and statement how the SQL does. Where
	// both are empty, undo takes it back.
	repair, statement string
	undo              []string
}

// harmsOf returns the harms that can be done to an installation.
func harmsOf(t *testing.T, p place) []harm {
	t.Helper()
	lock, waiter, steps := p.table("appl_lock"), p.table("appl_lock_waiter"), p.table("appl_lock_goose")
	insert := "INSERT INTO " + steps + " (version_id, is_applied) VALUES "
	remove := "DELETE FROM " + steps + " WHERE version_id = "
	dropIndex := "DROP INDEX appl_lock_waiter_client_ix"
	switch {
	case p.product == postgresServer:
		dropIndex = "DROP INDEX applock.appl_lock_waiter_client_ix"
	case p.product.isMySQL() && p.product != "":
		dropIndex += " ON appl_lock_waiter"
	}
	harms := []harm{
		{
			name: "a step is pending", do: []string{remove + "2"},
			check: "steps", text: "step 2, 00002_procedures.sql, is pending", repair: "migrate up",
		},
		{
			name: "a step of the future", do: []string{insert + "(3, true)"},
			check: "steps", text: "this program is older than the schema, which has step 3", undo: []string{remove + "3"},
		},
		{
			name: "a step of another program", do: []string{insert + "(20240101120000, true)"},
			check: "steps", text: "step 20240101120000 is not a step of applock", statement: remove + "20240101120000",
		},
		{
			name: "an index is lost", do: []string{dropIndex},
			check: "tables", text: "index appl_lock_waiter_client_ix is missing", repair: "migrate repair",
		},
		{
			name: "a column is lost", do: []string{"ALTER TABLE " + waiter + " RENAME COLUMN since_ts TO since"},
			check: "tables", text: "table appl_lock_waiter is not the one that was installed",
			undo: []string{"ALTER TABLE " + waiter + " RENAME COLUMN since TO since_ts"},
		},
		{
			name: "nobody purges", do: []string{staleRow(p, lock)},
			check: "purge", text: "1 of 1 row looked at should have been purged", repair: "purge --older-than 60d",
		},
	}
	if p.product == "" {
		return append(harms, harm{
			name: "the version table is lost", do: []string{"DROP TABLE appl_lock_goose"},
			check: "steps", text: "table appl_lock exists, but no step is recorded", repair: "migrate up",
		})
	}
	if p.product == postgresServer {
		return append(harmsOnPostgres(t, p), harms...)
	}
	return append(harmsOnMySQL(t, p), harms...) // a step that is applied anew has its procedures granted to nobody
}

// staleRow is a row of an object that has been free for years.
func staleRow(p place, lock string) string {
	moment := "'2001-02-03'"
	if p.product == "" {
		moment = "981158400000000"
	}
	return "INSERT INTO " + lock + " (object_type, object_id, operator_id, department_id, fence, acquired_ts, lock_ts, ttl_seconds, expires_ts)" +
		strings.ReplaceAll(" VALUES ('customer', '42', 'jdoe', '', 1, NOW, NOW, 60, NOW)", "NOW", moment)
}

func harmsOnPostgres(t *testing.T, p place) []harm {
	t.Helper()
	database, somebody, operator := databaseOf(t, p.dsn), p.product.newUser(t, p.dsn, "secret"), grantedOperator(t, p)
	const version = "applock.appl_lock_goose"
	return []harm{
		{
			name: "a routine is dropped", do: []string{"DROP FUNCTION applock.renew_appl_locks"},
			check: "routines", text: "function renew_appl_locks is missing", repair: "migrate repair",
		},
		{
			name:  "a routine has another text",
			do:    []string{"CREATE OR REPLACE FUNCTION applock.appl_lock_version() RETURNS integer LANGUAGE sql AS $$SELECT 1$$"},
			check: "routines", text: "function appl_lock_version has another text", repair: "migrate repair",
		},
		{
			name:  "a routine has the rights of its caller",
			do:    []string{"ALTER FUNCTION applock.get_appl_lock_row(text, text, text, text, bigint, text) SECURITY INVOKER"},
			check: "routines", text: "function get_appl_lock_row has another text or other settings", repair: "migrate repair",
		},
		{
			name: "a routine has another path", do: []string{"ALTER FUNCTION applock.purge_appl_locks_row(bigint, bigint) SET search_path = public"},
			check: "routines", text: "function purge_appl_locks_row has another text or other settings", repair: "migrate repair",
		},
		{
			name: "everybody may read the table", do: []string{"GRANT SELECT ON applock.appl_lock TO PUBLIC"},
			check: "rights", text: "table appl_lock may be used by everybody (PUBLIC)", repair: "migrate repair",
		},
		{
			name: "a release forgets the fence",
			do: []string{strings.ReplaceAll(p.product.query(t, p.dsn, "SELECT pg_get_functiondef('applock.release_appl_lock_row'::regproc)"),
				forgottenFence("coalesce"), "")},
			check: "round", text: forgottenRelease,
		},
		{
			name: "another owner",
			do: []string{
				"GRANT CREATE ON SCHEMA applock TO " + somebody, "ALTER FUNCTION applock.purge_appl_locks_row(bigint, bigint) OWNER TO " + somebody,
				"REVOKE CREATE ON SCHEMA applock FROM " + somebody,
			},
			check: "owners", text: "function purge_appl_locks_row belongs to " + somebody, repair: "migrate repair",
		},
		{
			name: "the owner is a superuser", do: []string{"ALTER ROLE " + p.owner + " SUPERUSER"},
			check: "owners", text: "role " + p.owner + " is a superuser, and owns ", repair: "migrate repair --owner NAME",
		},
		{
			name: "everybody may execute", do: []string{"GRANT EXECUTE ON " + p.procedure("transfer_appl_lock") + " TO PUBLIC"},
			check: "rights", text: "procedure transfer_appl_lock may be executed by everybody (PUBLIC)", repair: "migrate repair",
		},
		{
			name: "a grant of a role is missing", do: []string{
				"REVOKE EXECUTE ON FUNCTION applock.release_appl_lock_row FROM " + operator,
				"REVOKE EXECUTE ON PROCEDURE applock.release_appl_lock FROM " + operator,
			},
			check: "grants", text: operator + ", as operator, may not call release_appl_lock", repair: "grant --to " + operator + " --as operator",
		},
		{
			name: "an operator may change the table", do: []string{"GRANT SELECT, INSERT, UPDATE ON applock.appl_lock TO " + operator},
			check: "rights", text: "table appl_lock may be changed by " + operator + " without the procedures (INSERT, UPDATE)",
			statement: "REVOKE INSERT, UPDATE ON applock.appl_lock FROM " + operator,
		},
		{
			name: "everybody may add to the schema", do: []string{"GRANT CREATE ON SCHEMA applock TO PUBLIC"},
			check: "rights", text: "schema applock lets everybody (PUBLIC) add objects", statement: "REVOKE CREATE ON SCHEMA applock FROM PUBLIC",
		},
		{
			name: "a role may add to the schema", do: []string{"GRANT CREATE ON SCHEMA applock TO " + operator},
			check: "rights", text: "schema applock lets " + operator + " add objects", statement: "REVOKE CREATE ON SCHEMA applock FROM " + operator,
		},
		{
			name: "the schema belongs to a role", do: []string{"ALTER SCHEMA applock OWNER TO " + operator},
			check: "owners", text: "schema applock belongs to " + operator + ", and the installation to ", statement: "ALTER SCHEMA applock OWNER TO ",
		},
		{
			name:  "the owner of the schema has revoked its own right",
			do:    []string{"ALTER SCHEMA applock OWNER TO " + operator, "REVOKE ALL ON SCHEMA applock FROM " + operator + "; GRANT USAGE ON SCHEMA applock TO " + operator},
			check: "owners", text: "schema applock belongs to " + operator + ", and the installation to ", statement: "ALTER SCHEMA applock OWNER TO ",
		},
		{
			name: "a table hides its rows", do: []string{"ALTER TABLE applock.appl_lock ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY"},
			check: "rights", text: "table appl_lock hides its rows from the procedures", repair: "migrate repair",
		},
		{
			name: "the sequence of the steps is lost", do: []string{"ALTER SEQUENCE " + version + "_id_seq RESTART"},
			check: "tables", text: "sequence of appl_lock_goose is behind the greatest id", repair: "migrate repair",
		},
		{
			name: "the sequence of the events is lost",
			do: []string{
				"CALL applock.set_appl_lock_policy('x', NULL, NULL, NULL, 'A')", "ALTER SEQUENCE applock.appl_lock_event_event_id_seq RESTART",
			},
			check: "tables", text: "sequence of appl_lock_event is behind the greatest event_id", repair: "migrate repair",
		},
		{
			name: "a function of another role",
			do: []string{
				"CREATE FUNCTION applock.format(text, text) RETURNS text LANGUAGE sql AS 'SELECT NULL'",
				"ALTER FUNCTION applock.format OWNER TO " + operator,
			},
			check: "routines", text: "function applock.format(pg_catalog.text,pg_catalog.text) is not of applock, and belongs to " + operator,
			statement: "DROP FUNCTION applock.format(",
		},
		{
			name: "an operator of another role",
			do: []string{
				"CREATE OPERATOR applock.= (FUNCTION = texteq, LEFTARG = text, RIGHTARG = text)",
				"ALTER OPERATOR applock.= (text, text) OWNER TO " + operator,
			},
			check: "routines", text: "operator applock.=", statement: "DROP OPERATOR applock.=",
		},
		{
			name:  "a signature of its own for one of our names",
			do:    []string{"CREATE FUNCTION applock.appl_lock_yes(text) RETURNS boolean LANGUAGE sql AS 'SELECT true'"},
			check: "routines", text: "routine applock.appl_lock_yes(text) is not of applock", statement: "DROP ROUTINE applock.appl_lock_yes(text)",
		},
		{
			name: "the primary key is lost", do: []string{"ALTER TABLE applock.appl_lock DROP CONSTRAINT appl_lock_pk"},
			check: "tables", text: "index appl_lock_pk is missing", repair: "migrate repair",
		},
		{
			name: "the version table is lost", do: []string{"DELETE FROM " + version},
			check: "steps", text: "table appl_lock exists, but no step is recorded", repair: "migrate up",
		},
		{
			name: "read only", do: []string{"ALTER DATABASE " + database + " SET default_transaction_read_only = on"},
			check: "primary", text: "transactions are read only", statement: "BEGIN READ WRITE; ALTER DATABASE " + database + " RESET ",
		},
	}
}

func harmsOnMySQL(t *testing.T, p place) []harm {
	t.Helper()
	operator, ghost := grantedOperator(t, p), randomName()
	everybody, nobody := "PUBLIC", "PUBLIC"
	if p.product == "mysql" { // which has no PUBLIC
		everybody, nobody = "''@'"+ghost+".invalid'", "the account without a name"
		p.exec(t, "CREATE USER "+everybody)
		t.Cleanup(func() { p.product.exec(t, p.dsn, "DROP USER "+everybody) })
	}
	return []harm{
		{
			name: "a routine is dropped", do: []string{"DROP PROCEDURE release_appl_lock_row"},
			check: "routines", text: "procedure release_appl_lock_row is missing", repair: "migrate repair",
		},
		{
			name:  "a routine has another text",
			do:    []string{"DROP PROCEDURE appl_lock_version_core", "CREATE PROCEDURE appl_lock_version_core() SELECT 1"},
			check: "routines", text: "procedure appl_lock_version_core has ", repair: "migrate repair",
		},
		{
			name:  "a routine has the rights of its caller",
			do:    []string{"ALTER PROCEDURE inquire_appl_lock_core SQL SECURITY INVOKER"},
			check: "routines", text: "procedure inquire_appl_lock_core has the rights of its caller", repair: "migrate repair",
		},
		{
			name:  "a release forgets the fence",
			do:    []string{"DROP PROCEDURE release_appl_lock_row_core", p.forgetfulRelease(t)},
			check: "round", text: forgottenRelease,
		},
		{
			name:  "the definer is dropped",
			do:    []string{"DROP PROCEDURE purge_appl_locks_core", "CREATE DEFINER=" + ghost + " PROCEDURE purge_appl_locks_core() SELECT 1"},
			check: "owners", text: "procedure purge_appl_locks_core has the rights of " + ghost + "@%, an account that does not exist",
			repair: "migrate repair",
		},
		{
			name: "the owner writes on a read-only server", do: []string{"GRANT SUPER ON *.* TO " + p.owner},
			check:  "owners",
			text:   "which may write on a server that is read only by its rights: SUPER; create an account NAME that can migrate and no more",
			repair: "migrate repair --owner NAME",
		},
		{
			name: "everybody may execute", do: []string{"GRANT EXECUTE ON " + p.procedure("transfer_appl_lock") + " TO " + everybody},
			check: "rights", text: "procedure transfer_appl_lock may be executed by everybody (" + nobody + ")", repair: "migrate repair",
		},
		{
			name: "a routine has lost its grants", do: []string{"REVOKE EXECUTE ON PROCEDURE release_appl_lock_row FROM " + operator},
			check: "grants", text: operator + ", as operator, may not call release_appl_lock_row", repair: "grant --to " + operator + " --as operator",
		},
		{
			name: "a grant of a role is missing", do: []string{
				"REVOKE EXECUTE ON PROCEDURE inquire_appl_lock FROM " + operator, "REVOKE EXECUTE ON PROCEDURE inquire_appl_lock_row FROM " + operator,
			},
			check: "grants", text: operator + ", as operator, may not call inquire_appl_lock", repair: "grant --to " + operator + " --as operator",
		},
		{
			name: "an operator may change the table", do: []string{"GRANT SELECT, INSERT, UPDATE ON appl_lock TO " + operator},
			check: "rights", text: "table appl_lock may be changed by " + operator + " without the procedures (INSERT, UPDATE)",
			statement: "REVOKE INSERT, UPDATE ON appl_lock FROM '" + operator + "'@'%'",
		},
		{
			name: "the primary key is lost", do: []string{"ALTER TABLE appl_lock DROP PRIMARY KEY"},
			check: "tables", text: "index appl_lock_pk is missing", repair: "migrate repair",
		},
		{
			name: "the version table is lost", do: []string{"DROP TABLE appl_lock_goose"},
			check: "steps", text: "step 1, 00001_appl_lock.sql, is pending", repair: "migrate up",
		},
	}
}

// forgottenRelease is how verify begins to tell that a release has not compared the fence.
const forgottenRelease = "release_appl_lock.txt, line 19: release object_type=customer object_id=42 operator_id=JDOE fence=$first -> N HELD"

// forgottenFence is the condition that a release forgets.
func forgottenFence(coalesce string) string {
	return "AND l.fence = " + coalesce + "(p_fence, l.fence)"
}

// forgetfulRelease returns the statement that creates MySQL's procedure without that condition.
func (p place) forgetfulRelease(t *testing.T) string {
	t.Helper()
	handle := p.product.open(t, p.dsn)
	defer func() { _ = handle.Close() }()
	rows, err := contract.RowsByColumn(t.Context(), handle, "SHOW CREATE PROCEDURE release_appl_lock_row_core")
	if err != nil || len(rows) != 1 {
		t.Fatal(rows, err)
	}
	created, _ := rows[0]["Create Procedure"].(string)
	forgetful := strings.ReplaceAll(created, forgottenFence("COALESCE"), "")
	if forgetful == created {
		t.Fatalf("it compares no fence: %s", created)
	}
	return forgetful
}
