-- assert_appl_lock: fail unless exactly this grant is live, and keep it so to the end of the transaction.
--
-- Contract   Returns when p_operator_id holds the object under p_fence; then nobody releases, transfers
--            or takes over that grant before the caller's transaction ends, even if it expires
--            meanwhile. Called first in the transaction that writes the protected data, it fences off
--            a holder that lost its lock without noticing. Under autocommit it is a check only.
-- In         p_object_type 1..64 characters without ":"; p_object_id 1..255; p_operator_id 1..255;
--            p_fence 1 or greater. Trailing blanks are trimmed first.
-- Out        None; the row form returns p_ok_fl 'Y'.
-- Raises     LK001 invalid argument. LK002 when the grant is not live; the message names the holder, and Db2
--            cuts it off after 70 bytes. -911 and -913 as get_appl_lock.
-- Locks      S1 takes a share lock on the object's one row and decides; held to the end of the caller's
--            transaction. Other asserts of the grant do not wait for it; its renewal elsewhere does.
-- Race-free  The call that locks the row first goes first. S1 judges the row once it is locked, by a clock that it reads after
--            that.
-- Differs    A refused assert has locked the row, too.

--#SET TERMINATOR @

CREATE OR REPLACE PROCEDURE assert_appl_lock (...)
SPECIFIC assert_appl_lock
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
main: BEGIN
    DECLARE v_object_type, v_object_id, v_operator_id VARCHAR(4000);
    DECLARE v_rows INTEGER DEFAULT 0;
    DECLARE v_now, v_old_expires_ts, v_old_released_ts TIMESTAMP;
    DECLARE v_old_operator_id VARCHAR(256);
    DECLARE v_old_fence BIGINT;
    DECLARE v_message VARCHAR(512);

    SET v_object_type = RTRIM(COALESCE(p_object_type, ''));
    SET v_object_id = RTRIM(COALESCE(p_object_id, ''));
    SET v_operator_id = RTRIM(COALESCE(p_operator_id, ''));
    IF CHARACTER_LENGTH(v_object_type, CODEUNITS32) NOT BETWEEN 1 AND 64 OR LOCATE(':', v_object_type) > 0 THEN
        CALL appl_lock_refuse_text('assert_appl_lock', 'p_object_type', CHARACTER_LENGTH(v_object_type, CODEUNITS32), 64);
    ELSEIF CHARACTER_LENGTH(v_object_id, CODEUNITS32) NOT BETWEEN 1 AND 255 THEN
        CALL appl_lock_refuse_text('assert_appl_lock', 'p_object_id', CHARACTER_LENGTH(v_object_id, CODEUNITS32), 255);
    ELSEIF CHARACTER_LENGTH(v_operator_id, OCTETS) NOT BETWEEN 1 AND 255 THEN
        CALL appl_lock_refuse_text('assert_appl_lock', 'p_operator_id', CHARACTER_LENGTH(v_operator_id, OCTETS), 255);
    ELSEIF COALESCE(p_fence, 0) < 1 THEN
        CALL appl_lock_refuse_number('assert_appl_lock', 'p_fence', 9223372036854775807);
    END IF;
    IF NOT_PLAIN(v_object_type || v_object_id || v_operator_id) THEN
        CALL appl_lock_check_text('assert_appl_lock', 'p_object_type', v_object_type);
        CALL appl_lock_check_text('assert_appl_lock', 'p_object_id', v_object_id);
        CALL appl_lock_check_text('assert_appl_lock', 'p_operator_id', v_operator_id);
    END IF;

    SET CURRENT LOCK TIMEOUT 1;
    -- S1: who holds it, and keep it so. The aggregates always return one row.
    SELECT COUNT(*), MAX(l.operator_id), MAX(l.fence), MAX(l.expires_ts), MAX(l.released_ts)
    INTO v_rows, v_old_operator_id, v_old_fence, v_old_expires_ts, v_old_released_ts
    FROM appl_lock AS l
    WHERE l.object_type = v_object_type
        AND l.object_id = v_object_id
    WITH RS USE AND KEEP SHARE LOCKS;
    SET v_now = CURRENT TIMESTAMP - CURRENT TIMEZONE;
    IF v_rows = 0 OR v_old_released_ts IS NOT NULL OR v_old_expires_ts <= v_now THEN
        SIGNAL SQLSTATE 'LK002' SET MESSAGE_TEXT = 'assert_appl_lock: nobody holds it';
    END IF;
    IF v_old_operator_id <> v_operator_id OR v_old_fence <> p_fence THEN
        SET v_message = 'assert_appl_lock: held with fence ' || CAST(v_old_fence AS VARCHAR(20)) || ' by ' || v_old_operator_id;
        SIGNAL SQLSTATE 'LK002' SET MESSAGE_TEXT = v_message;
    END IF;
END main
@
