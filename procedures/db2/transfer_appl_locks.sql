-- transfer_appl_locks: hand over what an operator holds, all or of a type, page by page.
--
-- Contract   A page is at most p_max_rows live locks of p_from whose key is greater than (p_after_type, p_after_id), with a row for
--            each. The next page starts after the last row of this one; a page shorter than p_max_rows is the last.
--            TRANSFERRED: a new grant of p_to, as transfer_appl_lock has it. HELD or FREE: it has changed hands since the page
--            was read; it is left as it is. WOULD_TRANSFER: p_dry_run_fl is Y, and nothing is done.
-- In         p_from_operator_id 1..255; p_to_operator_id 1..255, another operator; p_object_type 1..64 without ":", NULL = any;
--            p_to_department_id 0..64, NULL = empty; p_ttl_seconds 1..315360000, NULL = that of each grant that ends;
--            p_actor_id 1..255, NULL = unknown; p_reason 0..255, NULL = empty; p_after_type 0..64, p_after_id 0..255,
--            NULL = from the start; p_max_rows 1..10000, NULL = 1000; p_dry_run_fl Y or N, NULL or empty = N. Trailing blanks
--            are trimmed first.
-- Out        A result set: object_type, object_id, outcome, old_operator_id, old_department_id (empty unless HELD), fence (of
--            the new grant; of the old one when WOULD_TRANSFER; 0 when HELD or FREE), expires_ts (UTC, NULL when FREE),
--            seconds_left (rounded up), in the order of the keys.
-- Raises     LK001 invalid argument: nothing is done. LK003 as transfer_appl_lock. When a row stays locked for more than 1 s,
--            -911 or -913 as get_appl_lock. After -911 nothing of the page is done, and the caller's transaction is over.
-- Locks      S1 reads committed rows without waiting (cur_commit, the default). S2 is transfer_appl_lock for row after row in
--            the order of the keys, with its locks.
-- Race-free  S2 is the operation on one object. A lock that was got after S1 is not in the page. S3 reports what S2 has done,
--            on rows that stay locked, and the other locks as they are by then. Calling again after a page repeats nothing.
-- Differs    As get_appl_lock. There is no BUSY: the platforms of Db2 share no way to see whether a row is locked.

--#SET TERMINATOR @

CREATE OR REPLACE PROCEDURE transfer_appl_locks (...)
SPECIFIC transfer_appl_locks
DYNAMIC RESULT SETS 1
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
BEGIN
    DECLARE v_from_operator_id, v_to_operator_id, v_to_department_id VARCHAR(4000);
    DECLARE v_object_type, v_actor_id, v_reason, v_after_type, v_after_id, v_dry_run_fl VARCHAR(4000);
    DECLARE v_max_rows BIGINT;
    DECLARE v_now TIMESTAMP;
    DECLARE v_told INTEGER DEFAULT 0;
    DECLARE v_answers CLOB(16M);

    SET v_from_operator_id = RTRIM(COALESCE(p_from_operator_id, ''));
    SET v_object_type = RTRIM(p_object_type);
    SET v_to_operator_id = RTRIM(COALESCE(p_to_operator_id, ''));
    SET v_to_department_id = RTRIM(COALESCE(p_to_department_id, ''));
    SET v_actor_id = RTRIM(p_actor_id);
    SET v_reason = RTRIM(COALESCE(p_reason, ''));
    SET v_after_type = RTRIM(COALESCE(p_after_type, ''));
    SET v_after_id = RTRIM(COALESCE(p_after_id, ''));
    SET v_dry_run_fl = RTRIM(COALESCE(p_dry_run_fl, ''));
    SET v_max_rows = COALESCE(p_max_rows, 1000);
    IF CHARACTER_LENGTH(v_from_operator_id, OCTETS) NOT BETWEEN 1 AND 255 THEN
        CALL appl_lock_refuse_text('transfer_appl_locks', 'p_from_operator_id', CHARACTER_LENGTH(v_from_operator_id, OCTETS), 255);
    ELSEIF CHARACTER_LENGTH(v_object_type, CODEUNITS32) NOT BETWEEN 1 AND 64 OR LOCATE(':', v_object_type) > 0 THEN
        CALL appl_lock_refuse_text('transfer_appl_locks', 'p_object_type', CHARACTER_LENGTH(v_object_type, CODEUNITS32), 64);
    ELSEIF CHARACTER_LENGTH(v_to_operator_id, OCTETS) NOT BETWEEN 1 AND 255 THEN
        CALL appl_lock_refuse_text('transfer_appl_locks', 'p_to_operator_id', CHARACTER_LENGTH(v_to_operator_id, OCTETS), 255);
    ELSEIF v_to_operator_id = v_from_operator_id THEN
        SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT = 'transfer_appl_locks: p_to_operator_id must be another one';
    ELSEIF CHARACTER_LENGTH(v_to_department_id, CODEUNITS32) > 64 THEN
        CALL appl_lock_refuse_text('transfer_appl_locks', 'p_to_department_id', CHARACTER_LENGTH(v_to_department_id, CODEUNITS32), 64);
    ELSEIF p_ttl_seconds NOT BETWEEN 1 AND 315360000 THEN
        CALL appl_lock_refuse_number('transfer_appl_locks', 'p_ttl_seconds', 315360000);
    ELSEIF CHARACTER_LENGTH(v_actor_id, OCTETS) NOT BETWEEN 1 AND 255 THEN
        CALL appl_lock_refuse_text('transfer_appl_locks', 'p_actor_id', CHARACTER_LENGTH(v_actor_id, OCTETS), 255);
    ELSEIF CHARACTER_LENGTH(v_reason, CODEUNITS32) > 255 THEN
        CALL appl_lock_refuse_text('transfer_appl_locks', 'p_reason', CHARACTER_LENGTH(v_reason, CODEUNITS32), 255);
    ELSEIF CHARACTER_LENGTH(v_after_type, CODEUNITS32) > 64 THEN
        CALL appl_lock_refuse_text('transfer_appl_locks', 'p_after_type', CHARACTER_LENGTH(v_after_type, CODEUNITS32), 64);
    ELSEIF CHARACTER_LENGTH(v_after_id, CODEUNITS32) > 255 THEN
        CALL appl_lock_refuse_text('transfer_appl_locks', 'p_after_id', CHARACTER_LENGTH(v_after_id, CODEUNITS32), 255);
    ELSEIF v_max_rows NOT BETWEEN 1 AND 10000 THEN
        CALL appl_lock_refuse_number('transfer_appl_locks', 'p_max_rows', 10000);
    ELSEIF v_dry_run_fl NOT IN ('Y', 'N', '') THEN
        SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT = 'transfer_appl_locks: p_dry_run_fl must be Y or N';
    END IF;
    IF NOT_PLAIN(v_from_operator_id || COALESCE(v_object_type, '') || v_to_operator_id || v_to_department_id || COALESCE(v_actor_id, '')) THEN
        CALL appl_lock_check_text('transfer_appl_locks', 'p_from_operator_id', v_from_operator_id);
        CALL appl_lock_check_text('transfer_appl_locks', 'p_object_type', v_object_type);
        CALL appl_lock_check_text('transfer_appl_locks', 'p_to_operator_id', v_to_operator_id);
        CALL appl_lock_check_text('transfer_appl_locks', 'p_to_department_id', v_to_department_id);
        CALL appl_lock_check_text('transfer_appl_locks', 'p_actor_id', v_actor_id);
    END IF;

    CALL appl_lock_move_page(
        v_from_operator_id, v_object_type, v_to_operator_id, v_to_department_id, p_ttl_seconds, COALESCE(v_actor_id, ''), v_reason,
        v_after_type, v_after_id, v_max_rows, v_dry_run_fl,
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
                    WHEN t.verdict = 'W' THEN CAST('WOULD_TRANSFER' AS VARCHAR(16))
                    WHEN t.verdict = 'D' THEN 'TRANSFERRED'
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
