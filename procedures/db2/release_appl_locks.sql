-- release_appl_locks: release what an operator holds, all or of a type, page by page.
--
-- Contract   A page is at most p_max_rows live locks of p_operator whose key is greater than (p_after_type, p_after_id), with a row
--            for each. The next page starts after the last row of this one; a page shorter than p_max_rows is the last.
--            RELEASED: it is free now, with an event of the history, as release_appl_lock has it.
--            HELD or FREE: it has changed hands since the page was read; old_* and expires_ts tell who holds it. It is left
--            as it is, and the next ones are done.
--            WOULD_RELEASE: p_dry_run_fl is Y, and nothing is done.
-- In         p_operator_id 1..64; p_object_type 1..64 without ":", NULL = any; p_actor_id 1..64, NULL = p_operator_id;
--            p_reason 0..255, NULL = empty; p_after_type 0..64, p_after_id 0..255, NULL = from the start; p_max_rows
--            1..10000, NULL = 1000; p_dry_run_fl Y or N, NULL or empty = N. Trailing blanks are trimmed first.
-- Out        A result set: object_type, object_id, outcome, old_operator_id, old_department_id (empty unless HELD), fence (of
--            the operator's grant; 0 when HELD or FREE), expires_ts (UTC, NULL when RELEASED or FREE), seconds_left (from now to
--            expires_ts, rounded up), in the order of the keys. Now is when all was done.
-- Raises     LK001 invalid argument: nothing is done. LK003 as release_appl_lock. -911 and -913 as get_appl_lock, when
--            another transaction has locked a row for more than 1 s: -911 means that nothing of the page is done, and that the
--            caller's transaction is over.
-- Locks      S1 reads what is committed, without waiting (cur_commit, the default). S2 is release_appl_lock for one row after
--            the other, in the order of the keys, with its locks.
-- Race-free  Against get, renewal, take-over or transfer: S2 decides, as it does alone. What was got behind S1 is not in the
--            page.
--            Two at once: one waits for the other, and finds its rows FREE.
--            S3 tells of what S2 has done, whose rows stay locked, and of the others as they are by then.
--            Begun again after a page: nothing is done twice, because what is done is nobody's any more.
-- Differs    As get_appl_lock. There is no BUSY: Db2 has no way to look whether a row is locked that all of its platforms share.

--#SET TERMINATOR @

CREATE OR REPLACE PROCEDURE release_appl_locks (
    IN p_operator_id VARCHAR(4000),
    IN p_object_type VARCHAR(4000),
    IN p_actor_id VARCHAR(4000),
    IN p_reason VARCHAR(4000),
    IN p_after_type VARCHAR(4000),
    IN p_after_id VARCHAR(4000),
    IN p_max_rows BIGINT,
    IN p_dry_run_fl VARCHAR(4000)
)
SPECIFIC release_appl_locks
DYNAMIC RESULT SETS 1
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
BEGIN
    DECLARE v_operator_id VARCHAR(4000);
    DECLARE v_object_type VARCHAR(4000);
    DECLARE v_actor_id VARCHAR(4000);
    DECLARE v_reason VARCHAR(4000);
    DECLARE v_after_type VARCHAR(4000);
    DECLARE v_after_id VARCHAR(4000);
    DECLARE v_max_rows BIGINT;
    DECLARE v_dry_run_fl VARCHAR(4000);
    DECLARE v_limit INTEGER;
    DECLARE v_now TIMESTAMP;
    DECLARE v_return_cd CHAR(1);
    DECLARE v_outcome VARCHAR(11);
    DECLARE v_old_operator_id VARCHAR(256);
    DECLARE v_old_department_id VARCHAR(256);
    DECLARE v_verdict CHAR(1);
    DECLARE v_told INTEGER DEFAULT 0;
    DECLARE v_answers CLOB(16M) DEFAULT '';

    SET v_operator_id = RTRIM(COALESCE(p_operator_id, ''));
    SET v_object_type = RTRIM(p_object_type);
    SET v_actor_id = RTRIM(COALESCE(p_actor_id, v_operator_id));
    SET v_reason = RTRIM(COALESCE(p_reason, ''));
    SET v_after_type = RTRIM(COALESCE(p_after_type, ''));
    SET v_after_id = RTRIM(COALESCE(p_after_id, ''));
    SET v_max_rows = COALESCE(p_max_rows, 1000);
    SET v_dry_run_fl = RTRIM(COALESCE(p_dry_run_fl, ''));
    IF CHARACTER_LENGTH(v_operator_id, CODEUNITS32) NOT BETWEEN 1 AND 64 THEN
        CALL appl_lock_refuse_text('release_appl_locks', 'p_operator_id', CHARACTER_LENGTH(v_operator_id, CODEUNITS32), 64);
    ELSEIF CHARACTER_LENGTH(v_object_type, CODEUNITS32) NOT BETWEEN 1 AND 64 OR LOCATE(':', v_object_type) > 0 THEN
        CALL appl_lock_refuse_text('release_appl_locks', 'p_object_type', CHARACTER_LENGTH(v_object_type, CODEUNITS32), 64);
    ELSEIF CHARACTER_LENGTH(v_actor_id, CODEUNITS32) NOT BETWEEN 1 AND 64 THEN
        CALL appl_lock_refuse_text('release_appl_locks', 'p_actor_id', CHARACTER_LENGTH(v_actor_id, CODEUNITS32), 64);
    ELSEIF CHARACTER_LENGTH(v_reason, CODEUNITS32) > 255 THEN
        CALL appl_lock_refuse_text('release_appl_locks', 'p_reason', CHARACTER_LENGTH(v_reason, CODEUNITS32), 255);
    ELSEIF CHARACTER_LENGTH(v_after_type, CODEUNITS32) > 64 THEN
        CALL appl_lock_refuse_text('release_appl_locks', 'p_after_type', CHARACTER_LENGTH(v_after_type, CODEUNITS32), 64);
    ELSEIF CHARACTER_LENGTH(v_after_id, CODEUNITS32) > 255 THEN
        CALL appl_lock_refuse_text('release_appl_locks', 'p_after_id', CHARACTER_LENGTH(v_after_id, CODEUNITS32), 255);
    ELSEIF v_max_rows NOT BETWEEN 1 AND 10000 THEN
        CALL appl_lock_refuse_number('release_appl_locks', 'p_max_rows', 10000);
    ELSEIF v_dry_run_fl NOT IN ('Y', 'N', '') THEN
        SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT = 'release_appl_locks: p_dry_run_fl must be Y or N';
    END IF;

    SET v_limit = v_max_rows;
    SET v_now = CURRENT TIMESTAMP - CURRENT TIMEZONE;
    -- S1: the page.
    FOR candidate AS
        SELECT l.object_type AS c_object_type, l.object_id AS c_object_id
        FROM appl_lock AS l
        WHERE l.object_type >= v_after_type
            AND (l.object_type > v_after_type OR l.object_id > v_after_id)
            AND (v_object_type IS NULL OR l.object_type = v_object_type)
            AND l.operator_id = v_operator_id
            AND l.expires_ts > v_now
        ORDER BY l.object_type, l.object_id
        FETCH FIRST v_limit ROWS ONLY
        WITH CS
    DO
        SET v_verdict = 'W';
        IF v_dry_run_fl <> 'Y' THEN
            -- S2: end it.
            CALL release_appl_lock(
                c_object_type, c_object_id, v_operator_id, NULL, v_actor_id, v_reason,
                v_return_cd, v_outcome, v_old_operator_id, v_old_department_id
            );
            SET v_verdict = CASE WHEN v_outcome = 'RELEASED' THEN 'D' ELSE 'L' END;
        END IF;
        -- What became of it (W: nothing yet, D: done, L: lost), and its key: 320 characters for each.
        SET v_told = v_told + 1;
        SET v_answers = v_answers || v_verdict
            || c_object_type || REPEAT(' ', 64 - CHARACTER_LENGTH(c_object_type, CODEUNITS32))
            || c_object_id || REPEAT(' ', 255 - CHARACTER_LENGTH(c_object_id, CODEUNITS32));
    END FOR;

    -- S3: tell it, and who holds what is lost.
    SET v_now = CURRENT TIMESTAMP - CURRENT TIMEZONE;
    BEGIN
        DECLARE answer CURSOR WITH RETURN FOR
            WITH digit (d) AS (
                SELECT 0 FROM SYSIBM.SYSDUMMY1
                UNION ALL SELECT 1 FROM SYSIBM.SYSDUMMY1
                UNION ALL SELECT 2 FROM SYSIBM.SYSDUMMY1
                UNION ALL SELECT 3 FROM SYSIBM.SYSDUMMY1
                UNION ALL SELECT 4 FROM SYSIBM.SYSDUMMY1
                UNION ALL SELECT 5 FROM SYSIBM.SYSDUMMY1
                UNION ALL SELECT 6 FROM SYSIBM.SYSDUMMY1
                UNION ALL SELECT 7 FROM SYSIBM.SYSDUMMY1
                UNION ALL SELECT 8 FROM SYSIBM.SYSDUMMY1
                UNION ALL SELECT 9 FROM SYSIBM.SYSDUMMY1
            ),
            place (base) AS (
                SELECT 320 * (1000 * a.d + 100 * b.d + 10 * c.d + e.d)
                FROM digit AS a, digit AS b, digit AS c, digit AS e
            ),
            told (base, verdict, object_type, object_id) AS (
                SELECT
                    p.base,
                    CAST(SUBSTRING(v_answers, p.base + 1, 1, CODEUNITS32) AS CHAR(1)),
                    RTRIM(CAST(SUBSTRING(v_answers, p.base + 2, 64, CODEUNITS32) AS VARCHAR(256))),
                    RTRIM(CAST(SUBSTRING(v_answers, p.base + 66, 255, CODEUNITS32) AS VARCHAR(1020)))
                FROM place AS p
                WHERE p.base < 320 * v_told
            )
            SELECT
                t.object_type,
                t.object_id,
                CASE
                    WHEN t.verdict = 'W' THEN CAST('WOULD_RELEASE' AS VARCHAR(16))
                    WHEN t.verdict = 'D' THEN 'RELEASED'
                    WHEN l.expires_ts > v_now THEN 'HELD'
                    ELSE 'FREE'
                END AS outcome,
                CASE WHEN t.verdict = 'L' AND l.expires_ts > v_now THEN l.operator_id ELSE '' END AS old_operator_id,
                CASE WHEN t.verdict = 'L' AND l.expires_ts > v_now THEN l.department_id ELSE '' END AS old_department_id,
                CASE WHEN t.verdict = 'L' THEN 0 ELSE COALESCE(l.fence, 0) END AS fence,
                CASE WHEN l.expires_ts > v_now THEN l.expires_ts END AS expires_ts,
                CASE
                    WHEN l.expires_ts > v_now THEN
                        CAST(DAYS(l.expires_ts) - DAYS(v_now) AS BIGINT) * 86400
                        + MIDNIGHT_SECONDS(l.expires_ts) - MIDNIGHT_SECONDS(v_now)
                        + CASE WHEN MICROSECOND(l.expires_ts) > MICROSECOND(v_now) THEN 1 ELSE 0 END
                    ELSE 0
                END AS seconds_left
            FROM told AS t
            LEFT OUTER JOIN appl_lock AS l
                ON l.object_type = t.object_type
                AND l.object_id = t.object_id
            ORDER BY t.base
            WITH CS;
        OPEN answer;
    END;
END
@

COMMENT ON SPECIFIC PROCEDURE release_appl_locks IS 'Release what an operator holds, all or of a type, page by page.'
@
