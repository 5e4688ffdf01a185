-- transfer_appl_lock: hand a held object from one operator to another.
--
-- Contract   Y TRANSFERRED: p_from held it; p_to holds it now: a new grant, a greater fence. It is an event, with its actor and
--            reason. N HELD: another operator holds it; p_old_*, p_acquired_ts and p_expires_ts tell who, since and until when.
--            N FREE: nobody holds it.
-- In         p_object_type 1..64 characters without ":"; p_object_id 1..255; p_from_operator_id 1..255;
--            p_to_operator_id 1..255, another operator; p_to_department_id 0..64, NULL = empty; p_ttl_seconds 1..315360000, NULL =
--            that of the grant that ends, within the policy's longest; p_actor_id 1..255, NULL = unknown; p_reason 0..255, NULL
--            = empty. Trailing blanks are trimmed first.
-- Out        p_ok_fl, p_outcome, p_old_operator_id, p_old_department_id (empty unless HELD), p_fence (0 unless TRANSFERRED),
--            p_acquired_ts, p_expires_ts (UTC, NULL when FREE), p_seconds_left (rounded up; 0 when FREE).
-- Raises     LK001 invalid argument. LK003 when the object changed hands thirty times during the call. -911 and -913 as
--            get_appl_lock.
-- Locks      As appl_lock_move, which decides: HELD and FREE lock nothing.
-- Race-free  The row is changed only if it is still the one that was read; of two transfers from the same operator one wins,
--            and the other answers HELD.
-- Differs    As get_appl_lock.

--#SET TERMINATOR @

CREATE OR REPLACE PROCEDURE transfer_appl_lock (...)
SPECIFIC transfer_appl_lock
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
main: BEGIN
    DECLARE v_object_type, v_object_id, v_from_operator_id, v_to_operator_id, v_to_department_id VARCHAR(4000);
    DECLARE v_actor_id, v_reason VARCHAR(4000);
    DECLARE v_outcome VARCHAR(11);
    DECLARE v_old_operator_id, v_old_department_id VARCHAR(256);
    DECLARE v_fence, v_seconds_left BIGINT;
    DECLARE v_acquired_ts, v_expires_ts TIMESTAMP;

    SET p_ok_fl = 'N';
    SET p_outcome = '';
    SET p_old_operator_id = '';
    SET p_old_department_id = '';
    SET p_fence = 0;
    SET p_acquired_ts = NULL;
    SET p_expires_ts = NULL;
    SET p_seconds_left = 0;
    SET v_object_type = RTRIM(COALESCE(p_object_type, ''));
    SET v_object_id = RTRIM(COALESCE(p_object_id, ''));
    SET v_from_operator_id = RTRIM(COALESCE(p_from_operator_id, ''));
    SET v_to_operator_id = RTRIM(COALESCE(p_to_operator_id, ''));
    SET v_to_department_id = RTRIM(COALESCE(p_to_department_id, ''));
    SET v_actor_id = RTRIM(p_actor_id);
    SET v_reason = RTRIM(COALESCE(p_reason, ''));
    IF CHARACTER_LENGTH(v_object_type, CODEUNITS32) NOT BETWEEN 1 AND 64 OR LOCATE(':', v_object_type) > 0 THEN
        CALL appl_lock_refuse_text('transfer_appl_lock', 'p_object_type', CHARACTER_LENGTH(v_object_type, CODEUNITS32), 64);
    ELSEIF CHARACTER_LENGTH(v_object_id, CODEUNITS32) NOT BETWEEN 1 AND 255 THEN
        CALL appl_lock_refuse_text('transfer_appl_lock', 'p_object_id', CHARACTER_LENGTH(v_object_id, CODEUNITS32), 255);
    ELSEIF CHARACTER_LENGTH(v_from_operator_id, OCTETS) NOT BETWEEN 1 AND 255 THEN
        CALL appl_lock_refuse_text('transfer_appl_lock', 'p_from_operator_id', CHARACTER_LENGTH(v_from_operator_id, OCTETS), 255);
    ELSEIF CHARACTER_LENGTH(v_to_operator_id, OCTETS) NOT BETWEEN 1 AND 255 THEN
        CALL appl_lock_refuse_text('transfer_appl_lock', 'p_to_operator_id', CHARACTER_LENGTH(v_to_operator_id, OCTETS), 255);
    ELSEIF v_to_operator_id = v_from_operator_id THEN
        SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT = 'transfer_appl_lock: p_to_operator_id must be another one';
    ELSEIF CHARACTER_LENGTH(v_to_department_id, CODEUNITS32) > 64 THEN
        CALL appl_lock_refuse_text('transfer_appl_lock', 'p_to_department_id', CHARACTER_LENGTH(v_to_department_id, CODEUNITS32), 64);
    ELSEIF p_ttl_seconds NOT BETWEEN 1 AND 315360000 THEN
        CALL appl_lock_refuse_number('transfer_appl_lock', 'p_ttl_seconds', 315360000);
    ELSEIF CHARACTER_LENGTH(v_actor_id, OCTETS) NOT BETWEEN 1 AND 255 THEN
        CALL appl_lock_refuse_text('transfer_appl_lock', 'p_actor_id', CHARACTER_LENGTH(v_actor_id, OCTETS), 255);
    ELSEIF CHARACTER_LENGTH(v_reason, CODEUNITS32) > 255 THEN
        CALL appl_lock_refuse_text('transfer_appl_lock', 'p_reason', CHARACTER_LENGTH(v_reason, CODEUNITS32), 255);
    END IF;
    IF NOT_PLAIN(v_object_type || v_object_id || v_from_operator_id || v_to_operator_id || v_to_department_id || COALESCE(v_actor_id, '')) THEN
        CALL appl_lock_check_text('transfer_appl_lock', 'p_object_type', v_object_type);
        CALL appl_lock_check_text('transfer_appl_lock', 'p_object_id', v_object_id);
        CALL appl_lock_check_text('transfer_appl_lock', 'p_from_operator_id', v_from_operator_id);
        CALL appl_lock_check_text('transfer_appl_lock', 'p_to_operator_id', v_to_operator_id);
        CALL appl_lock_check_text('transfer_appl_lock', 'p_to_department_id', v_to_department_id);
        CALL appl_lock_check_text('transfer_appl_lock', 'p_actor_id', v_actor_id);
    END IF;

    CALL appl_lock_move(
        v_object_type, v_object_id, v_from_operator_id, NULL, v_to_operator_id, v_to_department_id, p_ttl_seconds,
        'TRANSFERRED', COALESCE(v_actor_id, ''), v_reason, NULL, NULL,
        v_outcome, v_old_operator_id, v_old_department_id, v_fence, v_acquired_ts, v_expires_ts, v_seconds_left
    );
    SET p_outcome = v_outcome;
    SET p_fence = v_fence;
    SET p_acquired_ts = v_acquired_ts;
    SET p_expires_ts = v_expires_ts;
    SET p_seconds_left = v_seconds_left;
    IF v_outcome = 'TRANSFERRED' THEN
        SET p_ok_fl = 'Y';
    ELSEIF v_outcome = 'HELD' THEN
        SET p_old_operator_id = v_old_operator_id;
        SET p_old_department_id = v_old_department_id;
    END IF;
END main
@
