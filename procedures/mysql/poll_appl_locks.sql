-- poll_appl_locks: which of the objects that a program waits for are free, or will be next; keeps its waiters
-- listed.
--
-- Contract   One row for each object that a waiter of the program waits for who has not given up; those that
--            are free first, then those whose lock ends soonest, p_max_rows of them. The time is as
--            the lock stands: it may be renewed or released meanwhile. The program's waiters stay listed for
--            30 s or more.
-- In         p_client_id 1..64, the waiting program. p_max_rows 1..10000, NULL = 1000. Trailing blanks are
--            trimmed first.
-- Out        object_type, object_id, free_in_us (microseconds until the lock ends, 0 when the object is free),
--            ordered by free_in_us, object_type, object_id.
-- Raises     LK001 invalid argument. LK003 when an upgrade is replacing the routine.
-- Locks      Normally nothing. Once in 30 s S2 locks the program's rows in appl_lock_waiter and in its index, to
--            the end of the caller's transaction, at REPEATABLE READ also the gaps beside them, so that no
--            waiter of the program can be added. Rows that somebody else is changing are passed over.
-- Race-free  Against announce and retract of a row: they keep it listed or end it themselves. They lock the row
--            first and the index then, S2 the other way about: but S2 never waits, so no circle closes.
--            S2 locks and changes in one statement: under autocommit no lock outlives its statement.
--            What S3 says was true at one moment; a get finds out what has become of it.
-- Differs    Plain reads, as in inquire_appl_lock: call it outside of transactions.

DELIMITER $$

CREATE PROCEDURE poll_appl_locks_core(
    IN p_client_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_max_rows BIGINT
)
COMMENT 'Internal to applock: the operation poll_appl_locks.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_client_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_client_id, ''));
    DECLARE v_max_rows BIGINT DEFAULT COALESCE(p_max_rows, 1000);
    DECLARE v_now DATETIME(6) DEFAULT UTC_TIMESTAMP(6);
    DECLARE v_expires DATETIME(6) DEFAULT v_now + INTERVAL 60 SECOND;
    DECLARE v_due BOOLEAN DEFAULT FALSE;
    DECLARE v_safe_updates BOOLEAN DEFAULT @@SESSION.sql_safe_updates;
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        SET SESSION sql_safe_updates = v_safe_updates;
        RESIGNAL;
    END;

    IF CHAR_LENGTH(v_client_id) NOT BETWEEN 1 AND 64 THEN
        CALL appl_lock_refuse_text('poll_appl_locks', 'p_client_id', CHAR_LENGTH(v_client_id), 64);
    ELSEIF v_max_rows NOT BETWEEN 1 AND 10000 THEN
        CALL appl_lock_refuse_number('poll_appl_locks', 'p_max_rows', 10000);
    END IF;

    -- S1: must one of the waiters be kept listed? (The SELECT of an IF EXISTS would lock what it reads.)
    SELECT TRUE
    INTO v_due
    FROM appl_lock_waiter AS w FORCE INDEX (appl_lock_waiter_client_ix)
    WHERE w.client_id = v_client_id
        AND w.expires_ts < v_now + INTERVAL 30 SECOND
        AND (w.until_ts IS NULL OR (w.until_ts > v_now AND w.until_ts > w.expires_ts))
    LIMIT 1;
    IF v_due THEN
        -- MariaDB's safe updates refuse S2, because it reads all that the inner SELECT has found.
        SET SESSION sql_safe_updates = FALSE;
        -- S2: keep all of them. The limit, which is out of reach, has the rows locked before the first changes; and
        -- of a small table the servers would rather read, and so lock, all rows.
        UPDATE (
            SELECT r.object_type, r.object_id, r.operator_id, r.client_id
            FROM appl_lock_waiter AS r FORCE INDEX (appl_lock_waiter_client_ix)
            WHERE r.client_id = v_client_id
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
        SET SESSION sql_safe_updates = v_safe_updates;
    END IF;

    -- S3: when will each be free?
    SELECT
        a.object_type,
        a.object_id,
        COALESCE(TIMESTAMPDIFF(MICROSECOND, v_now, l.expires_ts), 0) AS free_in_us
    FROM (
        SELECT DISTINCT w.object_type, w.object_id
        FROM appl_lock_waiter AS w FORCE INDEX (appl_lock_waiter_client_ix)
        WHERE w.client_id = v_client_id
            AND (w.until_ts IS NULL OR w.until_ts > v_now)
    ) AS a
    LEFT JOIN appl_lock AS l FORCE INDEX (PRIMARY)
        ON l.object_type = a.object_type
        AND l.object_id = a.object_id
        AND l.operator_id <> ''
        AND l.expires_ts > v_now
    ORDER BY free_in_us, a.object_type, a.object_id
    LIMIT v_max_rows;
END$$

CREATE PROCEDURE poll_appl_locks(
    IN p_client_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_max_rows BIGINT
)
COMMENT 'Which of the objects that a program waits for are free, or will be next; keeps its waiters listed.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE EXIT HANDLER FOR 1305
        SIGNAL SQLSTATE 'LK003' SET
            MESSAGE_TEXT = 'poll_appl_locks: is being replaced; call again, or install it again if that lasts';
    CALL poll_appl_locks_core(
        p_client_id, p_max_rows
    );
END$$

DELIMITER ;
