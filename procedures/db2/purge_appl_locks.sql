-- purge_appl_locks: remove the rows of objects that have been free for long.
--
-- Contract   Deletes at most p_max_rows rows that expired or were released more than
--            p_older_than_seconds ago; fewer than p_max_rows means that none is left. No live lock
--            is ever touched. Call it again until it returns less than p_max_rows. Waiters that have been
--            dead for as long go as well, at most p_max_rows of them, and events of the history that are so old, as many;
--            they are not counted. What is counted is itself an event, PURGED, if there is any: its reason is the number.
-- In         p_older_than_seconds 1..315360000, NULL = 2592000 (30 days). p_max_rows 1..10000, NULL = 1000.
-- Out        p_purged, the number of rows of appl_lock removed.
-- Raises     LK001 invalid argument. -911 and -913 as get_appl_lock.
-- Locks      The rows it removes, to the end of the caller's transaction.
-- Race-free  Get of a row being purged: S2 removes the row only if it is still the very row that S1 read; a
--            get that waited for S2 finds no row and inserts a new one. S3 and S4 do so with a waiter's row,
--            against announce and poll.
--            Fences stay monotonic: a row goes only when its fence lies in the past (it does not after
--            the clock was set back), so that the next grant's fence, now in microseconds, is greater.
-- Differs    A row that another transaction is changing is waited for, up to 1 s: whether a DELETE may skip
--            locked rows is not documented for LUW. A purge of waiters that a poll is bringing back may be a
--            deadlock, of which Db2 ends one.

--#SET TERMINATOR @

CREATE OR REPLACE PROCEDURE purge_appl_locks (
    IN p_older_than_seconds BIGINT,
    IN p_max_rows BIGINT,
    OUT p_purged BIGINT
)
SPECIFIC purge_appl_locks
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
BEGIN
    DECLARE v_older_than_seconds BIGINT;
    DECLARE v_max_rows BIGINT;
    DECLARE v_limit INTEGER;
    DECLARE v_now TIMESTAMP;
    DECLARE v_now_us BIGINT;
    DECLARE v_before TIMESTAMP;
    DECLARE v_changed INTEGER DEFAULT 0;
    DECLARE v_purged BIGINT DEFAULT 0;

    SET p_purged = 0;
    SET v_older_than_seconds = COALESCE(p_older_than_seconds, 2592000);
    SET v_max_rows = COALESCE(p_max_rows, 1000);
    IF v_older_than_seconds NOT BETWEEN 1 AND 315360000 THEN
        CALL appl_lock_refuse_number('purge_appl_locks', 'p_older_than_seconds', 315360000);
    ELSEIF v_max_rows NOT BETWEEN 1 AND 10000 THEN
        CALL appl_lock_refuse_number('purge_appl_locks', 'p_max_rows', 10000);
    END IF;

    SET v_limit = v_max_rows;
    SET CURRENT LOCK TIMEOUT 1;
    SET v_now = CURRENT TIMESTAMP - CURRENT TIMEZONE;
    SET v_now_us = CAST(DAYS(v_now) - DAYS(DATE('1970-01-01')) AS BIGINT) * 86400000000
        + CAST(MIDNIGHT_SECONDS(v_now) AS BIGINT) * 1000000
        + MICROSECOND(v_now);
    SET v_before = v_now - (v_older_than_seconds) SECOND;
    -- S1: what could go?
    FOR candidate AS
        SELECT
            l.object_type AS c_object_type,
            l.object_id AS c_object_id,
            l.fence AS c_fence,
            l.expires_ts AS c_expires_ts
        FROM appl_lock AS l
        WHERE l.expires_ts < v_before
            AND l.lock_ts < v_before
            AND l.fence < v_now_us
        FETCH FIRST v_limit ROWS ONLY
        WITH CS
    DO
        -- S2: remove it, if it is still so.
        DELETE FROM appl_lock
        WHERE object_type = c_object_type
            AND object_id = c_object_id
            AND fence = c_fence
            AND expires_ts = c_expires_ts;
        GET DIAGNOSTICS v_changed = ROW_COUNT;
        SET v_purged = v_purged + v_changed;
    END FOR;

    -- S3: which waiters could go?
    FOR waiter AS
        SELECT
            w.object_type AS c_waiter_type,
            w.object_id AS c_waiter_id,
            w.operator_id AS c_waiter_operator,
            w.client_id AS c_waiter_client,
            w.expires_ts AS c_waiter_expires
        FROM appl_lock_waiter AS w
        WHERE w.expires_ts < v_before
        FETCH FIRST v_limit ROWS ONLY
        WITH CS
    DO
        -- S4: remove it, if it is still so.
        DELETE FROM appl_lock_waiter
        WHERE object_type = c_waiter_type
            AND object_id = c_waiter_id
            AND operator_id = c_waiter_operator
            AND client_id = c_waiter_client
            AND expires_ts = c_waiter_expires;
    END FOR;

    -- S5: which events are old enough?
    FOR event AS
        SELECT e.event_id AS c_event_id
        FROM appl_lock_event AS e
        WHERE e.event_ts < v_before
        FETCH FIRST v_limit ROWS ONLY
        WITH CS
    DO
        -- S6: remove it.
        DELETE FROM appl_lock_event
        WHERE event_id = c_event_id;
    END FOR;
    IF v_purged > 0 THEN
        INSERT INTO appl_lock_event (
            event_ts,
            object_type,
            object_id,
            event,
            actor_id,
            db_user,
            program,
            from_operator_id,
            from_department_id,
            to_operator_id,
            to_department_id,
            from_fence,
            to_fence,
            reason
        )
        VALUES (
            v_now,
            '',
            '',
            'PURGED',
            '',
            SESSION_USER,
            '',
            '',
            '',
            '',
            '',
            0,
            0,
            CAST(v_purged AS VARCHAR(20))
        );
    END IF;
    SET p_purged = v_purged;
END
@

CREATE OR REPLACE PROCEDURE purge_appl_locks_row (
    IN p_older_than_seconds BIGINT,
    IN p_max_rows BIGINT
)
SPECIFIC purge_appl_locks_row
DYNAMIC RESULT SETS 1
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
BEGIN
    DECLARE v_purged BIGINT;
    CALL purge_appl_locks(
        p_older_than_seconds, p_max_rows,
        v_purged
    );
    BEGIN
        DECLARE answer CURSOR WITH RETURN FOR
            SELECT v_purged AS p_purged
            FROM SYSIBM.SYSDUMMY1;
        OPEN answer;
    END;
END
@

COMMENT ON SPECIFIC PROCEDURE purge_appl_locks IS 'Remove the rows of objects that have been free for long.'
@

COMMENT ON SPECIFIC PROCEDURE purge_appl_locks_row IS 'Remove the rows of objects that have been free for long; the answer is one row.'
@
