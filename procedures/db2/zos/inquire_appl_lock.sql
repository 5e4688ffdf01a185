-- For Db2 for z/OS 12, function level 507, and later. Made by `make snapshot` from procedures/db2/inquire_appl_lock.sql
-- with the deltas of internal/build/snapshot/zos.go: edit it there. What is different from the text below:
-- a wait for another transaction lasts as long as the subsystem says (IRLMRWT), not 1 s; a row that another
-- transaction is updating is waited for by a plain read, too.
--
-- inquire_appl_lock: who holds an object, since when and until when.
--
-- Contract   Y and the lock, when somebody holds the object.
--            N and blanks (empty strings, fence and seconds 0, NULL timestamps), when it is free or expired.
-- In         p_object_type 1..64 characters without ":"; p_object_id 1..255. Trailing blanks are trimmed.
-- Out        p_return_cd, p_operator_id, p_department_id, p_fence, p_acquired_ts, p_lock_ts, p_expires_ts
--            (UTC), p_seconds_left (from now to p_expires_ts, rounded up; 0 when N), p_note (empty when N).
-- Raises     LK001 invalid argument. Nothing else on purpose.
-- Locks      Nothing; it reads what is committed without waiting (cur_commit, the default).
-- Race-free  One read of one committed row version: what it says was true at one moment.
-- Differs    Where cur_commit is DISABLED it waits for a transaction that is changing the row, as long as
--            the caller's own lock timeout says.

--#SET TERMINATOR @

CREATE OR REPLACE PROCEDURE inquire_appl_lock (
    IN p_object_type VARCHAR(4000),
    IN p_object_id VARCHAR(4000),
    OUT p_return_cd CHAR(1),
    OUT p_operator_id VARCHAR(256),
    OUT p_department_id VARCHAR(256),
    OUT p_fence BIGINT,
    OUT p_acquired_ts TIMESTAMP,
    OUT p_lock_ts TIMESTAMP,
    OUT p_expires_ts TIMESTAMP,
    OUT p_seconds_left BIGINT,
    OUT p_note VARCHAR(1020)
)
LANGUAGE SQL
NOT DETERMINISTIC
READS SQL DATA
PARAMETER CCSID UNICODE
ISOLATION LEVEL CS
CONCURRENT ACCESS RESOLUTION USE CURRENTLY COMMITTED
VALIDATE BIND
DISALLOW DEBUG MODE
main: BEGIN
    DECLARE v_object_type VARCHAR(4000);
    DECLARE v_object_id VARCHAR(4000);
    DECLARE v_rows INTEGER DEFAULT 0;
    DECLARE v_now TIMESTAMP;
    DECLARE v_operator_id VARCHAR(256);
    DECLARE v_department_id VARCHAR(256);
    DECLARE v_fence BIGINT;
    DECLARE v_acquired_ts TIMESTAMP;
    DECLARE v_lock_ts TIMESTAMP;
    DECLARE v_expires_ts TIMESTAMP;
    DECLARE v_note VARCHAR(1020);

    SET p_return_cd = 'N';
    SET p_operator_id = '';
    SET p_department_id = '';
    SET p_fence = 0;
    SET p_acquired_ts = NULL;
    SET p_lock_ts = NULL;
    SET p_expires_ts = NULL;
    SET p_seconds_left = 0;
    SET p_note = '';
    SET v_object_type = RTRIM(COALESCE(p_object_type, ''));
    SET v_object_id = RTRIM(COALESCE(p_object_id, ''));
    IF CHARACTER_LENGTH(v_object_type, CODEUNITS32) NOT BETWEEN 1 AND 64 OR LOCATE(':', v_object_type) > 0 THEN
        CALL appl_lock_refuse_text('inquire_appl_lock', 'p_object_type', CHARACTER_LENGTH(v_object_type, CODEUNITS32), 64);
    ELSEIF CHARACTER_LENGTH(v_object_id, CODEUNITS32) NOT BETWEEN 1 AND 255 THEN
        CALL appl_lock_refuse_text('inquire_appl_lock', 'p_object_id', CHARACTER_LENGTH(v_object_id, CODEUNITS32), 255);
    END IF;

    -- The aggregates make it one row in any case.
    SELECT
        COUNT(*), MAX(l.operator_id), MAX(l.department_id), MAX(l.fence),
        MAX(l.acquired_ts), MAX(l.lock_ts), MAX(l.expires_ts), MAX(l.note)
    INTO v_rows, v_operator_id, v_department_id, v_fence, v_acquired_ts, v_lock_ts, v_expires_ts, v_note
    FROM appl_lock AS l
    WHERE l.object_type = v_object_type
        AND l.object_id = v_object_id
    WITH CS;
    SET v_now = CURRENT TIMESTAMP - CURRENT TIMEZONE;
    IF v_rows = 1 AND v_expires_ts > v_now THEN
        SET p_return_cd = 'Y';
        SET p_operator_id = v_operator_id;
        SET p_department_id = v_department_id;
        SET p_fence = v_fence;
        SET p_acquired_ts = v_acquired_ts;
        SET p_lock_ts = v_lock_ts;
        SET p_expires_ts = v_expires_ts;
        SET p_note = v_note;
        SET p_seconds_left = CAST(DAYS(v_expires_ts) - DAYS(v_now) AS BIGINT) * 86400
            + MIDNIGHT_SECONDS(v_expires_ts) - MIDNIGHT_SECONDS(v_now)
            + CASE WHEN MICROSECOND(v_expires_ts) > MICROSECOND(v_now) THEN 1 ELSE 0 END;
    END IF;
END main
@

CREATE OR REPLACE PROCEDURE inquire_appl_lock_row (
    IN p_object_type VARCHAR(4000),
    IN p_object_id VARCHAR(4000)
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
    DECLARE v_return_cd CHAR(1);
    DECLARE v_operator_id VARCHAR(256);
    DECLARE v_department_id VARCHAR(256);
    DECLARE v_fence BIGINT;
    DECLARE v_acquired_ts TIMESTAMP;
    DECLARE v_lock_ts TIMESTAMP;
    DECLARE v_expires_ts TIMESTAMP;
    DECLARE v_seconds_left BIGINT;
    DECLARE v_note VARCHAR(1020);
    CALL inquire_appl_lock(
        p_object_type, p_object_id,
        v_return_cd, v_operator_id, v_department_id, v_fence, v_acquired_ts, v_lock_ts, v_expires_ts,
        v_seconds_left, v_note
    );
    BEGIN
        DECLARE answer CURSOR WITH RETURN FOR
            SELECT
                v_return_cd AS p_return_cd,
                v_operator_id AS p_operator_id,
                v_department_id AS p_department_id,
                v_fence AS p_fence,
                v_acquired_ts AS p_acquired_ts,
                v_lock_ts AS p_lock_ts,
                v_expires_ts AS p_expires_ts,
                v_seconds_left AS p_seconds_left,
                v_note AS p_note
            FROM SYSIBM.SYSDUMMY1;
        OPEN answer;
    END;
END
@

