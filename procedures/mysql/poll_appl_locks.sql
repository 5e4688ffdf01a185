-- poll_appl_locks: show which objects that a program waits for are free or will be next, and keep its waiters listed.
--
-- Contract   A row for each object that a waiter of the program still waits for: free objects first, then by the end of their
--            locks. A lock may be renewed or released meanwhile. The program's waiters stay listed for 30 s or more, with the
--            object's present holder once that has had it for a second. It is the turn of the program whose waiter has been listed longest.
-- In         p_max_rows: 1..10000, NULL = 1000.
-- Out        free_in_us: microseconds until the lock ends, 0 when the object is free. first_fl: Y when it is free, and the turn of
--            this program; otherwise N. Ordered by free_in_us and the key.
-- Raises     LK001 invalid argument. LK003 an upgrade is replacing the routine.
-- Locks      Normally nothing. Once in 30 s S2 locks the program's rows in appl_lock_waiter and in its index, to the end of the caller's
--            transaction, at REPEATABLE READ also the gaps around them. S3 locks waiters whose object changed hands.
--            Rows that another transaction is changing are passed over.
-- Race-free  Against announce and retract of a row: they lock the row first and the index second, S2 the other way round. S2
--            never waits, so they cannot deadlock. S2 and S3 lock and change in one statement: under autocommit no lock
--            outlives it.
-- Differs    Plain reads: call it outside of transactions.

DELIMITER $$

CREATE PROCEDURE poll_appl_locks_core(...)
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_max_rows BIGINT DEFAULT COALESCE(p_max_rows, 1000);
    DECLARE v_now DATETIME(6);
    DECLARE v_expires DATETIME(6);
    DECLARE v_due BOOLEAN DEFAULT FALSE;
    DECLARE v_more BOOLEAN DEFAULT TRUE;
    DECLARE v_object_type VARCHAR(64);
    DECLARE v_object_id VARCHAR(255);
    DECLARE v_operator_id VARCHAR(255);
    DECLARE v_holder_id VARCHAR(255);
    DECLARE v_safe_updates BOOLEAN DEFAULT COALESCE(@appl_lock_safe, @@SESSION.sql_safe_updates + 0);
    DECLARE moved CURSOR FOR
        SELECT w.object_type, w.object_id, w.operator_id, l.operator_id
        FROM appl_lock_waiter AS w FORCE INDEX (appl_lock_waiter_client_ix)
        STRAIGHT_JOIN appl_lock AS l FORCE INDEX (PRIMARY)
            ON l.object_type = w.object_type
            AND l.object_id = w.object_id
            AND l.operator_id <> w.holder_id
            AND l.released_ts IS NULL
            AND l.expires_ts > v_now
            AND l.acquired_ts < v_now - INTERVAL 1 SECOND
        WHERE w.client_id = p_client_id
            AND w.expires_ts > v_now;
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_more = FALSE;
    -- 1422: a function or trigger.
    DECLARE CONTINUE HANDLER FOR 1422 CALL appl_lock_inside();
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        SET SESSION sql_safe_updates = v_safe_updates, @appl_lock_safe = NULL;
        RESIGNAL;
    END;

    CALL appl_lock_text('poll_appl_locks', 'p_client_id', 'N', 1, 64, p_client_id);
    CALL appl_lock_number('poll_appl_locks', 'p_max_rows', 10000, v_max_rows);
    CALL appl_lock_enter();
    SET v_now = UTC_TIMESTAMP(6);
    SET v_expires = v_now + INTERVAL 60 SECOND;

    -- S1: must one of the waiters be kept listed? (The SELECT of an IF EXISTS would lock what it reads.)
    SELECT TRUE
    INTO v_due
    FROM appl_lock_waiter AS w FORCE INDEX (appl_lock_waiter_client_ix)
    WHERE w.client_id = p_client_id
        AND w.expires_ts < v_now + INTERVAL 30 SECOND
        AND (w.until_ts IS NULL OR (w.until_ts > v_now AND w.until_ts > w.expires_ts))
    LIMIT 1;
    -- MariaDB's safe updates refuse S2 and S3, because they read all rows of the inner SELECT.
    SET @appl_lock_safe = v_safe_updates, SESSION sql_safe_updates = FALSE;
    IF v_due THEN
        -- S2: keep all of them. The LIMIT, which is out of reach, makes the server lock the rows before it changes the first.
        -- Without the forced index it would read, and so lock, all rows of a small table.
        UPDATE (
            SELECT r.object_type, r.object_id, r.operator_id, r.client_id
            FROM appl_lock_waiter AS r FORCE INDEX (appl_lock_waiter_client_ix)
            WHERE r.client_id = p_client_id
                AND (r.until_ts IS NULL OR (r.until_ts > v_now AND r.until_ts > r.expires_ts))
            LIMIT 1000000000
            FOR UPDATE SKIP LOCKED
        ) AS k
        STRAIGHT_JOIN appl_lock_waiter AS w FORCE INDEX (PRIMARY)
            ON w.object_type = k.object_type
            AND w.object_id = k.object_id
            AND w.operator_id = k.operator_id
            AND w.client_id = k.client_id
        SET w.expires_ts = LEAST(v_expires, COALESCE(w.until_ts, v_expires));
    END IF;

    -- S3: store the new holders. While an object goes from hand to hand, polls write nothing.
    OPEN moved;
    SET v_more = TRUE;
    FETCH moved INTO v_object_type, v_object_id, v_operator_id, v_holder_id;
    WHILE v_more DO
        UPDATE (
            SELECT r.object_type, r.object_id, r.operator_id, r.client_id
            FROM appl_lock_waiter AS r FORCE INDEX (PRIMARY)
            WHERE r.object_type = v_object_type
                AND r.object_id = v_object_id
                AND r.operator_id = v_operator_id
                AND r.client_id = p_client_id
            LIMIT 1
            FOR UPDATE SKIP LOCKED
        ) AS k
        STRAIGHT_JOIN appl_lock_waiter AS w FORCE INDEX (PRIMARY)
            ON w.object_type = k.object_type
            AND w.object_id = k.object_id
            AND w.operator_id = k.operator_id
            AND w.client_id = k.client_id
        SET w.holder_id = v_holder_id;
        FETCH moved INTO v_object_type, v_object_id, v_operator_id, v_holder_id;
    END WHILE;
    CLOSE moved;
    SET SESSION sql_safe_updates = v_safe_updates, @appl_lock_safe = NULL;

    -- S4: when will each be free?
    SELECT
        a.object_type,
        a.object_id,
        COALESCE(TIMESTAMPDIFF(MICROSECOND, v_now, l.expires_ts), 0) AS free_in_us,
        IF(l.expires_ts IS NULL AND NOT EXISTS (
            SELECT TRUE
            FROM appl_lock_waiter AS o FORCE INDEX (PRIMARY)
            WHERE o.object_type = a.object_type
                AND o.object_id = a.object_id
                    AND o.expires_ts > v_now
                AND o.since_ts < a.since_ts
        ), 'Y', 'N') AS first_fl
    FROM (
        SELECT w.object_type, w.object_id, MIN(w.since_ts) AS since_ts
        FROM appl_lock_waiter AS w FORCE INDEX (appl_lock_waiter_client_ix)
        WHERE w.client_id = p_client_id
            AND (w.until_ts IS NULL OR w.until_ts > v_now)
        GROUP BY w.object_type, w.object_id
    ) AS a
    LEFT JOIN appl_lock AS l FORCE INDEX (PRIMARY)
        ON l.object_type = a.object_type
        AND l.object_id = a.object_id
        AND l.released_ts IS NULL
        AND l.expires_ts > v_now
    ORDER BY free_in_us, a.object_type, a.object_id
    LIMIT v_max_rows;
END$$

DELIMITER ;
