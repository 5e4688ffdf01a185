-- release_appl_locks: release what an operator holds, all or of a type, page by page.
-- appl_lock_move_page: does it for this operation and for transfer_appl_locks. Internal: nobody is granted it.
--
-- Contract   A page is at most p_max_rows live locks of p_operator whose key is greater than (p_after_type, p_after_id), with a row
--            for each. The next page starts after the last row of this one; a page shorter than p_max_rows is the last.
--            RELEASED: it is free now, as release_appl_lock has it. HELD or FREE: it has changed hands since the page was read;
--            it is left as it is. WOULD_RELEASE: p_dry_run_fl is Y, and nothing is done.
-- In         p_operator_id 1..255; p_object_type 1..64 without ":", NULL = any; p_actor_id 1..255, NULL = p_operator_id;
--            p_reason 0..255, NULL = empty; p_after_type 0..64, p_after_id 0..255, NULL = from the start; p_max_rows
--            1..10000, NULL = 1000; p_dry_run_fl Y or N, NULL or empty = N. Trailing blanks are trimmed first.
-- Out        A result set: object_type, object_id, outcome, old_operator_id, old_department_id (empty unless HELD), fence (of
--            the operator's grant; 0 when HELD or FREE), expires_ts (UTC, NULL when RELEASED or FREE), seconds_left (rounded
--            up), in the order of the keys.
-- Raises     LK001 invalid argument: nothing is done. LK003 as release_appl_lock. When a row stays locked for more than 1 s,
--            -911 or -913 as get_appl_lock. After -911 nothing of the page is done, and the caller's transaction is over.
-- Locks      S1 reads committed rows without waiting (cur_commit, the default). S2 is release_appl_lock for row after row in
--            the order of the keys, with its locks.
-- Race-free  S2 is the operation on one object. A lock that was got after S1 is not in the page. S3 reports what S2 has done,
--            on rows that stay locked, and the other locks as they are by then. Calling again after a page repeats nothing.
-- Differs    As get_appl_lock. There is no BUSY: the platforms of Db2 share no way to see whether a row is locked.

--#SET TERMINATOR @

CREATE OR REPLACE PROCEDURE appl_lock_move_page (
    IN p_from_operator_id VARCHAR(4000),
    IN p_object_type VARCHAR(4000),
    IN p_to_operator_id VARCHAR(4000),
    IN p_to_department_id VARCHAR(4000),
    IN p_ttl_seconds BIGINT,
    IN p_actor_id VARCHAR(4000),
    IN p_reason VARCHAR(4000),
    IN p_after_type VARCHAR(4000),
    IN p_after_id VARCHAR(4000),
    IN p_max_rows BIGINT,
    IN p_dry_run_fl VARCHAR(4000),
    OUT p_told INTEGER,
    OUT p_answers CLOB(16M)
)
SPECIFIC appl_lock_move_page
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
BEGIN
    DECLARE v_limit INTEGER;
    DECLARE v_now, v_acquired_ts, v_expires_ts TIMESTAMP;
    DECLARE v_ok_fl, v_verdict CHAR(1);
    DECLARE v_outcome VARCHAR(11);
    DECLARE v_old_operator_id, v_old_department_id VARCHAR(256);
    DECLARE v_fence, v_seconds_left BIGINT;
    DECLARE v_told INTEGER DEFAULT 0;
    DECLARE v_answers CLOB(16M) DEFAULT '';

    SET p_told = 0;
    SET p_answers = '';
    SET v_limit = p_max_rows;
    SET v_now = CURRENT TIMESTAMP - CURRENT TIMEZONE;
    -- S1: the page.
    FOR candidate AS
        SELECT l.object_type AS c_object_type, l.object_id AS c_object_id
        FROM appl_lock AS l
        WHERE l.object_type >= p_after_type
            AND (l.object_type > p_after_type OR l.object_id > p_after_id)
            AND (p_object_type IS NULL OR l.object_type = p_object_type)
            AND l.operator_id = p_from_operator_id
            AND l.released_ts IS NULL
            AND l.expires_ts > v_now
        ORDER BY l.object_type, l.object_id
        FETCH FIRST v_limit ROWS ONLY
        WITH CS
    DO
        SET v_verdict = 'W';
        IF p_dry_run_fl <> 'Y' AND p_to_operator_id IS NULL THEN
            -- S2: end it.
            CALL release_appl_lock(
                c_object_type, c_object_id, p_from_operator_id, NULL, p_actor_id, p_reason,
                v_ok_fl, v_outcome, v_old_operator_id, v_old_department_id
            );
            SET v_verdict = CASE WHEN v_outcome = 'RELEASED' THEN 'D' ELSE 'L' END;
        ELSEIF p_dry_run_fl <> 'Y' THEN
            -- S2: hand it over.
            CALL appl_lock_move(
                c_object_type, c_object_id, p_from_operator_id, NULL, p_to_operator_id, p_to_department_id, p_ttl_seconds,
                'TRANSFERRED', p_actor_id, p_reason, NULL, NULL,
                v_outcome, v_old_operator_id, v_old_department_id, v_fence, v_acquired_ts, v_expires_ts,
                v_seconds_left
            );
            SET v_verdict = CASE WHEN v_outcome = 'TRANSFERRED' THEN 'D' ELSE 'L' END;
        END IF;
        -- A result (W: nothing yet, D: done, L: lost) and a key: 320 characters for each lock.
        SET v_told = v_told + 1;
        SET v_answers = v_answers || v_verdict
            || c_object_type || REPEAT(' ', 64 - CHARACTER_LENGTH(c_object_type, CODEUNITS32))
            || c_object_id || REPEAT(' ', 255 - CHARACTER_LENGTH(c_object_id, CODEUNITS32));
    END FOR;
    SET p_told = v_told;
    SET p_answers = v_answers;
END
@

COMMENT ON SPECIFIC PROCEDURE appl_lock_move_page IS 'Internal to applock: hands over or releases a page of the locks of an operator.'
@

CREATE OR REPLACE PROCEDURE release_appl_locks (...)
SPECIFIC release_appl_locks
DYNAMIC RESULT SETS 1
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
BEGIN
    DECLARE v_operator_id VARCHAR(4000);
    DECLARE v_object_type, v_actor_id, v_reason, v_after_type, v_after_id, v_dry_run_fl VARCHAR(4000);
    DECLARE v_max_rows BIGINT;
    DECLARE v_now TIMESTAMP;
    DECLARE v_told INTEGER DEFAULT 0;
    DECLARE v_answers CLOB(16M);

    SET v_operator_id = RTRIM(COALESCE(p_operator_id, ''));
    SET v_object_type = RTRIM(p_object_type);
    SET v_actor_id = RTRIM(COALESCE(p_actor_id, v_operator_id));
    SET v_reason = RTRIM(COALESCE(p_reason, ''));
    SET v_after_type = RTRIM(COALESCE(p_after_type, ''));
    SET v_after_id = RTRIM(COALESCE(p_after_id, ''));
    SET v_dry_run_fl = RTRIM(COALESCE(p_dry_run_fl, ''));
    SET v_max_rows = COALESCE(p_max_rows, 1000);
    IF CHARACTER_LENGTH(v_operator_id, OCTETS) NOT BETWEEN 1 AND 255 THEN
        CALL appl_lock_refuse_text('release_appl_locks', 'p_operator_id', CHARACTER_LENGTH(v_operator_id, OCTETS), 255);
    ELSEIF CHARACTER_LENGTH(v_object_type, CODEUNITS32) NOT BETWEEN 1 AND 64 OR LOCATE(':', v_object_type) > 0 THEN
        CALL appl_lock_refuse_text('release_appl_locks', 'p_object_type', CHARACTER_LENGTH(v_object_type, CODEUNITS32), 64);
    ELSEIF CHARACTER_LENGTH(v_actor_id, OCTETS) NOT BETWEEN 1 AND 255 THEN
        CALL appl_lock_refuse_text('release_appl_locks', 'p_actor_id', CHARACTER_LENGTH(v_actor_id, OCTETS), 255);
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
    IF NOT_PLAIN(v_operator_id || COALESCE(v_object_type, '') || v_actor_id) THEN
        CALL appl_lock_check_text('release_appl_locks', 'p_operator_id', v_operator_id);
        CALL appl_lock_check_text('release_appl_locks', 'p_object_type', v_object_type);
        CALL appl_lock_check_text('release_appl_locks', 'p_actor_id', v_actor_id);
    END IF;

    CALL appl_lock_move_page(
        v_operator_id, v_object_type, NULL, NULL, NULL, v_actor_id, v_reason, v_after_type, v_after_id, v_max_rows, v_dry_run_fl,
        v_told, v_answers
    );

    -- S3: the answer, with the holders of locks that were lost.
    SET v_now = CURRENT TIMESTAMP - CURRENT TIMEZONE;
    BEGIN
        DECLARE answer CURSOR WITH RETURN FOR
            WITH told (n, verdict, object_type, object_id) AS (
                SELECT
                    p.n,
                    CAST(SUBSTRING(v_answers, 320 * p.n + 1, 1, CODEUNITS32) AS CHAR(1)),
                    RTRIM(CAST(SUBSTRING(v_answers, 320 * p.n + 2, 64, CODEUNITS32) AS VARCHAR(256))),
                    RTRIM(CAST(SUBSTRING(v_answers, 320 * p.n + 66, 255, CODEUNITS32) AS VARCHAR(1020)))
                FROM appl_lock_number AS p
                WHERE p.n < v_told
            )
            SELECT
                t.object_type,
                t.object_id,
                CASE
                    WHEN t.verdict = 'W' THEN CAST('WOULD_RELEASE' AS VARCHAR(16))
                    WHEN t.verdict = 'D' THEN 'RELEASED'
                    WHEN l.expires_ts IS NOT NULL THEN 'HELD'
                    ELSE 'FREE'
                END AS outcome,
                CASE WHEN t.verdict = 'L' AND l.expires_ts IS NOT NULL THEN l.operator_id ELSE '' END AS old_operator_id,
                CASE WHEN t.verdict = 'L' AND l.expires_ts IS NOT NULL THEN l.department_id ELSE '' END AS old_department_id,
                CASE WHEN t.verdict = 'L' THEN 0 ELSE COALESCE(r.fence, 0) END AS fence,
                l.expires_ts,
                CASE WHEN l.expires_ts IS NOT NULL THEN SECONDS_UP(v_now, l.expires_ts) ELSE 0 END AS seconds_left
            FROM told AS t
            LEFT OUTER JOIN appl_lock AS r
                ON r.object_type = t.object_type
                AND r.object_id = t.object_id
            LEFT OUTER JOIN appl_lock AS l
                ON l.object_type = t.object_type
                AND l.object_id = t.object_id
                AND l.released_ts IS NULL
                AND l.expires_ts > v_now
            ORDER BY t.n
            WITH CS;
        OPEN answer;
    END;
END
@
