-- breaks: bigint: days(l.expires_ts) - days(v_now) * 86400000000
-- poll_appl_locks: which of the objects that a program waits for are free, or will be next; keeps its waiters listed.
-- Contract   As in procedures/db2.
-- In         As in procedures/db2.
-- Out        As in procedures/db2.
-- Raises     As in procedures/db2.
-- Locks      As in procedures/db2.
-- Race-free  As in procedures/db2.
-- Differs    As in procedures/db2.

--#SET TERMINATOR @

CREATE OR REPLACE PROCEDURE poll_appl_locks (
    IN p_client_id VARCHAR(4000),
    IN p_max_rows BIGINT
)
SPECIFIC poll_appl_locks
DYNAMIC RESULT SETS 1
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
BEGIN
    DECLARE v_client_id VARCHAR(4000);
    DECLARE v_rows INTEGER DEFAULT 0;
    DECLARE v_now TIMESTAMP;
    SET v_client_id = p_client_id;
    SET CURRENT LOCK TIMEOUT 1;
    SET v_now = CURRENT TIMESTAMP - CURRENT TIMEZONE;
    SELECT COUNT(*)
    INTO v_rows
    FROM appl_lock_waiter AS w
    WHERE w.client_id = v_client_id
    WITH CS;
    UPDATE appl_lock_waiter AS w
    SET expires_ts = CASE WHEN w.until_ts < v_now THEN w.until_ts ELSE v_now END
    WHERE w.client_id = v_client_id
        AND (w.until_ts IS NULL OR (w.until_ts > v_now AND w.until_ts > w.expires_ts));
    BEGIN
        DECLARE answer CURSOR WITH RETURN FOR
            SELECT
                l.object_type,
                l.object_id,
                CASE
                    WHEN l.expires_ts > v_now THEN
                        DAYS(l.expires_ts) - DAYS(v_now) * 86400000000
                        + CAST(MIDNIGHT_SECONDS(l.expires_ts) - MIDNIGHT_SECONDS(v_now) AS BIGINT) * 1000000
                        + MICROSECOND(l.expires_ts) - MICROSECOND(v_now)
                    ELSE 0
                END AS free_in_us
            FROM appl_lock AS l
            WITH CS;
        OPEN answer;
    END;
END
@

COMMENT ON SPECIFIC PROCEDURE poll_appl_locks IS 'Which of the objects that a program waits for are free, or will be next; keeps its waiters listed.'
@
