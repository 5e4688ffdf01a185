-- see_appl_lock: list an operator as a viewer of an object, and show its holder, askers and other viewers. Call it once in each
-- heartbeat.
--
-- Contract   Lists the operator as a viewer for p_ttl_seconds, with its state, for the program p_client_id. Each further call
--            keeps it listed, since the first one. Without a state the program's row goes. Then at most 200 rows. HOLDER: the
--            object's holder, even if it is the operator itself. ASKER: each request of another operator. VIEWER: each program
--            of another operator that is listed. Askers and viewers come oldest first. The history does not record the call.
--            Where the type's policy has presence N, the call records nothing and shows only holder and askers.
-- In         p_department_id: NULL = empty. p_client_id: a name that no other program has. p_state: VIEWING, EDITING or IDLE, NULL = it
--            leaves. p_ttl_seconds: 1..300, NULL = 45.
-- Out        client_id: empty for HOLDER; state: empty unless VIEWER; since_ts: start of the grant, the request or the listing;
--            seconds_left: until the lock or the listing ends; message: empty unless ASKER.
-- Raises     LK001 invalid argument. LK003 an upgrade is replacing the routine. 1205 after 1 s of waiting for another call for the same row.
--            1213 deadlock.
-- Locks      S2 the operator's own row; at REPEATABLE READ one who leaves without a row locks its gap. Without waiting S3 the requests
--            that ask the operator for the object, and at REPEATABLE READ their gaps: nobody asks for it anew meanwhile. S5 the dead rows of
--            the object, at most 200. To the end of the caller's transaction. It reads the rows of this object only.
-- Race-free  S3 skips an ask that is under way: the next heartbeat restarts its time.
--            Two calls for one row: the primary key lets one insert. ON DUPLICATE KEY UPDATE makes the other wait for an
--            exclusive lock, then it judges whether the row is live. S5 judges a row once it is locked: a viewer that has come
--            back stays.
-- Differs    S1, S4 and S6 are plain reads: call it outside of transactions. Of three calls for one row at once, one of them to
--            leave, one may become a deadlock's victim (1213): call again. Dead rows go one by one, because one statement would
--            lock the live ones, too.

DELIMITER $$

CREATE PROCEDURE see_appl_lock_core(...)
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_ttl_seconds BIGINT DEFAULT COALESCE(p_ttl_seconds, 45);
    DECLARE v_timeout BIGINT DEFAULT COALESCE(@appl_lock_wait, @@SESSION.innodb_lock_wait_timeout);
    DECLARE v_safe_updates BOOLEAN DEFAULT COALESCE(@appl_lock_safe, @@SESSION.sql_safe_updates + 0);
    DECLARE v_now DATETIME(6);
    DECLARE v_expires DATETIME(6);
    DECLARE v_presence_fl CHAR(1) DEFAULT 'Y';
    DECLARE v_more BOOLEAN DEFAULT TRUE;
    DECLARE v_operator_id VARCHAR(255);
    DECLARE v_client_id VARCHAR(64);
    DECLARE dead CURSOR FOR
        SELECT v.operator_id, v.client_id
        FROM appl_lock_viewer AS v FORCE INDEX (PRIMARY)
        WHERE v.object_type = p_object_type
            AND v.object_id = p_object_id
            AND v.expires_ts <= v_now
        LIMIT 200;
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_more = FALSE;
    -- 1422: a function or trigger.
    DECLARE CONTINUE HANDLER FOR 1422 CALL appl_lock_inside();
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        SET SESSION innodb_lock_wait_timeout = v_timeout, @appl_lock_wait = NULLIF(@appl_lock_wait, v_timeout);
        SET SESSION sql_safe_updates = v_safe_updates, @appl_lock_safe = NULL;
        RESIGNAL;
    END;

    SET p_department_id = COALESCE(p_department_id, '');
    SET p_state = RTRIM(p_state);
    CALL appl_lock_owner('see_appl_lock', p_object_type, p_object_id, p_operator_id, p_department_id);
    CALL appl_lock_text('see_appl_lock', 'p_client_id', 'N', 1, 64, p_client_id);
    IF p_state NOT IN ('VIEWING', 'EDITING', 'IDLE') THEN
        SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT = 'see_appl_lock: p_state is VIEWING, EDITING or IDLE, or NULL';
    END IF;
    CALL appl_lock_number('see_appl_lock', 'p_ttl_seconds', 300, v_ttl_seconds);
    CALL appl_lock_enter();

    -- S1: is presence on?
    SELECT p.presence_fl
    INTO v_presence_fl
    FROM appl_lock_policy AS p
    WHERE p.object_type = p_object_type;
    SET v_now = UTC_TIMESTAMP(6);
    SET v_expires = v_now + INTERVAL v_ttl_seconds SECOND;
    SET @appl_lock_wait = COALESCE(@appl_lock_wait, v_timeout), SESSION innodb_lock_wait_timeout = LEAST(1, v_timeout);
    -- S2: it leaves, or it is listed. Each assignment sees the ones before it.
    IF p_state IS NULL THEN
        DELETE FROM appl_lock_viewer
        WHERE object_type = p_object_type
            AND object_id = p_object_id
            AND operator_id = p_operator_id
            AND client_id = p_client_id;
    ELSEIF v_presence_fl = 'Y' THEN
        INSERT INTO appl_lock_viewer (
            object_type, object_id, operator_id, department_id, client_id, state, since_ts, seen_ts, expires_ts
        )
        VALUES (
            p_object_type, p_object_id, p_operator_id, p_department_id, p_client_id, p_state, v_now, v_now, v_expires
        )
        ON DUPLICATE KEY UPDATE
            department_id = p_department_id,
            state = p_state,
            since_ts = IF(expires_ts > v_now, since_ts, v_now),
            seen_ts = v_now,
            expires_ts = v_expires;
    END IF;
    SET SESSION innodb_lock_wait_timeout = v_timeout, @appl_lock_wait = NULLIF(@appl_lock_wait, v_timeout);

    -- S3: an operator that edits is present: restart its time to answer the requests for its lock.
    IF p_state = 'EDITING' AND v_presence_fl = 'Y' THEN
        -- MariaDB's safe updates refuse S3 and S5, because they read all rows of the inner SELECT.
        SET @appl_lock_safe = v_safe_updates, SESSION sql_safe_updates = FALSE;
        UPDATE (
            SELECT r.object_type, r.object_id, r.operator_id, r.client_id
            FROM appl_lock_ask AS r FORCE INDEX (PRIMARY)
            WHERE r.object_type = p_object_type
                AND r.object_id = p_object_id
                AND r.holder_id = p_operator_id
                AND r.shown_ts IS NOT NULL
            LIMIT 10000
            FOR UPDATE SKIP LOCKED
        ) AS k
        STRAIGHT_JOIN appl_lock_ask AS q FORCE INDEX (PRIMARY)
            ON q.object_type = k.object_type
            AND q.object_id = k.object_id
            AND q.operator_id = k.operator_id
            AND q.client_id = k.client_id
        SET q.edited_ts = v_now;
    END IF;

    -- S4: which rows of this object are dead?
    OPEN dead;
    SET v_more = TRUE;
    FETCH dead INTO v_operator_id, v_client_id;
    IF v_more THEN
        SET @appl_lock_safe = v_safe_updates, SESSION sql_safe_updates = FALSE;
    END IF;
    WHILE v_more DO
        -- S5: remove it, unless another transaction is changing it.
        DELETE v
        FROM (
            SELECT d.object_type, d.object_id, d.operator_id, d.client_id
            FROM appl_lock_viewer AS d FORCE INDEX (PRIMARY)
            WHERE d.object_type = p_object_type
                AND d.object_id = p_object_id
                AND d.operator_id = v_operator_id
                AND d.client_id = v_client_id
                AND d.expires_ts <= v_now
            LIMIT 1
            FOR UPDATE SKIP LOCKED
        ) AS k
        STRAIGHT_JOIN appl_lock_viewer AS v FORCE INDEX (PRIMARY)
            ON v.object_type = k.object_type
            AND v.object_id = k.object_id
            AND v.operator_id = k.operator_id
            AND v.client_id = k.client_id;
        FETCH dead INTO v_operator_id, v_client_id;
    END WHILE;
    CLOSE dead;
    SET SESSION sql_safe_updates = v_safe_updates, @appl_lock_safe = NULL;

    -- S6: who is there?
    SELECT
        m.kind,
        m.operator_id,
        m.department_id,
        m.client_id,
        m.state,
        m.since_ts,
        m.seconds_left,
        m.message
    FROM (
        SELECT
            1 AS part,
            'HOLDER' AS kind,
            l.operator_id,
            l.department_id,
            '' AS client_id,
            '' AS state,
            l.acquired_ts AS since_ts,
            (TIMESTAMPDIFF(MICROSECOND, v_now, l.expires_ts) + 999999) DIV 1000000 AS seconds_left,
            '' AS message
        FROM appl_lock AS l FORCE INDEX (PRIMARY)
        WHERE l.object_type = p_object_type
            AND l.object_id = p_object_id
            AND l.released_ts IS NULL
            AND l.expires_ts > v_now
        UNION ALL
        SELECT
            2, 'ASKER', a.operator_id, a.department_id, a.client_id, '', a.since_ts,
            (TIMESTAMPDIFF(MICROSECOND, v_now, a.expires_ts) + 999999) DIV 1000000, a.message
        FROM appl_lock_ask AS a FORCE INDEX (PRIMARY)
        WHERE a.object_type = p_object_type
            AND a.object_id = p_object_id
            AND a.operator_id <> p_operator_id
            AND a.expires_ts > v_now
        UNION ALL
        SELECT
            3, 'VIEWER', v.operator_id, v.department_id, v.client_id, v.state, v.since_ts,
            (TIMESTAMPDIFF(MICROSECOND, v_now, v.expires_ts) + 999999) DIV 1000000, ''
        FROM appl_lock_viewer AS v FORCE INDEX (PRIMARY)
        WHERE v_presence_fl = 'Y'
            AND v.object_type = p_object_type
            AND v.object_id = p_object_id
            AND v.operator_id <> p_operator_id
            AND v.expires_ts > v_now
    ) AS m
    ORDER BY m.part, m.since_ts, m.operator_id, m.client_id
    LIMIT 200;
END$$

DELIMITER ;
