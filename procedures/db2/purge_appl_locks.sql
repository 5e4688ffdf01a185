-- purge_appl_locks: remove the rows of objects that have been free for long.
--
-- Contract   Deletes at most p_max_rows rows that expired or were released more than p_older_than_seconds ago; fewer than
--            p_max_rows means that none is left. No live lock is ever touched. Only the last call, which removes fewer, looks for
--            waiters, requests and viewers that have been dead for as long. At most p_max_rows of each go, and are not counted. If
--            any row of a lock went, the event PURGED has the number as its reason.
-- In         p_older_than_seconds 1..315360000, NULL = 2592000 (30 days). p_max_rows 1..10000, NULL = 1000.
-- Out        p_purged, the number of rows of appl_lock removed.
-- Raises     LK001 invalid argument. -911 and -913 as get_appl_lock.
-- Locks      The rows it removes and the row of appl_lock_fence, to the end of the caller's transaction.
-- Race-free  Get of a row being purged: S2 removes the row only if it is still the one that S1 read. A get that waited for S2
--            finds no row and inserts a new one. The same holds for waiters (S3 and S4, against announce and poll), requests
--            (S5 and S6, against ask) and viewers (S7 and S8, against see).
--            Fences never fall: a row goes only when its fence lies in the past and appl_lock_fence has it, for gets after the
--            clock was set back.
-- Differs    It waits up to 1 s for a row that another transaction is changing: whether a DELETE may skip locked rows is not
--            documented for LUW. A purge may deadlock with a poll that revives its rows; Db2 then ends one of them.

--#SET TERMINATOR @

CREATE OR REPLACE PROCEDURE purge_appl_locks (...)
SPECIFIC purge_appl_locks
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
BEGIN
    DECLARE v_older_than_seconds, v_max_rows, v_now_us, v_highest_fence BIGINT;
    DECLARE v_purged BIGINT DEFAULT 0;
    DECLARE v_limit INTEGER;
    DECLARE v_now, v_before TIMESTAMP;
    DECLARE v_changed INTEGER DEFAULT 0;

    SET p_purged = 0;
    SET v_older_than_seconds = COALESCE(p_older_than_seconds, 2592000);
    SET v_max_rows = COALESCE(p_max_rows, 1000);
    IF v_older_than_seconds NOT BETWEEN 1 AND 315360000 THEN
        CALL appl_lock_refuse_number('purge_appl_locks', 'p_older_than_seconds', 315360000);
    ELSEIF v_max_rows NOT BETWEEN 1 AND 10000 THEN
        CALL appl_lock_refuse_number('purge_appl_locks', 'p_max_rows', 10000);
    END IF;

    SET v_limit = v_max_rows;
    SET v_highest_fence = 0;
    SET CURRENT LOCK TIMEOUT 1;
    SET v_now = CURRENT TIMESTAMP - CURRENT TIMEZONE;
    SET v_now_us = EPOCH_MICROSECONDS(v_now);
    SET v_before = v_now - (v_older_than_seconds) SECOND;
    -- S1: what could go?
    FOR candidate AS
        SELECT
            l.object_type AS c_object_type,
            l.object_id AS c_object_id,
            l.fence AS c_fence,
            l.lock_ts AS c_lock_ts,
            l.expires_ts AS c_expires_ts,
            l.released_ts AS c_released_ts
        FROM appl_lock AS l
        WHERE COALESCE(l.released_ts, l.expires_ts) < v_before
            AND l.fence < v_now_us
        FETCH FIRST v_limit ROWS ONLY
        WITH CS
    DO
        IF c_fence > v_highest_fence THEN
            SET v_highest_fence = c_fence;
            UPDATE appl_lock_fence AS f
            SET fence = v_highest_fence
            WHERE f.fence < v_highest_fence;
        END IF;
        -- S2: remove it, if it is unchanged.
        DELETE FROM appl_lock
        WHERE object_type = c_object_type
            AND object_id = c_object_id
            AND fence = c_fence
            AND lock_ts = c_lock_ts
            AND expires_ts = c_expires_ts
            AND (released_ts = c_released_ts OR (released_ts IS NULL AND c_released_ts IS NULL));
        GET DIAGNOSTICS v_changed = ROW_COUNT;
        SET v_purged = v_purged + v_changed;
    END FOR;

    IF v_purged < v_max_rows THEN
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
            -- S4: remove it, if it is unchanged.
            DELETE FROM appl_lock_waiter
            WHERE object_type = c_waiter_type
                AND object_id = c_waiter_id
                AND operator_id = c_waiter_operator
                AND client_id = c_waiter_client
                AND expires_ts = c_waiter_expires;
        END FOR;

        -- S5: which requests could go?
        FOR request AS
            SELECT
                a.object_type AS c_request_type,
                a.object_id AS c_request_id,
                a.operator_id AS c_request_operator,
                a.client_id AS c_request_client,
                a.expires_ts AS c_request_expires
            FROM appl_lock_ask AS a
            WHERE a.expires_ts < v_before
            FETCH FIRST v_limit ROWS ONLY
            WITH CS
        DO
            -- S6: remove it, if it is unchanged.
            DELETE FROM appl_lock_ask
            WHERE object_type = c_request_type
                AND object_id = c_request_id
                AND operator_id = c_request_operator
                AND client_id = c_request_client
                AND expires_ts = c_request_expires;
        END FOR;

        -- S7: which viewers could go?
        FOR viewer AS
            SELECT
                v.object_type AS c_viewer_type,
                v.object_id AS c_viewer_id,
                v.operator_id AS c_viewer_operator,
                v.client_id AS c_viewer_client,
                v.expires_ts AS c_viewer_expires
            FROM appl_lock_viewer AS v
            WHERE v.expires_ts < v_before
            FETCH FIRST v_limit ROWS ONLY
            WITH CS
        DO
            -- S8: remove it, if it is unchanged.
            DELETE FROM appl_lock_viewer
            WHERE object_type = c_viewer_type
                AND object_id = c_viewer_id
                AND operator_id = c_viewer_operator
                AND client_id = c_viewer_client
                AND expires_ts = c_viewer_expires;
        END FOR;
    END IF;

    IF v_purged > 0 THEN
        CALL appl_lock_record(v_now, '', '', 'PURGED', '', '', '', '', '', 0, 0, CAST(v_purged AS VARCHAR(20)));
    END IF;
    SET p_purged = v_purged;
END
@
