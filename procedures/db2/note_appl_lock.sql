-- note_appl_lock: leave a note on why an operator holds an object, for everybody to read.
--
-- Contract   Y NOTED: the operator holds it (this very grant, if p_fence is given), and this is its note now. It lasts
--            as long as the grant, through renewals; the next grant begins without one.
--            N FREE: nobody holds it. N HELD: another operator, or another grant than p_fence, holds it; p_old_* tell who.
-- In         p_object_type 1..64 characters without ":"; p_object_id 1..255; p_operator_id 1..255; p_fence 1 or greater, NULL =
--            any grant; p_note 0..255, NULL = empty. Trailing blanks are trimmed first.
-- Out        p_ok_fl, p_outcome, p_old_operator_id, p_old_department_id (empty unless HELD).
-- Raises     LK001 invalid argument. LK003 when the object changed hands thirty times during the call. -911 and -913 as
--            get_appl_lock.
-- Locks      S1 reads committed rows without waiting (cur_commit, the default), and answers HELD and FREE. S2 locks the
--            object's one row; held to the end of the caller's transaction.
-- Race-free  S2 changes the row only if it is still the one that S1 read; else the next round reads the new one. A note never
--            lands on a later grant of another operator, nor, with p_fence, on one of this operator.
--            A renewal answers with the note that is there when it changes the row.
-- Differs    As get_appl_lock.

--#SET TERMINATOR @

CREATE OR REPLACE PROCEDURE note_appl_lock (...)
SPECIFIC note_appl_lock
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
main: BEGIN
    DECLARE v_object_type, v_object_id, v_operator_id, v_note VARCHAR(4000);
    DECLARE v_round, v_rows, v_changed INTEGER DEFAULT 0;
    DECLARE v_now, v_old_lock_ts, v_old_expires_ts, v_old_released_ts TIMESTAMP;
    DECLARE v_old_operator_id, v_old_department_id VARCHAR(256);
    DECLARE v_old_fence BIGINT;

    SET p_ok_fl = 'N';
    SET p_outcome = '';
    SET p_old_operator_id = '';
    SET p_old_department_id = '';
    SET v_object_type = RTRIM(COALESCE(p_object_type, ''));
    SET v_object_id = RTRIM(COALESCE(p_object_id, ''));
    SET v_operator_id = RTRIM(COALESCE(p_operator_id, ''));
    SET v_note = RTRIM(COALESCE(p_note, ''));
    IF CHARACTER_LENGTH(v_object_type, CODEUNITS32) NOT BETWEEN 1 AND 64 OR LOCATE(':', v_object_type) > 0 THEN
        CALL appl_lock_refuse_text('note_appl_lock', 'p_object_type', CHARACTER_LENGTH(v_object_type, CODEUNITS32), 64);
    ELSEIF CHARACTER_LENGTH(v_object_id, CODEUNITS32) NOT BETWEEN 1 AND 255 THEN
        CALL appl_lock_refuse_text('note_appl_lock', 'p_object_id', CHARACTER_LENGTH(v_object_id, CODEUNITS32), 255);
    ELSEIF CHARACTER_LENGTH(v_operator_id, OCTETS) NOT BETWEEN 1 AND 255 THEN
        CALL appl_lock_refuse_text('note_appl_lock', 'p_operator_id', CHARACTER_LENGTH(v_operator_id, OCTETS), 255);
    ELSEIF p_fence < 1 THEN
        CALL appl_lock_refuse_number('note_appl_lock', 'p_fence', 9223372036854775807);
    ELSEIF CHARACTER_LENGTH(v_note, CODEUNITS32) > 255 THEN
        CALL appl_lock_refuse_text('note_appl_lock', 'p_note', CHARACTER_LENGTH(v_note, CODEUNITS32), 255);
    END IF;
    IF NOT_PLAIN(v_object_type || v_object_id || v_operator_id) THEN
        CALL appl_lock_check_text('note_appl_lock', 'p_object_type', v_object_type);
        CALL appl_lock_check_text('note_appl_lock', 'p_object_id', v_object_id);
        CALL appl_lock_check_text('note_appl_lock', 'p_operator_id', v_operator_id);
    END IF;

    SET CURRENT LOCK TIMEOUT 1;
    WHILE v_round < 30 DO
        SET v_round = v_round + 1;

        -- S1: who holds it? The aggregates always return one row.
        SELECT
            COUNT(*), MAX(l.operator_id), MAX(l.department_id), MAX(l.fence), MAX(l.lock_ts), MAX(l.expires_ts), MAX(l.released_ts)
        INTO v_rows, v_old_operator_id, v_old_department_id, v_old_fence, v_old_lock_ts, v_old_expires_ts, v_old_released_ts
        FROM appl_lock AS l
        WHERE l.object_type = v_object_type
            AND l.object_id = v_object_id
        WITH CS;
        SET v_now = CURRENT TIMESTAMP - CURRENT TIMEZONE;
        IF v_rows = 0 OR v_old_released_ts IS NOT NULL OR v_old_expires_ts <= v_now THEN
            SET p_outcome = 'FREE';
            LEAVE main;
        END IF;
        IF v_old_operator_id <> v_operator_id OR v_old_fence <> COALESCE(p_fence, v_old_fence) THEN
            SET p_outcome = 'HELD';
            SET p_old_operator_id = v_old_operator_id;
            SET p_old_department_id = v_old_department_id;
            LEAVE main;
        END IF;

        -- S2: note it on this grant, if the row is unchanged.
        UPDATE appl_lock AS l
        SET note = v_note
        WHERE l.object_type = v_object_type
            AND l.object_id = v_object_id
            AND l.fence = v_old_fence
            AND l.lock_ts = v_old_lock_ts
            AND l.expires_ts = v_old_expires_ts
            AND l.released_ts IS NULL;
        GET DIAGNOSTICS v_changed = ROW_COUNT;
        IF v_changed = 1 THEN
            SET p_ok_fl = 'Y';
            SET p_outcome = 'NOTED';
            LEAVE main;
        END IF;
    END WHILE;
    SIGNAL SQLSTATE 'LK003' SET MESSAGE_TEXT = 'note_appl_lock: changed hands during the call; call again';
END main
@
