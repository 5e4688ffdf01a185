package db2_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// lintEdit breaks one thing in the real text.
type lintEdit struct {
	file       string
	old        string // stands exactly once in the file
	new        string
	complaints []string // all that is said of it: the rule, a colon, and part of what it says
}

// lintEdits lists, for each rule in the order of lintRules, what must not go unnoticed.
func lintEdits() []lintEdit {
	const (
		argument  = "procedures/db2/appl_lock_argument.sql"
		assert    = "procedures/db2/assert_appl_lock.sql"
		announce  = "procedures/db2/announce_appl_lock_waiter.sql"
		ask       = "procedures/db2/ask_appl_lock.sql"
		answer    = "procedures/db2/answer_appl_lock.sql"
		get       = "procedures/db2/get_appl_lock.sql"
		inbox     = "procedures/db2/inbox_appl_locks.sql"
		see       = "procedures/db2/see_appl_lock.sql"
		history   = "procedures/db2/purge_appl_lock_history.sql"
		move      = "procedures/db2/appl_lock_move.sql"
		views     = "procedures/db2/views.sql"
		inquire   = "procedures/db2/inquire_appl_lock.sql"
		note      = "procedures/db2/note_appl_lock.sql"
		permit    = "procedures/db2/get_appl_lock_permit.sql"
		poll      = "procedures/db2/poll_appl_locks.sql"
		purge     = "procedures/db2/purge_appl_locks.sql"
		release   = "procedures/db2/release_appl_lock.sql"
		renew     = "procedures/db2/renew_appl_locks.sql"
		serialize = "procedures/db2/serialize_appl_lock.sql"
		retract   = "procedures/db2/retract_appl_lock_waiter.sql"
		transfer  = "procedures/db2/transfer_appl_lock.sql"
		version   = "procedures/db2/appl_lock_version.sql"
		releases  = "procedures/db2/release_appl_locks.sql"
		transfers = "procedures/db2/transfer_appl_locks.sql"
		policy    = "procedures/db2/set_appl_lock_policy.sql"

		inboxZOS     = "zos/inbox_appl_locks.sql"
		viewsZOS     = "zos/views.sql"
		purgeZOS     = "zos/purge_appl_locks.sql"
		serializeZOS = "zos/serialize_appl_lock.sql"
		versionZOS   = "zos/appl_lock_version.sql"

		tables    = "migrations/db2/00001_appl_lock.sql"
		tablesZOS = "migrations/db2/zos/00001_appl_lock.sql"

		timeout    = "    SET CURRENT LOCK TIMEOUT 1;\n"
		terminator = "--#SET TERMINATOR @\n"
		volatile   = "ALTER TABLE appl_lock VOLATILE CARDINALITY\n"
		begin      = "-- +goose StatementBegin\n"
		end        = "-- +goose StatementEnd\n"
	)
	edit := func(file, old, new string, complaints ...string) lintEdit {
		return lintEdit{file, old, new, complaints}
	}
	return []lintEdit{
		edit(argument, "OR REPLACE PROCEDURE appl_lock_refuse_number", "PROCEDURE appl_lock_refuse_number", "replace: begins with `create procedure`"),
		edit(versionZOS, "CREATE FUNCTION", "CREATE OR REPLACE FUNCTION", "replace: begins with `create or replace function`"),

		edit(argument, "CONTAINS SQL\nBEGIN\n    DECLARE v_lower", "MODIFIES SQL DATA\nBEGIN\n    DECLARE v_lower", "options: contains sql`"),
		edit(inquire, "READS SQL DATA\nmain:", "MODIFIES SQL DATA\nmain:", "options: not deterministic modifies sql data`"),
		edit(inbox, "NOT DETERMINISTIC", "DETERMINISTIC", "options: language sql deterministic"),
		edit(inbox, "DYNAMIC RESULT SETS 1\n", "", "options: are `specific inbox_appl_locks language"),
		edit(poll, "MODIFIES SQL DATA", "READS SQL DATA", "options: reads sql data`, want"),
		edit(inbox, "MODIFIES SQL DATA", "READS SQL DATA", "options: reads sql data`, want"),
		edit(serialize, "MODIFIES SQL DATA\nmain:", "MODIFIES SQL DATA\nAUTONOMOUS\nmain:", "options: modifies sql data autonomous`"),
		edit(serialize, "MODIFIES SQL DATA\nmain:", "CONTAINS SQL\nMODIFIES SQL DATA\nmain:", "options: contains sql modifies sql data`"),
		edit(serialize, "SPECIFIC serialize_appl_lock\n", "SPECIFIC serialize_appl_locks\n", "options: are `specific serialize_appl_locks"),
		edit(serialize, "SPECIFIC serialize_appl_lock\n", "SPECIFIC serialize_appl_lock\nDYNAMIC RESULT SETS 1\n", "options: lock dynamic result sets 1"),
		edit(version, "RETURN ", "RETURN 1", "options: return 1"),
		edit(inboxZOS, "ISOLATION LEVEL CS\n", "", "options: unicode concurrent access"),
		edit(inboxZOS, "DYNAMIC", "SPECIFIC inbox_appl_locks\nDYNAMIC", "options: are `specific inbox_appl_locks"),

		edit(transfers, "p_after_type VARCHAR(4000),\n    IN p_after_id", "p_after_id VARCHAR(4000),\n    IN p_after_type", "parameters: the parameters are"),
		edit(purge, "    OUT p_purged", "    INOUT p_purged", "parameters: inout p_purged bigint"),
		edit(purge, "IN p_max_rows BIGINT\n", "IN p_max_rows INTEGER\n", "parameters: purge_appl_locks_row: the parameters are"),
		edit(release, "IN p_fence BIGINT,\n    IN p_actor_id VARCHAR(4000),\n    IN p_reason VARCHAR(4000),\n    OUT", "IN p_fence INTEGER,\n    IN p_actor_id VARCHAR(4000),\n    IN p_reason VARCHAR(4000),\n    OUT", "parameters: in p_fence integer"),
		edit(note, "IN p_fence BIGINT,\n    IN p_note VARCHAR(4000),", "IN p_note VARCHAR(4000),\n    IN p_fence BIGINT,", "parameters: the parameters are"),
		edit(answer, "IN p_answer VARCHAR(4000),\n    IN p_reason VARCHAR(4000),\n    OUT", "IN p_reason VARCHAR(4000),\n    IN p_answer VARCHAR(4000),\n    OUT", "parameters: the parameters are"),
		edit(renew, "p_grants VARCHAR(32000)", "p_grants VARCHAR(4000)", "parameters: in p_grants varchar(4000)"),

		edit(inquire, "v_acquired_ts AS p_acquired_ts", "v_lock_ts AS p_acquired_ts", "row form: `v_lock_ts` is not what a row form has there"),
		edit(purge, "        p_older_than_seconds, p_max_rows", "        p_max_rows, p_older_than_seconds", "row form: `p_max_rows` is not what a row form has there"),
		edit(purge, "    END;\nEND\n", "    END\n", "row form: lacks `; end`", "balance: one END too few"),
		edit(purge, "AS p_purged", "AS rows_removed", "row form: `rows_removed` is not what a row form has there"),

		edit(views, "    l.acquired_ts,\n    l.lock_ts", "    l.lock_ts,\n    l.acquired_ts", "views: appl_lock_live has the columns"),
		edit(views, "AS waited_seconds,\n    COALESCE", "AS waits,\n    COALESCE", "views: appl_lock_waiting has the columns"),
		edit(views, "    a.answer,\n    a.answer_reason,", "    a.answer_reason,\n    a.answer,", "views: appl_lock_asking has the columns"),
		edit(views, "OR REPLACE VIEW appl_lock_policies", "VIEW appl_lock_policies", "views: is not how a view is created", "views: no view appl_lock_policies"),
		edit(viewsZOS, "VIEW appl_lock_policies", "OR REPLACE VIEW appl_lock_policies", "views: is not how a view is created", "views: no view appl_lock_policies"),
		edit(views, "for each live lock.'", "for each lock.'", "comments: is nobody's"),

		edit(argument, "for a number argument.'", "for a number argument."+strings.Repeat(" Nobody is granted it.", 10)+"'",
			"comments: or more than 254 bytes", "comments: is nobody's"),
		edit(serialize, "on an object.'", "on an object!'", "comments: lacks its comment, or that has another text", "comments: is nobody's"),
		edit(version, "COMMENT ON SPECIFIC FUNCTION appl_lock_version IS 'The version of the installed contract.'\n@\n", "", "comments: lacks its comment"),

		edit(serialize, "-- serialize_appl_lock:", "-- release_appl_lock:", "header: the header names serialize_appl_lock: false"),
		edit(serialize, "-- Race-free ", "--           ", `header: sections are ["Contract" "In" "Out" "Raises" "Locks" "Differs"]`),

		edit(serialize, "    -- S1: take the turn.",
			"    SAVEPOINT s ON ROLLBACK RETAIN CURSORS; PREPARE s FROM p_object_id; EXECUTE IMMEDIATE p_object_id; GOTO out; COMMIT; ROLLBACK;",
			"permitted statements: with savepoint", "permitted statements: with prepare", "permitted statements: with execute",
			"permitted statements: with goto", "permitted statements: with commit", "permitted statements: with rollback"),

		edit(assert, "END IF;\nEND main", "END WHILE;\nEND main", "balance: want `END if`"),
		edit(inbox, "    BEGIN\n", "    BEGIN\n    BEGIN\n", "balance: one END too few"),
		edit(renew, "END WHILE fields", "END WHILE", "balance: want `END while fields`"),
		edit(serialize, "END main", "END", "balance: want `END main`"),

		edit(assert, "WITH RS", "GROUP BY l.object_id WITH RS", "forbidden phrases: GROUP BY:"),
		edit(policy, "WHERE p.object_type = v_object_type;", "WHERE p.object_type >= v_object_type;", "row read: a change of appl_lock_policy is"),
		edit(assert, "WITH RS", "HAVING COUNT(*) = 1 WITH RS", "forbidden phrases: HAVING:"),
		edit(purge, "l.fence < v_now_us", "l.fence < v_now_us FOR UPDATE", "forbidden phrases: FOR UPDATE:"),
		edit(purge, "l.fence < v_now_us", "l.fence < v_now_us SKIP LOCKED DATA", "forbidden phrases: SKIP LOCKED:"),
		edit(inbox, "        ) AS m\n        WITH CS;\n        IF v_place", "        ) AS m\n        WITH CS SKIP LOCKED DATA;\n        IF v_place",
			"forbidden phrases: SKIP LOCKED:", "isolation: locked data`, want `WITH CS`"),
		edit(purge, "FOR candidate AS", "FOR candidate AS found CURSOR WITH HOLD FOR", "forbidden phrases: WITH HOLD:"),
		edit(purge, "v_now - (v_older_than_seconds) SECOND", "TIMESTAMP(CURRENT_DATE, '00.00.00')", "forbidden phrases: CURRENT_DATE:"),
		edit(purge, "v_now - (v_older_than_seconds) SECOND", "TIMESTAMP('1970-01-01', CURRENT_TIME)", "forbidden phrases: CURRENT_TIME:"),
		edit(purge, "v_now - (v_older_than_seconds) SECOND", "CURRENT_TIMESTAMP", "forbidden phrases: CURRENT_TIMESTAMP:"),
		edit(serialize, "main: BEGIN\n", "main: BEGIN\n    DECLARE SQLCODE INTEGER DEFAULT 0;\n", "forbidden phrases: DECLARE SQLCODE:"),
		edit(serialize, "main: BEGIN\n", "main: BEGIN\n    DECLARE SQLSTATE CHAR(5) DEFAULT '00000';\n", "forbidden phrases: DECLARE SQLSTATE:"),
		edit(serialize, "INTO appl_lock_serialize", `INTO "appl_lock_serialize"`, `forbidden phrases: ":`),

		edit(announce, "DECLARE CONTINUE HANDLER FOR SQLSTATE '23505' SET v_changed = 0;", "", `handlers: in a block of ["set" "insert" "end"]`),
		edit(get, "DECLARE CONTINUE HANDLER FOR SQLSTATE '23505' SET v_changed = 0;", "", `handlers: in a block of ["set" "insert" "end"]`),
		edit(ask, "DECLARE CONTINUE HANDLER FOR SQLSTATE '23505' SET v_changed = 0;", "", `handlers: in a block of ["set" "insert" "end"]`),
		edit(get, "CONTINUE HANDLER", "EXIT HANDLER", "handlers: `declare exit handler for sqlstate '23505'"),
		edit(get, "SQLSTATE '23505'", "SQLEXCEPTION", "handlers: the only handler is that for 23505"),
		edit(get, "SET v_changed = 1;", "SET v_rows = 1;", "handlers: want the handler, SET v_changed = 1 and the INSERT"),
		edit(get, "SET v_changed = 1;", "SET v_changed = 1; INSERT INTO appl_lock_serialize (object_type) VALUES (v_object_type);",
			`handlers: in a block of ["declare" "set" "insert" "insert" "end"]`),
		edit(get, "INSERT INTO appl_lock (", "CALL serialize_appl_lock (", `handlers: in a block of ["declare" "set" "call" "end"]`),
		edit(purge, "\n    SET p_purged = 0;", "    DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_changed = 0;\n    SET p_purged = 0;", "handlers: the only handler is that for 23505"),

		edit(poll, "v_client_id VARCHAR(4000)", "v_client_id VARCHAR(64)", "variable types: p_client_id is varchar(4000)"),

		edit(serialize, "CHARACTER_LENGTH(v_object_type, CODEUNITS32) NOT", "CHARACTER_LENGTH(v_object_type) NOT", "lengths: want character_length(variable, codeunits32)"),
		edit(serialize, "CHARACTER_LENGTH(v_object_type, CODEUNITS32) NOT", "LENGTH(v_object_type) NOT", "lengths: want character_length(variable, codeunits32)"),

		edit(inquire, "SET p_fence = 0", "SET p_fence = COALESCE(NULL, 0)", "out set: p_fence is not set to a literal"),
		edit(inquire, "SET p_fence = 0", "SET p_fence = v_rows + 0", "out set: p_fence is not set to a literal"),
		edit(purge, "    SET p_purged = 0;", "    IF p_max_rows = 1 THEN\n        SET p_purged = 0;\n    END IF;", "out set: p_purged is not set to a literal"),
		edit(release, "    SET p_old_department_id = '';\n", "", "out set: p_old_department_id is not set to a literal"),
		edit(release, "    SET p_outcome = '';\n", "", "out set: p_outcome is not set to a literal"),

		edit(release, "IF v_changed = 1 THEN", "IF v_changed = 1 AND p_ok_fl = 'N' THEN", "out only set: p_ok_fl is used, not only set"),
		edit(release, "SET p_outcome = 'RELEASED'", "SET p_outcome = p_ok_fl", "out only set: p_ok_fl is used, not only set"),
		edit(release, "SET p_outcome = 'HELD'", "SET p_outcome = NULL", "out only set: p_outcome is set to NULL"),
		edit(release, "SET p_outcome = ''", "SET p_outcome = NULL",
			"out only set: p_outcome is set to NULL", "out set: p_outcome is not set to a literal"),

		edit(purge, " - CURRENT TIMEZONE", "", "registers: `set v_now = current timestamp`"),
		edit(purge, "l.expires_ts) < v_before", "l.expires_ts) < CURRENT TIMESTAMP - CURRENT TIMEZONE", "registers: CURRENT stands only in"),
		edit(purge, "COALESCE(l.released_ts, l.expires_ts) < v_before", "DATE(l.expires_ts) < CURRENT DATE", "registers: current date"),
		edit(purge, timeout, timeout+"    SET CURRENT ISOLATION = CS;\n", "registers: `set current isolation = cs`"),

		edit(purge, "(v_older_than_seconds) SECOND", "v_older_than_seconds SECOND", "durations: a duration is written as (x) SECOND"),
		edit(purge, "(v_older_than_seconds) SECOND", "COALESCE(v_older_than_seconds, 1) SECOND", "durations: a duration is written as (x) SECOND"),

		edit(permit, "CAST(DAYS(l.expires_ts) - DAYS(v_now) AS BIGINT)", "DAYS(l.expires_ts) - DAYS(v_now)", "bigint: days(l.expires_ts) - days(v_now) * 86400"),
		edit(transfers, "CAST(DAYS(l.expires_ts) - DAYS(v_now) AS BIGINT)", "DAYS(l.expires_ts) - DAYS(v_now)", "bigint: days(l.expires_ts) - days(v_now) * 86400"),
		edit(releases, "        WITH CS\n    DO", "    DO", "isolation: a SELECT of a table ends in"),
		edit(releases, "            WITH CS;", ";", "isolation: a SELECT of a table ends in"),
		edit(releases, "refuse_text('release_appl_locks', 'p_after_id'", "refuse_text('release_appl_locks', 'p_object_id'", "refusals: refuses"),
		edit(poll, "CAST(DAYS(l.expires_ts) - DAYS(v_now) AS BIGINT)", "DAYS(l.expires_ts) - DAYS(v_now)", "bigint: days(l.expires_ts) - days(v_now) * 86400000000"),
		edit(inbox, "CAST(DAYS(m.expires_ts) - DAYS(v_now) AS BIGINT)", "DAYS(m.expires_ts) - DAYS(v_now)", "bigint: days(m.expires_ts) - days(v_now) * 86400"),
		edit(inbox, "            WITH CS;\n        OPEN", "            ;\n        OPEN", "isolation: want `WITH CS`"),
		edit(inbox, "WITH CS SKIP LOCKED DATA", "WITH CS", "isolation: with cs`, want `WITH CS SKIP LOCKED DATA`"),
		edit(ask, "a.client_id = v_client_id\n            WITH CS;", "a.client_id = v_client_id;", "isolation: want `WITH CS`"),
		edit(answer, "    ) AS o\n    WITH CS;", "    ) AS o;", "isolation: want `WITH CS`"),
		edit(move, "CAST(DAYS(v_old_expires_ts) - DAYS(v_now) AS BIGINT)", "(DAYS(v_old_expires_ts) - DAYS(v_now))",
			"bigint: set p_seconds_left =(days(v_old_expires_ts)"),
		edit(inquire, "MICROSECOND(v_expires_ts) > MICROSECOND(v_now)", "MICROSECOND(v_expires_ts) >= MICROSECOND(v_now)",
			"bigint: case when microsecond(v_expires_ts) >= microsecond(v_now)"),
		edit(renew, "CAST(DAYS(l.expires_ts) - DAYS(v_now) AS BIGINT)", "(DAYS(l.expires_ts) - DAYS(v_now))", "bigint: then(days(l.expires_ts)"),
		edit(purge, "CAST(DAYS(v_now) - DAYS(DATE('1970-01-01')) AS BIGINT)", "(DAYS(v_now) - DAYS(DATE('1970-01-01')))", "bigint: set v_now_us =(days(v_now)"),
		edit(purge, "CAST(MIDNIGHT_SECONDS(v_now) AS BIGINT)", "MIDNIGHT_SECONDS(v_now)", "bigint: + midnight_seconds(v_now) * 1000000"),

		edit(inquire, "SET v_now = CURRENT TIMESTAMP - CURRENT TIMEZONE;", "", "clock: directly behind the SELECT of appl_lock"),
		edit(permit, "                SET v_now = CURRENT TIMESTAMP - CURRENT TIMEZONE;\n", "", "clock: directly behind the SELECT of appl_lock"),
		edit(release, "SET v_now =", "SET v_changed = 0; SET v_now =",
			"clock: directly behind the SELECT of appl_lock stands `set v_changed = 0`", "clock: the clock is read elsewhere"),
		edit(note, "SET v_now =", "SET v_changed = 0; SET v_now =",
			"clock: directly behind the SELECT of appl_lock stands `set v_changed = 0`", "clock: the clock is read elsewhere"),
		edit(ask, "SET v_now =", "SET v_changed = 0; SET v_now =",
			"clock: directly behind the SELECT of appl_lock stands `set v_changed = 0`", "clock: the clock is read elsewhere"),
		edit(answer, "SET v_now =", "SET v_changed = 0; SET v_now =",
			"clock: directly behind the SELECT of appl_lock stands `set v_changed = 0`", "clock: the clock is read elsewhere"),
		edit(release, timeout, timeout+"    SET v_now = CURRENT TIMESTAMP - CURRENT TIMEZONE;\n", "clock: the clock is read elsewhere"),
		edit(renew, "SET v_now =", "SET v_changed = 0; SET v_now =",
			"clock: directly behind the SELECT of appl_lock stands `set v_changed = 0`", "clock: the clock is read elsewhere"),

		edit(inquire, "    -- The aggregates", timeout+"    -- The aggregates", "lock timeout: set where it must not be"),
		edit(purge, timeout, "    IF v_limit > 1 THEN SET CURRENT LOCK TIMEOUT 1; END IF;\n",
			"lock timeout: in a branch", "lock timeout: a table is used before the lock timeout is set"),
		edit(purge, timeout, "    SELECT COUNT(*) INTO v_changed FROM appl_lock AS l WITH CS;\n"+timeout,
			"lock timeout: a table is used before the lock timeout is set"),
		edit(purge, timeout, timeout+timeout, "lock timeout: twice, or in a branch"),
		edit(note, timeout, "", "lock timeout: a table is used before the lock timeout is set"),
		edit(ask, timeout, "", "lock timeout: a table is used before the lock timeout is set"),
		edit(answer, timeout, "", "lock timeout: a table is used before the lock timeout is set"),
		edit(inbox, timeout, "", "lock timeout: a table is used before the lock timeout is set"),
		edit(release, timeout, "", "lock timeout: a table is used before the lock timeout is set"),
		edit(renew, "SET CURRENT LOCK TIMEOUT 0", "SET CURRENT LOCK TIMEOUT 1", "registers: `set current lock timeout 1`", "lock timeout: a table is used before"),
		edit(see, timeout, "", "lock timeout: a table is used before the lock timeout is set"),
		edit(retract, timeout, "", "lock timeout: a table is used before the lock timeout is set"),
		edit(retract, timeout+"    -- S1: remove the waiter.\n    DELETE FROM appl_lock_waiter\n    WHERE", "    SET", "lock timeout: the lock timeout is not set"),
		edit(purgeZOS, "    SET v_limit = v_max_rows;", timeout+"    SET v_limit = v_max_rows;", "lock timeout: set where it must not be"),

		edit(assert, "WITH RS USE AND KEEP SHARE LOCKS", "WITH CS", "isolation: want `WITH RS USE AND KEEP SHARE LOCKS`"),
		edit(inquire, "WITH CS", "WITH UR", "isolation: with ur`, want `WITH CS`"),
		edit(inquire, "\n    WITH CS", "", "isolation: v_object_id`, want `WITH CS`"),
		edit(poll, "w.until_ts > v_now)\n    WITH CS", "w.until_ts > v_now)", "isolation: want `WITH CS`"),
		edit(purge, "WITH CS\n    DO\n        IF", "DO\n        IF", "isolation: rows only`, want `WITH CS`"),
		edit(purge, "SET v_purged = v_purged + v_changed", "SET v_purged = (SELECT COUNT(*) FROM appl_lock AS l)", "isolation: want `WITH CS`"),

		edit(inquire, "COUNT(*)", "1", "one row: may give no row"),

		edit(announce, "\n            AND w.client_id = v_client_id", "", "row read: a change of appl_lock_waiter"),
		edit(see, "\n                AND v.client_id = v_client_id", "", "row read: a change of appl_lock_viewer"),
		edit(see, "\n            AND expires_ts < v_before;", ";", "row read: a change of appl_lock_viewer"),
		edit(see, "                AND a.fence = c_fence\n", "", "row read: a change of appl_lock_ask"),
		edit(purge, "\n                AND expires_ts = c_viewer_expires", "", "row read: a change of appl_lock_viewer"),
		edit(ask, "WHERE a.object_type = v_object_type\n            AND a.object_id = v_object_id\n            AND a.operator_id",
			"WHERE a.object_type = v_object_type\n            AND a.operator_id", "row read: a change of appl_lock_ask"),
		edit(ask, "                        AND object_id = v_object_id\n", "", "row read: a change of appl_lock_ask"),
		edit(answer, "            AND a.expires_ts > v_now;\n        GET DIAGNOSTICS v_changed = ROW_COUNT;\n    ELSE", ";\n        GET DIAGNOSTICS v_changed = ROW_COUNT;\n    ELSE",
			"row read: a change of appl_lock_ask"),
		edit(answer, "            AND a.expires_ts > v_now;\n        GET DIAGNOSTICS v_changed = ROW_COUNT;\n    END IF", ";\n        GET DIAGNOSTICS v_changed = ROW_COUNT;\n    END IF",
			"row read: a change of appl_lock_ask"),
		edit(answer, "            AND operator_id = v_asker_id;", "            AND client_id = v_client_id;", "row read: a change of appl_lock_ask"),
		edit(inbox, "                AND a.fence = c_fence\n", "", "row read: a change of appl_lock_ask"),
		edit(inbox, "                AND a.shown_ts IS NULL;", ";", "row read: a change of appl_lock_ask"),
		edit(purge, "\n                AND expires_ts = c_request_expires", "", "row read: a change of appl_lock_ask"),
		edit(get, "                AND l.lock_ts = v_old_lock_ts\n", "", "row read: and l.fence = v_old_fence and l.expires_ts"),
		edit(move, "            AND l.lock_ts = v_old_lock_ts\n", "", "row read: and l.fence = v_old_fence and l.expires_ts"),
		edit(get, "\n                AND l.note = v_old_note", "", "row read: a change of appl_lock is `WHERE l.object_type"),
		edit(release, "\n            AND l.released_ts IS NULL", "", "row read: a change of appl_lock is `WHERE l.object_type"),
		edit(purge, "WHERE f.fence < v_highest_fence", "WHERE f.id = 1", "row read: a change of appl_lock_fence"),
		edit(poll, " AND w.until_ts > w.expires_ts));", "));", "row read: a change of appl_lock_waiter"),
		edit(purge, "\n            AND expires_ts = c_expires_ts", "", "row read: a change of appl_lock is `WHERE object_type"),
		edit(release, "AND l.expires_ts = v_old_expires_ts", "OR l.expires_ts = v_old_expires_ts", "row read: or l.expires_ts = v_old_expires_ts"),
		edit(note, "            AND l.expires_ts = v_old_expires_ts", "            AND l.expires_ts > v_now", "row read: and l.expires_ts > v_now and l.released_ts is null"),
		edit(release, "AND l.fence = v_old_fence\n", "", "row read: a change of appl_lock is `WHERE l.object_type"),
		edit(release, "SET released_ts = v_now\n        WHERE l.object_type = v_object_type\n            AND", "SET released_ts = v_now\n        WHERE",
			"row read: a change of appl_lock is `WHERE l.object_id"),
		edit(serialize, "WHERE object_type = v_object_type\n        AND", "WHERE", "row read: a change of appl_lock_serialize"),

		edit(announce, "GET DIAGNOSTICS v_changed = ROW_COUNT;", "", "row count: behind a change of appl_lock_waiter stands `if"),
		edit(ask, "GET DIAGNOSTICS v_changed = ROW_COUNT;", "", "row count: behind a change of appl_lock_ask stands `if"),
		edit(answer, "        GET DIAGNOSTICS v_changed = ROW_COUNT;\n    ELSE", "    ELSE", "row count: behind a change of appl_lock_ask stands `else"),
		edit(answer, "        GET DIAGNOSTICS v_changed = ROW_COUNT;\n    END IF", "    END IF", "row count: behind a change of appl_lock_ask stands `end if"),
		edit(purge, "GET DIAGNOSTICS v_changed = ROW_COUNT;", "", "row count: stands `set v_purged"),
		edit(history, "GET DIAGNOSTICS v_changed = ROW_COUNT;", "", "row count: behind a change of appl_lock_event stands `set v_purged"),
		edit(release, "GET DIAGNOSTICS", "SET v_rows = 0; GET DIAGNOSTICS", "row count: stands `set v_rows = 0`"),

		edit(renew, "IF v_pass = 2 THEN", "IF v_pass = 1 THEN", "second pass: outside of `IF v_pass = 2 THEN`"),

		edit(assert, "nobody holds it'", "nobody holds ' || p_object_id", "signals: is not SIGNAL SQLSTATE 'LK00n'"),
		edit(assert, "nobody holds it'", "nobody holds it, or its lock expired a moment before the call'", "signals: has 79 bytes, at most 70"),
		edit(assert, "'assert_appl_lock: nobody", "'get_appl_lock: nobody", "signals: it begins with assert_appl_lock"),
		edit(answer, "'answer_appl_lock: p_answer", "'get_appl_lock: p_answer", "signals: it begins with answer_appl_lock"),
		edit(assert, "'LK002' SET MESSAGE_TEXT = '", "'75002' SET MESSAGE_TEXT = '", "signals: is not SIGNAL SQLSTATE 'LK00n'"),

		edit(purge, "'p_max_rows', 10000", "'p_ttl_seconds', 10000", "refusals: refuses ['purge_appl_locks' 'p_ttl_seconds' 10000]"),
		edit(ask, "refuse_text('ask_appl_lock', 'p_message'", "refuse_text('ask_appl_lock', 'p_note'", "refusals: refuses ['ask_appl_lock' 'p_note'"),
		edit(purge, "'purge_appl_locks', 'p_max_rows'", "'list_appl_locks', 'p_max_rows'", "refusals: refuses ['list_appl_locks' 'p_max_rows' 10000]"),

		edit(purge, "315360000);", "9223372036854775807);", "message length: makes a message of 71 bytes, at most 70"),
		edit(transfers, "v_from_operator_id, CODEUNITS32), 64)", "v_from_operator_id, CODEUNITS32), 9223372036)", "message length: makes a message of 74 bytes, at most 70"),

		edit(inbox, "END\n@", "END @\n@", "terminators: a terminator must have a line of its own", "balance: `end @`"),
		edit(inbox, "END\n@", "END;\n@", "terminators: the statement ends with a semicolon"),
		edit(inbox, "END\n@", "END\n", "terminators: want a terminator there", "balance: `end comment on", "comments: lacks its comment"),
		edit(serialize, terminator, terminator+"@\n", "terminators: terminates nothing"),
		edit(serialize, terminator, terminator+terminator, "terminators: stands twice or behind a statement"),
		edit(serialize, terminator, "", "terminators: begins behind ``, want a terminator there"),
		edit(version, "contract.'\n@\n", "contract.'\n", "terminators: the last statement has no terminator"),

		edit(serialize, terminator, terminator+"CREATE OR REPLACE PROCEDURE lock_all\nLANGUAGE SQL\nBEGIN\nEND\n@\n", "readable: 3 routines are created, 2 of them can be read"),
		edit(serialize, terminator, terminator+"CALL serialize_appl_lock('a', 'b')\n@\n", "readable: is not a statement of a source"),
		edit(serializeZOS, terminator, terminator+"CALL appl_lock_check_database()\n@\n", "readable: is not a statement of a source"),

		edit(serialize, "let one", "für einen", "characters: has \"ü"),
		edit(serialize, "    INSERT", "\tINSERT", `characters: has "\tINS"`),

		edit(serialize, "DECLARE v_object_type,", "DECLARE v_object_type_without_trailing_blanks, v_object_type,", "names: has 37 bytes, at most 30"),

		edit(tables, volatile, "", "goose statements: the statement is empty"),
		edit(tables, volatile, "COMMIT;\n"+volatile, "goose statements: is more than one statement"),
		edit(tables, volatile+end, volatile, "goose statements: `-- +goose StatementBegin` stands in a wrong place"),
		edit(tables, begin+volatile+end, volatile, "goose statements: is not wrapped"),
		edit(tables, "appl_lock VOLATILE CARDINALITY", "appl_lock VOLATILE CARDINALITY;", "goose statements: the statement ends with a semicolon"),
		edit(tables, "DROP TABLE appl_lock\n"+end, "DROP TABLE appl_lock\n", "goose statements: the statement does not end"),
		edit(tables, "-- +goose Down", "  "+begin+"-- +goose Down", "goose statements: `  -- +goose StatementBegin` stands in a wrong place or is unknown"),

		edit(tables, "-- +goose Down", terminator+"-- +goose Down", "goose terminators: `--#SET TERMINATOR @` is not for goose"),
		edit(tablesZOS, "DROP TABLE appl_lock\n", "DROP TABLE appl_lock\n@\n", "goose terminators: `@` is not for goose"),
	}
}

// complaintsOf returns what all rules say of files, each with its rule's name.
func complaintsOf(files ...sqlFile) []string {
	var complaints []string
	for _, rule := range lintRules() {
		for _, complaint := range rule.check(files) {
			complaints = append(complaints, rule.name+": "+complaint)
		}
	}
	return complaints
}

// isOf tells whether a complaint is of the rule of an expected one, and has its text.
func isOf(complaint, expected string) bool {
	rule, part, _ := strings.Cut(expected, ": ")
	return strings.HasPrefix(complaint, rule+": ") && strings.Contains(complaint, part)
}

// Goal: every rule can fail. Method: each edit breaks one thing in a real file; what the rules say then is exactly what
// the edit expects. Every rule and every forbidden phrase has one.
func TestLintCanFail(t *testing.T) {
	t.Parallel()
	files := map[string]sqlFile{}
	for _, file := range slices.Concat(slices.Collect(maps.Values(lintedFolders(t)))...) {
		files[file.path] = file
	}
	expectations := map[string]bool{}
	for _, edit := range lintEdits() {
		text := strings.Join(files[edit.file].lines, "\n")
		if count := strings.Count(text, edit.old); count != 1 || len(edit.complaints) == 0 {
			t.Errorf("%s has %q %d times, want it once, and %d complaints", edit.file, edit.old, count, len(edit.complaints))
			continue
		}
		edited := parseSQL(edit.file, strings.Replace(text, edit.old, edit.new, 1))
		complaints := complaintsOf(files["procedures/db2/appl_lock_argument.sql"], edited)
		for _, expected := range edit.complaints {
			expectations[expected] = true
			isExpected := func(complaint string) bool { return isOf(complaint, expected) }
			if !slices.ContainsFunc(complaints, isExpected) {
				t.Errorf("%s with %q: no complaint %q", edit.file, edit.new, expected)
			}
			complaints = slices.DeleteFunc(complaints, isExpected)
		}
		for _, complaint := range complaints {
			t.Errorf("%s with %q: not expected: %s", edit.file, edit.new, complaint)
		}
	}
	for _, rule := range lintRules() {
		isOfRule := func(expected string) bool { return strings.HasPrefix(expected, rule.name+": ") }
		if !slices.ContainsFunc(slices.Collect(maps.Keys(expectations)), isOfRule) {
			t.Errorf("no edit breaks the rule %s", rule.name)
		}
	}
	for phrase := range forbiddenPhrases() {
		if !expectations["forbidden phrases: "+phrase+":"] {
			t.Errorf("no edit makes the forbidden phrase %s", phrase)
		}
	}
}
