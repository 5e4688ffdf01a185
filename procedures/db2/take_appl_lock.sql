-- take_appl_lock: take a held object from its holder, for a reason.
--
-- Contract   Y TAKEN: an operator held it, by the grant p_expected_fence (NULL = any grant). Now p_operator_id holds it: a new
--            grant, a greater fence, an empty note. The former holder is in p_old_*, which are empty when p_operator_id held it
--            itself. It is an event, TAKEN, with the reason.
--            N HELD: another grant than p_expected_fence holds it; p_old_*, p_acquired_ts and p_expires_ts tell who, since and
--            until when.
--            N FREE: nobody holds it: get_appl_lock gets it.
-- In         p_object_type 1..64 characters without ":"; p_object_id 1..255; p_operator_id 1..255; p_department_id 0..64, NULL =
--            empty; p_reason 1..255, or empty if the type's policy says N; p_expected_fence 1 or greater, NULL = any grant;
--            p_ttl_seconds 1..315360000, NULL = that of the grant that ends, within the policy's longest. Trailing blanks are
--            trimmed first.
-- Out        p_ok_fl, p_outcome, p_old_operator_id, p_old_department_id (empty when FREE, and when p_operator_id held it),
--            p_fence (0 unless TAKEN), p_acquired_ts, p_expires_ts (UTC, NULL when FREE), p_seconds_left (rounded up; 0 when FREE).
-- Raises     LK001 invalid argument. LK003 when the object changed hands thirty times during the call. -911 and -913 as
--            get_appl_lock.
-- Locks      As appl_lock_move, which decides: HELD and FREE lock nothing.
-- Race-free  The row is changed only if it is still the one that was read. A renewal keeps the fence, and the next round takes it;
--            of two takes that expect the same fence one wins, and the other answers HELD.
-- Differs    As get_appl_lock.

--#SET TERMINATOR @

CREATE OR REPLACE PROCEDURE take_appl_lock (...)
SPECIFIC take_appl_lock
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
main: BEGIN
    DECLARE v_object_type, v_object_id, v_operator_id, v_department_id, v_reason VARCHAR(4000);
    DECLARE v_policies INTEGER DEFAULT 0;
    DECLARE v_take_reason_fl CHAR(1);
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
    SET v_operator_id = RTRIM(COALESCE(p_operator_id, ''));
    SET v_department_id = RTRIM(COALESCE(p_department_id, ''));
    SET v_reason = RTRIM(COALESCE(p_reason, ''));
    IF CHARACTER_LENGTH(v_object_type, CODEUNITS32) NOT BETWEEN 1 AND 64 OR LOCATE(':', v_object_type) > 0 THEN
        CALL appl_lock_refuse_text('take_appl_lock', 'p_object_type', CHARACTER_LENGTH(v_object_type, CODEUNITS32), 64);
    ELSEIF CHARACTER_LENGTH(v_object_id, CODEUNITS32) NOT BETWEEN 1 AND 255 THEN
        CALL appl_lock_refuse_text('take_appl_lock', 'p_object_id', CHARACTER_LENGTH(v_object_id, CODEUNITS32), 255);
    ELSEIF CHARACTER_LENGTH(v_operator_id, OCTETS) NOT BETWEEN 1 AND 255 THEN
        CALL appl_lock_refuse_text('take_appl_lock', 'p_operator_id', CHARACTER_LENGTH(v_operator_id, OCTETS), 255);
    ELSEIF CHARACTER_LENGTH(v_department_id, CODEUNITS32) > 64 THEN
        CALL appl_lock_refuse_text('take_appl_lock', 'p_department_id', CHARACTER_LENGTH(v_department_id, CODEUNITS32), 64);
    ELSEIF CHARACTER_LENGTH(v_reason, CODEUNITS32) > 255 THEN
        CALL appl_lock_refuse_text('take_appl_lock', 'p_reason', CHARACTER_LENGTH(v_reason, CODEUNITS32), 255);
    ELSEIF p_expected_fence < 1 THEN
        CALL appl_lock_refuse_number('take_appl_lock', 'p_expected_fence', 99999999999999999);
    ELSEIF p_ttl_seconds NOT BETWEEN 1 AND 315360000 THEN
        CALL appl_lock_refuse_number('take_appl_lock', 'p_ttl_seconds', 315360000);
    END IF;
    IF NOT_PLAIN(v_object_type || v_object_id || v_operator_id || v_department_id) THEN
        CALL appl_lock_check_text('take_appl_lock', 'p_object_type', v_object_type);
        CALL appl_lock_check_text('take_appl_lock', 'p_object_id', v_object_id);
        CALL appl_lock_check_text('take_appl_lock', 'p_operator_id', v_operator_id);
        CALL appl_lock_check_text('take_appl_lock', 'p_department_id', v_department_id);
    END IF;

    SET CURRENT LOCK TIMEOUT 1;
    -- S1: does the type's policy require a reason?
    SELECT COUNT(*), MAX(p.take_reason_fl)
    INTO v_policies, v_take_reason_fl
    FROM appl_lock_policy AS p
    WHERE p.object_type = v_object_type
    WITH CS;
    IF v_reason = '' AND COALESCE(v_take_reason_fl, 'Y') = 'Y' THEN
        CALL appl_lock_refuse_text('take_appl_lock', 'p_reason', 0, 255);
    END IF;
    CALL appl_lock_move(
        v_object_type, v_object_id, NULL, p_expected_fence, v_operator_id, v_department_id, p_ttl_seconds, 'TAKEN', v_operator_id, v_reason,
        NULL, NULL,
        v_outcome, v_old_operator_id, v_old_department_id, v_fence, v_acquired_ts, v_expires_ts, v_seconds_left
    );
    SET p_outcome = v_outcome;
    SET p_fence = v_fence;
    SET p_acquired_ts = v_acquired_ts;
    SET p_expires_ts = v_expires_ts;
    SET p_seconds_left = v_seconds_left;
    IF v_outcome = 'TAKEN' THEN
        SET p_ok_fl = 'Y';
    END IF;
    IF v_outcome = 'HELD' OR v_old_operator_id <> v_operator_id THEN
        SET p_old_operator_id = v_old_operator_id;
        SET p_old_department_id = v_old_department_id;
    END IF;
END main
@
