-- For Db2 for z/OS 12, function level 507, and later. Made by `make snapshot` from procedures/db2/release_appl_lock.sql
-- with the deltas of internal/build/snapshot/zos.go: edit it there. What is different from the text below:
-- a wait for another transaction lasts as long as the subsystem says (IRLMRWT), not 1 s; a row that another
-- transaction is updating is waited for by a plain read, too.
--
-- release_appl_lock: end the grant that an operator holds on an object.
--
-- Contract   Y RELEASED: the operator held it (this very grant, if p_fence is given); it is free now.
--            Y FREE: nobody holds it; nothing changed.
--            N HELD: another operator, or another grant than p_fence, holds it; p_old_* tell who.
--            A release by another actor than the operator, or with a reason, is an event of the history: RELEASED. So is any
--            where the type's policy had the history told ALL when the operator last called get.
-- In         p_object_type 1..64 characters without ":"; p_object_id 1..255; p_operator_id 1..64;
--            p_fence 1 or greater, NULL = whichever grant; p_actor_id 1..64, NULL = p_operator_id; p_reason 0..255, NULL =
--            empty. Trailing blanks are trimmed first.
-- Out        p_return_cd, p_outcome, p_old_operator_id, p_old_department_id (empty unless HELD).
-- Raises     LK001 invalid argument. LK003 when the object changed hands three times during the call.
--            -911 and -913 as get_appl_lock.
-- Locks      S1 reads what is committed, without waiting (cur_commit, the default), and answers HELD and FREE.
--            S2 locks the object's one row and decides; held to the end of the caller's transaction.
-- Race-free  Release against take-over, renewal or transfer: S2 ends the grant only if the row is still the
--            very row that S1 read; else the next round reads the new one, and a later grant never matches.
--            Two releases: the second finds the row expired and answers FREE.
--            A get that has not committed yet is not there yet: FREE, as for every reader.
-- Differs    As get_appl_lock.

--#SET TERMINATOR @

CREATE OR REPLACE PROCEDURE release_appl_lock (
    IN p_object_type VARCHAR(4000),
    IN p_object_id VARCHAR(4000),
    IN p_operator_id VARCHAR(4000),
    IN p_fence BIGINT,
    IN p_actor_id VARCHAR(4000),
    IN p_reason VARCHAR(4000),
    OUT p_return_cd CHAR(1),
    OUT p_outcome VARCHAR(11),
    OUT p_old_operator_id VARCHAR(256),
    OUT p_old_department_id VARCHAR(256)
)
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
PARAMETER CCSID UNICODE
ISOLATION LEVEL CS
CONCURRENT ACCESS RESOLUTION USE CURRENTLY COMMITTED
VALIDATE BIND
DISALLOW DEBUG MODE
main: BEGIN
    DECLARE v_object_type VARCHAR(4000);
    DECLARE v_object_id VARCHAR(4000);
    DECLARE v_operator_id VARCHAR(4000);
    DECLARE v_actor_id VARCHAR(4000);
    DECLARE v_reason VARCHAR(4000);
    DECLARE v_round INTEGER DEFAULT 0;
    DECLARE v_rows INTEGER DEFAULT 0;
    DECLARE v_changed INTEGER DEFAULT 0;
    DECLARE v_now TIMESTAMP;
    DECLARE v_old_operator_id VARCHAR(256);
    DECLARE v_old_department_id VARCHAR(256);
    DECLARE v_old_fence BIGINT;
    DECLARE v_old_expires_ts TIMESTAMP;
    DECLARE v_old_history_fl CHAR(1);

    SET p_return_cd = 'N';
    SET p_outcome = '';
    SET p_old_operator_id = '';
    SET p_old_department_id = '';
    SET v_object_type = RTRIM(COALESCE(p_object_type, ''));
    SET v_object_id = RTRIM(COALESCE(p_object_id, ''));
    SET v_operator_id = RTRIM(COALESCE(p_operator_id, ''));
    SET v_actor_id = RTRIM(COALESCE(p_actor_id, v_operator_id));
    SET v_reason = RTRIM(COALESCE(p_reason, ''));
    IF CHARACTER_LENGTH(v_object_type, CODEUNITS32) NOT BETWEEN 1 AND 64 OR LOCATE(':', v_object_type) > 0 THEN
        CALL appl_lock_refuse_text('release_appl_lock', 'p_object_type', CHARACTER_LENGTH(v_object_type, CODEUNITS32), 64);
    ELSEIF CHARACTER_LENGTH(v_object_id, CODEUNITS32) NOT BETWEEN 1 AND 255 THEN
        CALL appl_lock_refuse_text('release_appl_lock', 'p_object_id', CHARACTER_LENGTH(v_object_id, CODEUNITS32), 255);
    ELSEIF CHARACTER_LENGTH(v_operator_id, CODEUNITS32) NOT BETWEEN 1 AND 64 THEN
        CALL appl_lock_refuse_text('release_appl_lock', 'p_operator_id', CHARACTER_LENGTH(v_operator_id, CODEUNITS32), 64);
    ELSEIF p_fence < 1 THEN
        CALL appl_lock_refuse_number('release_appl_lock', 'p_fence', 9223372036854775807);
    ELSEIF CHARACTER_LENGTH(v_actor_id, CODEUNITS32) NOT BETWEEN 1 AND 64 THEN
        CALL appl_lock_refuse_text('release_appl_lock', 'p_actor_id', CHARACTER_LENGTH(v_actor_id, CODEUNITS32), 64);
    ELSEIF CHARACTER_LENGTH(v_reason, CODEUNITS32) > 255 THEN
        CALL appl_lock_refuse_text('release_appl_lock', 'p_reason', CHARACTER_LENGTH(v_reason, CODEUNITS32), 255);
    END IF;

    WHILE v_round < 3 DO
        SET v_round = v_round + 1;

        -- S1: who holds it? The aggregates make it one row in any case.
        SELECT COUNT(*), MAX(l.operator_id), MAX(l.department_id), MAX(l.fence), MAX(l.expires_ts), MAX(l.history_fl)
        INTO v_rows, v_old_operator_id, v_old_department_id, v_old_fence, v_old_expires_ts, v_old_history_fl
        FROM appl_lock AS l
        WHERE l.object_type = v_object_type
            AND l.object_id = v_object_id
        WITH CS;
        SET v_now = CURRENT TIMESTAMP - CURRENT TIMEZONE;
        IF v_rows = 0 OR v_old_expires_ts <= v_now THEN
            SET p_return_cd = 'Y';
            SET p_outcome = 'FREE';
            LEAVE main;
        END IF;
        IF v_old_operator_id <> v_operator_id OR v_old_fence <> COALESCE(p_fence, v_old_fence) THEN
            SET p_outcome = 'HELD';
            SET p_old_operator_id = v_old_operator_id;
            SET p_old_department_id = v_old_department_id;
            LEAVE main;
        END IF;

        -- S2: end this grant, if it is still so, for good: however far the clock is set back, it does not come to life
        -- again. That lock_ts lies behind the end tells from now on that it has not just expired, and since when the
        -- object is free; it stays behind acquired_ts, whatever the clock did.
        UPDATE appl_lock AS l
        SET lock_ts = CASE WHEN l.lock_ts > v_now THEN l.lock_ts ELSE v_now END,
            expires_ts = TIMESTAMP('1970-01-01 00:00:00')
        WHERE l.object_type = v_object_type
            AND l.object_id = v_object_id
            AND l.fence = v_old_fence
            AND l.expires_ts = v_old_expires_ts;
        GET DIAGNOSTICS v_changed = ROW_COUNT;
        IF v_changed = 1 THEN
            IF v_old_history_fl = 'Y' OR v_actor_id <> v_operator_id OR v_reason <> '' THEN
                INSERT INTO appl_lock_event (
                    event_ts,
                    object_type,
                    object_id,
                    event,
                    actor_id,
                    db_user,
                    program,
                    from_operator_id,
                    from_department_id,
                    to_operator_id,
                    to_department_id,
                    from_fence,
                    to_fence,
                    reason
                )
                VALUES (
                    v_now,
                    v_object_type,
                    v_object_id,
                    'RELEASED',
                    v_actor_id,
                    SESSION_USER,
                    '',
                    v_operator_id,
                    v_old_department_id,
                    '',
                    '',
                    v_old_fence,
                    0,
                    v_reason
                );
            END IF;
            SET p_return_cd = 'Y';
            SET p_outcome = 'RELEASED';
            LEAVE main;
        END IF;
    END WHILE;
    SIGNAL SQLSTATE 'LK003' SET MESSAGE_TEXT = 'release_appl_lock: changed hands during the call; call again';
END main
@

CREATE OR REPLACE PROCEDURE release_appl_lock_row (
    IN p_object_type VARCHAR(4000),
    IN p_object_id VARCHAR(4000),
    IN p_operator_id VARCHAR(4000),
    IN p_fence BIGINT,
    IN p_actor_id VARCHAR(4000),
    IN p_reason VARCHAR(4000)
)
DYNAMIC RESULT SETS 1
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
PARAMETER CCSID UNICODE
ISOLATION LEVEL CS
CONCURRENT ACCESS RESOLUTION USE CURRENTLY COMMITTED
VALIDATE BIND
DISALLOW DEBUG MODE
BEGIN
    DECLARE v_return_cd CHAR(1);
    DECLARE v_outcome VARCHAR(11);
    DECLARE v_old_operator_id VARCHAR(256);
    DECLARE v_old_department_id VARCHAR(256);
    CALL release_appl_lock(
        p_object_type, p_object_id, p_operator_id, p_fence, p_actor_id, p_reason,
        v_return_cd, v_outcome, v_old_operator_id, v_old_department_id
    );
    BEGIN
        DECLARE answer CURSOR WITH RETURN FOR
            SELECT
                v_return_cd AS p_return_cd,
                v_outcome AS p_outcome,
                v_old_operator_id AS p_old_operator_id,
                v_old_department_id AS p_old_department_id
            FROM SYSIBM.SYSDUMMY1;
        OPEN answer;
    END;
END
@

