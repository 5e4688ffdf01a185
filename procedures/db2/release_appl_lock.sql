-- release_appl_lock: end the grant that an operator holds on an object.
--
-- Contract   Y RELEASED: the operator held it (this very grant, if p_fence is given); it is free now. Y FREE: nobody holds it; if
--            the operator's own grant had expired, it is released now. N HELD: another operator, or another grant than p_fence,
--            holds it; p_old_* tell who.
--            A release by another actor, or with a reason, is an event, RELEASED. So is each release, also of an expired grant, if history was ALL at
--            the operator's last get.
-- In         p_object_type 1..64 characters without ":"; p_object_id 1..255; p_operator_id 1..255; p_fence 1 or greater, NULL =
--            any grant; p_actor_id 1..255, NULL = p_operator_id; p_reason 0..255, NULL = empty. Trailing blanks are trimmed
--            first.
-- Out        p_ok_fl, p_outcome, p_old_operator_id, p_old_department_id (empty unless HELD).
-- Raises     LK001 invalid argument. LK003 when the object changed hands thirty times during the call. -911 and -913 as
--            get_appl_lock.
-- Locks      S1 reads committed rows without waiting (cur_commit, the default), and answers HELD and FREE. S2 locks the
--            object's one row; held to the end of the caller's transaction.
-- Race-free  S2 ends the grant only if the row is still the one that S1 read; else the next round reads the new one. A later
--            grant never matches. Two releases: the second finds the row released and answers FREE.
--            An uncommitted get is invisible: FREE, as for every reader.
-- Differs    As get_appl_lock.

--#SET TERMINATOR @

CREATE OR REPLACE PROCEDURE release_appl_lock (...)
SPECIFIC release_appl_lock
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
main: BEGIN
    DECLARE v_object_type, v_object_id, v_operator_id, v_actor_id, v_reason VARCHAR(4000);
    DECLARE v_round, v_rows, v_changed INTEGER DEFAULT 0;
    DECLARE v_now, v_old_lock_ts, v_old_expires_ts, v_old_released_ts TIMESTAMP;
    DECLARE v_old_operator_id, v_old_department_id VARCHAR(256);
    DECLARE v_old_fence BIGINT;
    DECLARE v_old_history_fl CHAR(1);

    SET p_ok_fl = 'N';
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
    ELSEIF CHARACTER_LENGTH(v_operator_id, OCTETS) NOT BETWEEN 1 AND 255 THEN
        CALL appl_lock_refuse_text('release_appl_lock', 'p_operator_id', CHARACTER_LENGTH(v_operator_id, OCTETS), 255);
    ELSEIF p_fence < 1 THEN
        CALL appl_lock_refuse_number('release_appl_lock', 'p_fence', 9223372036854775807);
    ELSEIF CHARACTER_LENGTH(v_actor_id, OCTETS) NOT BETWEEN 1 AND 255 THEN
        CALL appl_lock_refuse_text('release_appl_lock', 'p_actor_id', CHARACTER_LENGTH(v_actor_id, OCTETS), 255);
    ELSEIF CHARACTER_LENGTH(v_reason, CODEUNITS32) > 255 THEN
        CALL appl_lock_refuse_text('release_appl_lock', 'p_reason', CHARACTER_LENGTH(v_reason, CODEUNITS32), 255);
    END IF;
    IF NOT_PLAIN(v_object_type || v_object_id || v_operator_id || v_actor_id) THEN
        CALL appl_lock_check_text('release_appl_lock', 'p_object_type', v_object_type);
        CALL appl_lock_check_text('release_appl_lock', 'p_object_id', v_object_id);
        CALL appl_lock_check_text('release_appl_lock', 'p_operator_id', v_operator_id);
        CALL appl_lock_check_text('release_appl_lock', 'p_actor_id', v_actor_id);
    END IF;

    SET CURRENT LOCK TIMEOUT 1;
    WHILE v_round < 30 DO
        SET v_round = v_round + 1;

        -- S1: who holds it? The aggregates always return one row.
        SELECT
            COUNT(*), MAX(l.operator_id), MAX(l.department_id), MAX(l.fence), MAX(l.lock_ts), MAX(l.expires_ts),
            MAX(l.released_ts), MAX(l.history_fl)
        INTO
            v_rows, v_old_operator_id, v_old_department_id, v_old_fence, v_old_lock_ts, v_old_expires_ts,
            v_old_released_ts, v_old_history_fl
        FROM appl_lock AS l
        WHERE l.object_type = v_object_type
            AND l.object_id = v_object_id
        WITH CS;
        SET v_now = CURRENT TIMESTAMP - CURRENT TIMEZONE;
        IF v_rows = 0 OR v_old_released_ts IS NOT NULL
            OR v_old_expires_ts <= v_now AND (v_old_operator_id <> v_operator_id OR v_old_fence <> COALESCE(p_fence, v_old_fence))
        THEN
            SET p_ok_fl = 'Y';
            SET p_outcome = 'FREE';
            LEAVE main;
        END IF;
        IF v_old_operator_id <> v_operator_id OR v_old_fence <> COALESCE(p_fence, v_old_fence) THEN
            SET p_outcome = 'HELD';
            SET p_old_operator_id = v_old_operator_id;
            SET p_old_department_id = v_old_department_id;
            LEAVE main;
        END IF;

        -- S2: end this grant, if the row is unchanged. It stays released even if the clock is set back.
        UPDATE appl_lock AS l
        SET released_ts = v_now, note = ''
        WHERE l.object_type = v_object_type
            AND l.object_id = v_object_id
            AND l.fence = v_old_fence
            AND l.lock_ts = v_old_lock_ts
            AND l.expires_ts = v_old_expires_ts
            AND l.released_ts IS NULL;
        GET DIAGNOSTICS v_changed = ROW_COUNT;
        IF v_changed = 1 THEN
            SET p_ok_fl = 'Y';
            SET p_outcome = 'FREE';
            IF v_old_expires_ts > v_now THEN
                SET p_outcome = 'RELEASED';
            END IF;
            IF v_old_history_fl = 'Y' OR v_old_released_ts IS NULL AND v_old_expires_ts > v_now AND (v_actor_id <> v_operator_id OR v_reason <> '') THEN
                CALL appl_lock_record(
                    v_now, v_object_type, v_object_id, 'RELEASED', v_actor_id,
                    v_operator_id, v_old_department_id, '', '', v_old_fence, 0, v_reason
                );
            END IF;
            LEAVE main;
        END IF;
    END WHILE;
    SIGNAL SQLSTATE 'LK003' SET MESSAGE_TEXT = 'release_appl_lock: changed hands during the call; call again';
END main
@
