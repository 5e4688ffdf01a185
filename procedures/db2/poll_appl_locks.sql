-- poll_appl_locks: show which objects that a program waits for are free or will be next, and keep its waiters listed.
--
-- Contract   One row for each object that a waiter of the program still waits for: free objects first, then by the end of their
--            locks, at most p_max_rows. A lock may be renewed or released meanwhile. It is the turn of the program whose waiter
--            has been listed longest. The program's waiters stay listed for 30 s or more, with each object's present holder
--            once that has had it for a second.
-- In         p_client_id 1..64, the waiting program. p_max_rows 1..10000, NULL = 1000. Trailing blanks are
--            trimmed first.
-- Out        A result set: object_type, object_id, free_in_us (microseconds until the lock ends, 0 when the
--            object is free), first_fl (Y when it is free, and the turn of this program; otherwise N), ordered by
--            free_in_us, object_type, object_id.
-- Raises     LK001 invalid argument. -911 and -913 as get_appl_lock.
-- Locks      Normally nothing: S1 and S4 read committed rows without waiting (cur_commit, the default). Once in 30 s S2 locks
--            the program's rows in appl_lock_waiter, and S3 those whose object has changed hands, to the end of the caller's
--            transaction.
-- Race-free  Against announce and retract of a row: the call that locks it first goes first. Those lock one row each, so one of
--            them cannot deadlock with a poll. A row that comes after S1 is listed for 60 s anyway. S4 was true at one moment:
--            only a get decides.
-- Differs    S2 and S3 wait up to 1 s for a row that another transaction is changing, because Db2 cannot skip it: announce in a
--            transaction that stays open keeps its program from polling. A purge may deadlock with a poll that revives its
--            rows; Db2 then ends one of them.

--#SET TERMINATOR @

CREATE OR REPLACE PROCEDURE poll_appl_locks (...)
SPECIFIC poll_appl_locks
DYNAMIC RESULT SETS 1
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
BEGIN
    DECLARE v_client_id VARCHAR(4000);
    DECLARE v_max_rows BIGINT;
    DECLARE v_rows, v_ending, v_moved INTEGER DEFAULT 0;
    DECLARE v_limit INTEGER;
    DECLARE v_now, v_soon, v_ago, v_expires_ts TIMESTAMP;

    SET v_client_id = RTRIM(COALESCE(p_client_id, ''));
    SET v_max_rows = COALESCE(p_max_rows, 1000);
    IF CHARACTER_LENGTH(v_client_id, CODEUNITS32) NOT BETWEEN 1 AND 64 THEN
        CALL appl_lock_refuse_text('poll_appl_locks', 'p_client_id', CHARACTER_LENGTH(v_client_id, CODEUNITS32), 64);
    ELSEIF v_max_rows NOT BETWEEN 1 AND 10000 THEN
        CALL appl_lock_refuse_number('poll_appl_locks', 'p_max_rows', 10000);
    END IF;

    SET v_limit = v_max_rows;
    SET CURRENT LOCK TIMEOUT 1;
    SET v_now = CURRENT TIMESTAMP - CURRENT TIMEZONE;
    SET v_soon = v_now + (30) SECOND;
    SET v_ago = v_now - (1) SECOND;
    SET v_expires_ts = v_now + (60) SECOND;

    -- S1: must one of them be kept listed, and has an object changed hands?
    SELECT
        COUNT(*),
        COALESCE(SUM(CASE WHEN w.expires_ts < v_soon AND (w.until_ts IS NULL OR w.until_ts > w.expires_ts) THEN 1 ELSE 0 END), 0),
        COALESCE(SUM(CASE WHEN w.holder_id <> l.operator_id AND l.acquired_ts < v_ago THEN 1 ELSE 0 END), 0)
    INTO v_rows, v_ending, v_moved
    FROM appl_lock_waiter AS w
    LEFT OUTER JOIN appl_lock AS l
        ON l.object_type = w.object_type
        AND l.object_id = w.object_id
        AND l.released_ts IS NULL
        AND l.expires_ts > v_now
    WHERE w.client_id = v_client_id
        AND (w.until_ts IS NULL OR w.until_ts > v_now)
    WITH CS;

    -- S2: then keep all of them, so that the next poll need not.
    IF v_ending > 0 THEN
        UPDATE appl_lock_waiter AS w
        SET expires_ts = CASE WHEN w.until_ts < v_expires_ts THEN w.until_ts ELSE v_expires_ts END
        WHERE w.client_id = v_client_id
            AND (w.until_ts IS NULL OR (w.until_ts > v_now AND w.until_ts > w.expires_ts));
    END IF;

    -- S3: store the new holders. While an object goes from hand to hand, polls write nothing.
    IF v_moved > 0 THEN
        UPDATE appl_lock_waiter AS w
        SET holder_id = COALESCE((
            SELECT l.operator_id
            FROM appl_lock AS l
            WHERE l.object_type = w.object_type
                AND l.object_id = w.object_id
                AND l.released_ts IS NULL
                AND l.expires_ts > v_now
        ), '')
        WHERE w.client_id = v_client_id
            AND (w.until_ts IS NULL OR w.until_ts > v_now)
            AND EXISTS (
                SELECT 1
                FROM appl_lock AS l
                WHERE l.object_type = w.object_type
                    AND l.object_id = w.object_id
                    AND l.operator_id <> w.holder_id
                    AND l.released_ts IS NULL
                    AND l.expires_ts > v_now
                    AND l.acquired_ts < v_ago
            )
        WITH CS;
    END IF;

    -- S4: when will each be free?
    BEGIN
        DECLARE answer CURSOR WITH RETURN FOR
            SELECT
                a.object_type,
                a.object_id,
                CASE WHEN l.expires_ts IS NOT NULL THEN MICROSECONDS(v_now, l.expires_ts) ELSE 0 END AS free_in_us,
                CASE
                    WHEN l.expires_ts IS NOT NULL THEN 'N'
                    WHEN EXISTS (
                        SELECT 1
                        FROM appl_lock_waiter AS o
                        WHERE o.object_type = a.object_type
                            AND o.object_id = a.object_id
                            AND o.expires_ts > v_now
                            AND o.since_ts < a.since_ts
                    ) THEN 'N'
                    ELSE 'Y'
                END AS first_fl
            FROM (
                SELECT w.object_type, w.object_id, MIN(w.since_ts) AS since_ts
                FROM appl_lock_waiter AS w
                WHERE w.client_id = v_client_id
                    AND (w.until_ts IS NULL OR w.until_ts > v_now)
                GROUP BY w.object_type, w.object_id
            ) AS a
            LEFT OUTER JOIN appl_lock AS l
                ON l.object_type = a.object_type
                AND l.object_id = a.object_id
                AND l.released_ts IS NULL
                AND l.expires_ts > v_now
            ORDER BY free_in_us, object_type, object_id
            FETCH FIRST v_limit ROWS ONLY
            WITH CS;
        OPEN answer;
    END;
END
@
