-- list_appl_locks: one page of the live locks in key order, all or those of a type, operator or department.
--
-- Contract   At most p_max_rows live locks whose key is greater than (p_after_type, p_after_id). The next
--            page starts after the last row of this one; a page shorter than p_max_rows is the last.
-- In         p_object_type 1..64, p_operator_id 1..64, p_department_id 0..64: NULL = any. p_after_type
--            0..64, p_after_id 0..255: NULL = from the start. p_max_rows 1..10000, NULL = 1000.
--            Trailing blanks are trimmed first.
-- Out        A result set: the rows of appl_lock in the order of their key, and seconds_left (from now to expires_ts,
--            rounded up).
-- Raises     LK001 invalid argument. Nothing else on purpose.
-- Locks      Nothing; it reads what is committed without waiting (cur_commit, the default).
-- Race-free  A lock that lives through the whole listing is in it exactly once, because its key does not
--            change; one that comes or goes meanwhile may be in it or not. (Cursor stability: a page is not
--            one snapshot.)
-- Differs    The order is that of the database's collation, IDENTITY or SYSTEM.

--#SET TERMINATOR @

CREATE OR REPLACE PROCEDURE list_appl_locks (
    IN p_object_type VARCHAR(4000),
    IN p_operator_id VARCHAR(4000),
    IN p_department_id VARCHAR(4000),
    IN p_after_type VARCHAR(4000),
    IN p_after_id VARCHAR(4000),
    IN p_max_rows BIGINT
)
SPECIFIC list_appl_locks
DYNAMIC RESULT SETS 1
LANGUAGE SQL
NOT DETERMINISTIC
READS SQL DATA
BEGIN
    DECLARE v_object_type VARCHAR(4000);
    DECLARE v_operator_id VARCHAR(4000);
    DECLARE v_department_id VARCHAR(4000);
    DECLARE v_after_type VARCHAR(4000);
    DECLARE v_after_id VARCHAR(4000);
    DECLARE v_max_rows BIGINT;
    DECLARE v_limit INTEGER;
    DECLARE v_now TIMESTAMP;

    SET v_object_type = RTRIM(p_object_type);
    SET v_operator_id = RTRIM(p_operator_id);
    SET v_department_id = RTRIM(p_department_id);
    SET v_after_type = RTRIM(COALESCE(p_after_type, ''));
    SET v_after_id = RTRIM(COALESCE(p_after_id, ''));
    SET v_max_rows = COALESCE(p_max_rows, 1000);
    IF CHARACTER_LENGTH(v_object_type, CODEUNITS32) NOT BETWEEN 1 AND 64 OR LOCATE(':', v_object_type) > 0 THEN
        CALL appl_lock_refuse_text('list_appl_locks', 'p_object_type', CHARACTER_LENGTH(v_object_type, CODEUNITS32), 64);
    ELSEIF CHARACTER_LENGTH(v_operator_id, CODEUNITS32) NOT BETWEEN 1 AND 64 THEN
        CALL appl_lock_refuse_text('list_appl_locks', 'p_operator_id', CHARACTER_LENGTH(v_operator_id, CODEUNITS32), 64);
    ELSEIF CHARACTER_LENGTH(v_department_id, CODEUNITS32) > 64 THEN
        CALL appl_lock_refuse_text('list_appl_locks', 'p_department_id', CHARACTER_LENGTH(v_department_id, CODEUNITS32), 64);
    ELSEIF CHARACTER_LENGTH(v_after_type, CODEUNITS32) > 64 THEN
        CALL appl_lock_refuse_text('list_appl_locks', 'p_after_type', CHARACTER_LENGTH(v_after_type, CODEUNITS32), 64);
    ELSEIF CHARACTER_LENGTH(v_after_id, CODEUNITS32) > 255 THEN
        CALL appl_lock_refuse_text('list_appl_locks', 'p_after_id', CHARACTER_LENGTH(v_after_id, CODEUNITS32), 255);
    ELSEIF v_max_rows NOT BETWEEN 1 AND 10000 THEN
        CALL appl_lock_refuse_number('list_appl_locks', 'p_max_rows', 10000);
    END IF;

    SET v_limit = v_max_rows;
    SET v_now = CURRENT TIMESTAMP - CURRENT TIMEZONE;
    BEGIN
        DECLARE answer CURSOR WITH RETURN FOR
            SELECT
                l.object_type,
                l.object_id,
                l.operator_id,
                l.department_id,
                l.fence,
                l.acquired_ts,
                l.lock_ts,
                l.expires_ts,
                CAST(DAYS(l.expires_ts) - DAYS(v_now) AS BIGINT) * 86400
                    + MIDNIGHT_SECONDS(l.expires_ts) - MIDNIGHT_SECONDS(v_now)
                    + CASE WHEN MICROSECOND(l.expires_ts) > MICROSECOND(v_now) THEN 1 ELSE 0 END
                AS seconds_left,
                l.note
            FROM appl_lock AS l
            WHERE l.object_type >= v_after_type
                AND (l.object_type > v_after_type OR l.object_id > v_after_id)
                AND (v_object_type IS NULL OR l.object_type = v_object_type)
                AND (v_operator_id IS NULL OR l.operator_id = v_operator_id)
                AND (v_department_id IS NULL OR l.department_id = v_department_id)
                AND l.expires_ts > v_now
            ORDER BY l.object_type, l.object_id
            FETCH FIRST v_limit ROWS ONLY
            WITH CS;
        OPEN answer;
    END;
END
@

COMMENT ON SPECIFIC PROCEDURE list_appl_locks IS 'One page of the live locks in key order, all or those of a type, operator or department.'
@
