-- For Db2 for z/OS 12, function level 507, and later. Made by `make snapshot` from procedures/db2/stats_appl_locks.sql
-- with the deltas of internal/build/snapshot/zos.go: edit it there. What is different from the text below:
-- a wait for another transaction lasts as long as the subsystem says (IRLMRWT), not 1 s; a row that another
-- transaction is updating is waited for by a plain read, too.
--
-- stats_appl_locks: how many locks and waiters there are of each type and department, and how old and how long.
--
-- Contract   One row for each type and department that has a row in appl_lock, or somebody who is listed in
--            appl_lock_waiter: live locks by the department of the holder, waiters by their own. What is free is
--            nobody's, and has the empty one. The sum of live and expired is the number of rows of appl_lock.
-- In         p_object_type 1..64, p_department_id 0..64: NULL = any. Trailing blanks are trimmed first.
-- Out        live, expired (free again, and not purged), oldest_seconds (since acquired_ts, of live locks),
--            next_expiry_seconds (to expires_ts, of live locks), waiters (listed now), longest_wait_seconds (since
--            since_ts), ordered by object_type, department_id. Seconds are whole ones: what lies behind is
--            rounded down, what lies ahead is rounded up; 0 for none, and for what the clock was set back behind.
-- Raises     LK001 invalid argument. Nothing else on purpose.
-- Locks      Nothing; it reads what is committed without waiting (cur_commit, the default). It reads each table once,
--            from end to end, or what there is of the type.
-- Race-free  One time is the now of all rows. A lock that comes, goes or changes hands meanwhile is counted as it was
--            when it was read. (Cursor stability: the answer is not one snapshot.)
-- Differs    The order is that of the database's collation, IDENTITY or SYSTEM.

--#SET TERMINATOR @

CREATE OR REPLACE PROCEDURE stats_appl_locks (
    IN p_object_type VARCHAR(4000),
    IN p_department_id VARCHAR(4000)
)
DYNAMIC RESULT SETS 1
LANGUAGE SQL
NOT DETERMINISTIC
READS SQL DATA
PARAMETER CCSID UNICODE
ISOLATION LEVEL CS
CONCURRENT ACCESS RESOLUTION USE CURRENTLY COMMITTED
VALIDATE BIND
DISALLOW DEBUG MODE
BEGIN
    DECLARE v_object_type VARCHAR(4000);
    DECLARE v_department_id VARCHAR(4000);
    DECLARE v_now TIMESTAMP;

    SET v_object_type = RTRIM(p_object_type);
    SET v_department_id = RTRIM(p_department_id);
    IF CHARACTER_LENGTH(v_object_type, CODEUNITS32) NOT BETWEEN 1 AND 64 OR LOCATE(':', v_object_type) > 0 THEN
        CALL appl_lock_refuse_text('stats_appl_locks', 'p_object_type', CHARACTER_LENGTH(v_object_type, CODEUNITS32), 64);
    ELSEIF CHARACTER_LENGTH(v_department_id, CODEUNITS32) > 64 THEN
        CALL appl_lock_refuse_text('stats_appl_locks', 'p_department_id', CHARACTER_LENGTH(v_department_id, CODEUNITS32), 64);
    END IF;

    SET v_now = CURRENT TIMESTAMP - CURRENT TIMEZONE;
    BEGIN
        DECLARE answer CURSOR WITH RETURN FOR
            SELECT
                s.object_type,
                s.department_id,
                CAST(SUM(s.live) AS BIGINT) AS live,
                CAST(SUM(s.expired) AS BIGINT) AS expired,
                MAX(s.oldest_seconds) AS oldest_seconds,
                MAX(s.next_expiry_seconds) AS next_expiry_seconds,
                CAST(SUM(s.waiters) AS BIGINT) AS waiters,
                MAX(s.longest_wait_seconds) AS longest_wait_seconds
            FROM (
                SELECT
                    l.object_type,
                    l.department_id,
                    SUM(l.is_live) AS live,
                    SUM(1 - l.is_live) AS expired,
                    MAX(CASE
                        WHEN l.is_live = 1 AND l.acquired_ts < v_now THEN
                            CAST(DAYS(v_now) - DAYS(l.acquired_ts) AS BIGINT) * 86400
                            + MIDNIGHT_SECONDS(v_now) - MIDNIGHT_SECONDS(l.acquired_ts)
                            - CASE WHEN MICROSECOND(l.acquired_ts) > MICROSECOND(v_now) THEN 1 ELSE 0 END
                        ELSE 0
                    END) AS oldest_seconds,
                    COALESCE(MIN(CASE
                        WHEN l.is_live = 1 THEN
                            CAST(DAYS(l.expires_ts) - DAYS(v_now) AS BIGINT) * 86400
                            + MIDNIGHT_SECONDS(l.expires_ts) - MIDNIGHT_SECONDS(v_now)
                            + CASE WHEN MICROSECOND(l.expires_ts) > MICROSECOND(v_now) THEN 1 ELSE 0 END
                    END), 0) AS next_expiry_seconds,
                    0 AS waiters,
                    0 AS longest_wait_seconds
                FROM (
                    SELECT
                        a.object_type,
                        CASE WHEN a.expires_ts > v_now THEN a.department_id ELSE '' END AS department_id,
                        a.acquired_ts,
                        a.expires_ts,
                        CASE WHEN a.expires_ts > v_now THEN 1 ELSE 0 END AS is_live
                    FROM appl_lock AS a
                    WHERE v_object_type IS NULL OR a.object_type = v_object_type
                ) AS l
                WHERE v_department_id IS NULL OR l.department_id = v_department_id
                GROUP BY l.object_type, l.department_id
                UNION ALL
                SELECT
                    w.object_type,
                    w.department_id,
                    0 AS live,
                    0 AS expired,
                    0 AS oldest_seconds,
                    0 AS next_expiry_seconds,
                    COUNT(*) AS waiters,
                    MAX(CASE
                        WHEN w.since_ts < v_now THEN
                            CAST(DAYS(v_now) - DAYS(w.since_ts) AS BIGINT) * 86400
                            + MIDNIGHT_SECONDS(v_now) - MIDNIGHT_SECONDS(w.since_ts)
                            - CASE WHEN MICROSECOND(w.since_ts) > MICROSECOND(v_now) THEN 1 ELSE 0 END
                        ELSE 0
                    END) AS longest_wait_seconds
                FROM appl_lock_waiter AS w
                WHERE (v_object_type IS NULL OR w.object_type = v_object_type)
                    AND (v_department_id IS NULL OR w.department_id = v_department_id)
                    AND w.expires_ts > v_now
                GROUP BY w.object_type, w.department_id
            ) AS s
            GROUP BY s.object_type, s.department_id
            ORDER BY s.object_type, s.department_id
            WITH CS;
        OPEN answer;
    END;
END
@

