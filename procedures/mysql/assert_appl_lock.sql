-- assert_appl_lock: fail unless exactly this grant is live, and keep it so to the end of the transaction.
--
-- Contract   Returns when p_operator_id holds the object under p_fence; then nobody releases, transfers or takes over that grant before
--            the caller's transaction ends, even if it expires meanwhile. Called first in the transaction that writes the protected data,
--            it fences off a holder that lost its lock without noticing. Under autocommit it is a check only.
-- In         p_fence: 1 or greater.
-- Out        None; the row form returns p_ok_fl 'Y'. It leaves the grant in @appl_lock_asserted, for the guards of docs/guard.md.
-- Raises     LK001 invalid argument. LK002 the grant is not live; the message names the holder. LK003 an upgrade is replacing the
--            routine. 1205 after 1 s of waiting for another transaction. 1213 deadlock.
-- Locks      S1 takes a share lock on the object's row, to the end of the caller's transaction. Other asserts of the grant do not wait
--            for it; its renewal elsewhere does. A renewal or release in the same transaction may then deadlock with a call that waits
--            for the row (MariaDB). At REPEATABLE READ the gap of an object without a row is locked as long.
-- Race-free  Assert against take-over, release, transfer: the call that locks the row first goes first. S1 is a locking read
--            that names the grant and sees the newest row.
-- Differs    A message has at most 128 characters, and so 61 of a longer operator's. MySQL has a question mark for each
--            character outside the basic plane.

DELIMITER $$

CREATE PROCEDURE assert_appl_lock_core(...)
MODIFIES SQL DATA
SQL SECURITY DEFINER
main: BEGIN
    DECLARE v_timeout BIGINT DEFAULT COALESCE(@appl_lock_wait, @@SESSION.innodb_lock_wait_timeout);
    DECLARE v_grant LONGTEXT;
    DECLARE v_live BOOLEAN DEFAULT FALSE;
    DECLARE v_message VARCHAR(128) DEFAULT 'assert_appl_lock: nobody holds it';
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
    -- 1422: a function or trigger.
    DECLARE CONTINUE HANDLER FOR 1422 CALL appl_lock_inside();
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        SET SESSION innodb_lock_wait_timeout = v_timeout, @appl_lock_wait = NULLIF(@appl_lock_wait, v_timeout);
        RESIGNAL;
    END;

    CALL appl_lock_key('assert_appl_lock', p_object_type, p_object_id);
    CALL appl_lock_text('assert_appl_lock', 'p_operator_id', 'Y', 1, 255, p_operator_id);
    CALL appl_lock_number('assert_appl_lock', 'p_fence', 9223372036854775807, COALESCE(p_fence, 0));
    CALL appl_lock_enter();
    SET v_grant = CONCAT(
        CHAR(10 USING utf8mb4), p_fence, CHAR(9 USING utf8mb4), p_operator_id, CHAR(9 USING utf8mb4), p_object_type, ':', p_object_id
    );
    SET @appl_lock_wait = COALESCE(@appl_lock_wait, v_timeout), SESSION innodb_lock_wait_timeout = LEAST(1, v_timeout);
    -- S1: is this grant live? If so it becomes a line for guards, newest first. A line that is cut off loses its end, so no
    -- guard matches it.
    SELECT
        TRUE,
        IF(
            LOCATE(CONCAT(v_grant, CHAR(10 USING utf8mb4)), @appl_lock_asserted) > 0,
            @appl_lock_asserted,
            LEFT(CONCAT(v_grant, COALESCE(@appl_lock_asserted, CHAR(10 USING utf8mb4))), 16000)
        )
    INTO v_live, @appl_lock_asserted
    FROM appl_lock AS l
    WHERE l.object_type = p_object_type
        AND l.object_id = p_object_id
        AND l.operator_id = p_operator_id
        AND l.fence = p_fence
        AND l.released_ts IS NULL
        AND l.expires_ts > UTC_TIMESTAMP(6)
    LOCK IN SHARE MODE;
    IF v_live THEN
        SET SESSION innodb_lock_wait_timeout = v_timeout, @appl_lock_wait = NULLIF(@appl_lock_wait, v_timeout);
        LEAVE main;
    END IF;

    SELECT CONCAT(
        'assert_appl_lock: ', IF(CHAR_LENGTH(l.operator_id) > 64, CONCAT(LEFT(l.operator_id, 61), '...'), l.operator_id),
        ' holds it with fence ', l.fence
    )
    INTO v_message
    FROM appl_lock AS l
    WHERE l.object_type = p_object_type
        AND l.object_id = p_object_id
        AND l.released_ts IS NULL
        AND l.expires_ts > UTC_TIMESTAMP(6)
    LOCK IN SHARE MODE;
    SIGNAL SQLSTATE 'LK002' SET MESSAGE_TEXT = v_message;
END$$

DELIMITER ;
