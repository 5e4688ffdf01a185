-- For Db2 for z/OS 12, function level 507, and later. Made by `make snapshot` from procedures/db2/list_appl_lock_events.sql
-- with the deltas of internal/build/snapshot/zos.go: edit it there. What is different from the text below:
-- a wait for another transaction lasts as long as the subsystem says (IRLMRWT), not 1 s; a row that another
-- transaction is updating is waited for by a plain read, too.
--
-- list_appl_lock_events: one page of the history, oldest first, all or that of a type, an object or an operator.
--
-- Contract   At most p_max_rows events whose event_id is greater than p_after_event_id. The next page starts after the
--            last row of this one; a page shorter than p_max_rows is the last. An operator's events are those in which it
--            is actor, former or new holder.
-- In         p_object_type 1..64, p_object_id 1..255, p_operator_id 1..64: NULL = any. p_since_seconds 1..315360000, back
--            from now, NULL = any. p_after_event_id 1 or greater, NULL = from the start. p_max_rows 1..10000, NULL = 1000.
--            Trailing blanks are trimmed first.
-- Out        The columns of appl_lock_event, ordered by event_id. Timestamps are UTC.
-- Raises     LK001 invalid argument. Nothing else on purpose.
-- Locks      Nothing that lasts: what is committed is read (cur_commit, the default).
-- Race-free  An event never changes. It is numbered before its transaction commits: one that commits after a later one
--            was listed is behind those who go on from there.
-- Differs    Nothing.

--#SET TERMINATOR @

CREATE OR REPLACE PROCEDURE list_appl_lock_events (
    IN p_object_type VARCHAR(4000),
    IN p_object_id VARCHAR(4000),
    IN p_operator_id VARCHAR(4000),
    IN p_since_seconds BIGINT,
    IN p_after_event_id BIGINT,
    IN p_max_rows BIGINT
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
    DECLARE v_object_id VARCHAR(4000);
    DECLARE v_operator_id VARCHAR(4000);
    DECLARE v_since_seconds BIGINT;
    DECLARE v_after_event_id BIGINT;
    DECLARE v_max_rows BIGINT;
    DECLARE v_limit INTEGER;
    DECLARE v_now TIMESTAMP;
    DECLARE v_since TIMESTAMP;

    SET v_object_type = RTRIM(p_object_type);
    SET v_object_id = RTRIM(p_object_id);
    SET v_operator_id = RTRIM(p_operator_id);
    SET v_since_seconds = COALESCE(p_since_seconds, 315360000);
    SET v_after_event_id = COALESCE(p_after_event_id, 1);
    SET v_max_rows = COALESCE(p_max_rows, 1000);
    IF CHARACTER_LENGTH(v_object_type, CODEUNITS32) NOT BETWEEN 1 AND 64 OR LOCATE(':', v_object_type) > 0 THEN
        CALL appl_lock_refuse_text('list_appl_lock_events', 'p_object_type', CHARACTER_LENGTH(v_object_type, CODEUNITS32), 64);
    ELSEIF CHARACTER_LENGTH(v_object_id, CODEUNITS32) NOT BETWEEN 1 AND 255 THEN
        CALL appl_lock_refuse_text('list_appl_lock_events', 'p_object_id', CHARACTER_LENGTH(v_object_id, CODEUNITS32), 255);
    ELSEIF CHARACTER_LENGTH(v_operator_id, CODEUNITS32) NOT BETWEEN 1 AND 64 THEN
        CALL appl_lock_refuse_text('list_appl_lock_events', 'p_operator_id', CHARACTER_LENGTH(v_operator_id, CODEUNITS32), 64);
    ELSEIF v_since_seconds NOT BETWEEN 1 AND 315360000 THEN
        CALL appl_lock_refuse_number('list_appl_lock_events', 'p_since_seconds', 315360000);
    ELSEIF v_after_event_id < 1 THEN
        CALL appl_lock_refuse_number('list_appl_lock_events', 'p_after_event_id', 99999999999999999);
    ELSEIF v_max_rows NOT BETWEEN 1 AND 10000 THEN
        CALL appl_lock_refuse_number('list_appl_lock_events', 'p_max_rows', 10000);
    END IF;

    IF p_after_event_id IS NULL THEN
        SET v_after_event_id = 0;
    END IF;
    SET v_limit = v_max_rows;
    SET v_now = CURRENT TIMESTAMP - CURRENT TIMEZONE;
    SET v_since = v_now - (v_since_seconds) SECOND;
    BEGIN
        DECLARE answer CURSOR WITH RETURN FOR
            SELECT
                e.event_id,
                e.event_ts,
                e.object_type,
                e.object_id,
                e.event,
                e.actor_id,
                e.db_user,
                e.program,
                e.from_operator_id,
                e.from_department_id,
                e.to_operator_id,
                e.to_department_id,
                e.from_fence,
                e.to_fence,
                e.reason
            FROM appl_lock_event AS e
            WHERE e.event_id > v_after_event_id
                AND (v_object_type IS NULL OR e.object_type = v_object_type)
                AND (v_object_id IS NULL OR e.object_id = v_object_id)
                AND (v_operator_id IS NULL OR v_operator_id IN (e.actor_id, e.from_operator_id, e.to_operator_id))
                AND e.event_ts >= v_since
            ORDER BY e.event_id
            FETCH FIRST v_limit ROWS ONLY
            WITH CS;
        OPEN answer;
    END;
END
@

