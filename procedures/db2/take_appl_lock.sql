-- take_appl_lock: take a held object from whoever holds it, for a reason.
--
-- Contract   Y TAKEN: somebody held it, by the grant p_expected_fence or, if that is NULL, by whichever; p_operator_id
--            holds it now: a new grant, a greater fence, an empty note. p_old_* tell from whom it was taken. Of what it
--            holds itself an operator gets a new grant, too, and p_old_* are empty: nobody was displaced.
--            That is an event of the history, TAKEN, with the reason: p_operator_id is the actor.
--            The greatest ttl of the type's policy, if it has one, is that of the new grant, too, as p_expires_ts tells.
--            N HELD: another grant than p_expected_fence holds it; p_old_* and p_expires_ts tell who and until when.
--            N FREE: nobody holds it; nothing changed: get_appl_lock gets it.
-- In         p_object_type 1..64 characters without ":"; p_object_id 1..255; p_operator_id 1..64; p_department_id
--            0..64, NULL = empty; p_reason 1..255, or empty if the type's policy says N;
--            p_expected_fence 1 or greater, NULL = whichever;
--            p_ttl_seconds 1..315360000, NULL = that of the grant that ends, which is expires_ts - lock_ts in
--            whole seconds, at least 1.
--            Trailing blanks are trimmed first.
-- Out        p_return_cd, p_outcome, p_old_operator_id, p_old_department_id (empty when FREE, and when p_operator_id
--            held it), p_fence (0 unless TAKEN), p_expires_ts (UTC, NULL when FREE), p_seconds_left (from now to
--            p_expires_ts, rounded up; the holder's when HELD, 0 when FREE). Now is when S1 had read.
-- Raises     LK001 invalid argument. LK003 when the object changed hands three times during the call.
--            -911 and -913 as get_appl_lock.
-- Locks      S1 reads what is committed, without waiting (cur_commit, the default), and answers HELD and FREE.
--            S2 locks the object's one row and decides; held to the end of the caller's transaction.
-- Race-free  Take against renewal, release, transfer or another take: S2 changes the row only if it is still
--            the very row that S1 read (same fence, lock_ts and expires_ts); else S1 looks again. A renewal keeps the
--            fence, and the next round takes it with the renewal's ttl; of two takes that expect the same fence one wins,
--            and the other's next round answers HELD.
-- Differs    As get_appl_lock.

--#SET TERMINATOR @

CREATE OR REPLACE PROCEDURE take_appl_lock (
    IN p_object_type VARCHAR(4000),
    IN p_object_id VARCHAR(4000),
    IN p_operator_id VARCHAR(4000),
    IN p_department_id VARCHAR(4000),
    IN p_reason VARCHAR(4000),
    IN p_expected_fence BIGINT,
    IN p_ttl_seconds BIGINT,
    OUT p_return_cd CHAR(1),
    OUT p_outcome VARCHAR(11),
    OUT p_old_operator_id VARCHAR(256),
    OUT p_old_department_id VARCHAR(256),
    OUT p_fence BIGINT,
    OUT p_expires_ts TIMESTAMP,
    OUT p_seconds_left BIGINT
)
SPECIFIC take_appl_lock
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
main: BEGIN
    DECLARE v_object_type VARCHAR(4000);
    DECLARE v_object_id VARCHAR(4000);
    DECLARE v_operator_id VARCHAR(4000);
    DECLARE v_department_id VARCHAR(4000);
    DECLARE v_reason VARCHAR(4000);
    DECLARE v_ttl_seconds BIGINT;
    DECLARE v_ttl_us BIGINT;
    DECLARE v_policies INTEGER DEFAULT 0;
    DECLARE v_longest_ttl_seconds BIGINT;
    DECLARE v_take_reason_fl CHAR(1);
    DECLARE v_round INTEGER DEFAULT 0;
    DECLARE v_rows INTEGER DEFAULT 0;
    DECLARE v_changed INTEGER DEFAULT 0;
    DECLARE v_now TIMESTAMP;
    DECLARE v_old_operator_id VARCHAR(256);
    DECLARE v_old_department_id VARCHAR(256);
    DECLARE v_old_fence BIGINT;
    DECLARE v_old_lock_ts TIMESTAMP;
    DECLARE v_old_expires_ts TIMESTAMP;
    DECLARE v_fence BIGINT;
    DECLARE v_expires_ts TIMESTAMP;

    SET p_return_cd = 'N';
    SET p_outcome = '';
    SET p_old_operator_id = '';
    SET p_old_department_id = '';
    SET p_fence = 0;
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
    ELSEIF CHARACTER_LENGTH(v_operator_id, CODEUNITS32) NOT BETWEEN 1 AND 64 THEN
        CALL appl_lock_refuse_text('take_appl_lock', 'p_operator_id', CHARACTER_LENGTH(v_operator_id, CODEUNITS32), 64);
    ELSEIF CHARACTER_LENGTH(v_department_id, CODEUNITS32) > 64 THEN
        CALL appl_lock_refuse_text('take_appl_lock', 'p_department_id', CHARACTER_LENGTH(v_department_id, CODEUNITS32), 64);
    ELSEIF CHARACTER_LENGTH(v_reason, CODEUNITS32) > 255 THEN
        CALL appl_lock_refuse_text('take_appl_lock', 'p_reason', CHARACTER_LENGTH(v_reason, CODEUNITS32), 255);
    ELSEIF p_expected_fence < 1 THEN
        CALL appl_lock_refuse_number('take_appl_lock', 'p_expected_fence', 99999999999999999);
    ELSEIF p_ttl_seconds NOT BETWEEN 1 AND 315360000 THEN
        CALL appl_lock_refuse_number('take_appl_lock', 'p_ttl_seconds', 315360000);
    END IF;

    SET CURRENT LOCK TIMEOUT 1;
    -- What is laid down for the type?
    SELECT COUNT(*), MAX(p.longest_ttl_seconds), MAX(p.take_reason_fl)
    INTO v_policies, v_longest_ttl_seconds, v_take_reason_fl
    FROM appl_lock_policy AS p
    WHERE p.object_type = v_object_type
    WITH CS;
    IF v_reason = '' AND COALESCE(v_take_reason_fl, 'Y') = 'Y' THEN
        CALL appl_lock_refuse_text('take_appl_lock', 'p_reason', 0, 255);
    END IF;
    WHILE v_round < 3 DO
        SET v_round = v_round + 1;

        -- S1: who holds it? The aggregates make it one row in any case.
        SELECT COUNT(*), MAX(l.operator_id), MAX(l.department_id), MAX(l.fence), MAX(l.lock_ts), MAX(l.expires_ts)
        INTO v_rows, v_old_operator_id, v_old_department_id, v_old_fence, v_old_lock_ts, v_old_expires_ts
        FROM appl_lock AS l
        WHERE l.object_type = v_object_type
            AND l.object_id = v_object_id
        WITH CS;
        SET v_now = CURRENT TIMESTAMP - CURRENT TIMEZONE;
        IF v_rows = 0 OR v_old_expires_ts <= v_now THEN
            SET p_outcome = 'FREE';
            LEAVE main;
        END IF;
        IF v_old_fence <> p_expected_fence THEN
            SET p_outcome = 'HELD';
            SET p_old_operator_id = v_old_operator_id;
            SET p_old_department_id = v_old_department_id;
            SET p_expires_ts = v_old_expires_ts;
            SET p_seconds_left = CAST(DAYS(v_old_expires_ts) - DAYS(v_now) AS BIGINT) * 86400
                + MIDNIGHT_SECONDS(v_old_expires_ts) - MIDNIGHT_SECONDS(v_now)
                + CASE WHEN MICROSECOND(v_old_expires_ts) > MICROSECOND(v_now) THEN 1 ELSE 0 END;
            LEAVE main;
        END IF;

        SET v_ttl_seconds = p_ttl_seconds;
        -- That of the grant, to the nearest second, because a renewal may have moved lock_ts; never less than 1.
        IF v_ttl_seconds IS NULL THEN
            SET v_ttl_us = CAST(DAYS(v_old_expires_ts) - DAYS(v_old_lock_ts) AS BIGINT) * 86400000000
                + CAST(MIDNIGHT_SECONDS(v_old_expires_ts) - MIDNIGHT_SECONDS(v_old_lock_ts) AS BIGINT) * 1000000
                + MICROSECOND(v_old_expires_ts) - MICROSECOND(v_old_lock_ts);
            SET v_ttl_seconds = CASE WHEN v_ttl_us < 1000000 THEN 1 ELSE (v_ttl_us + 500000) / 1000000 END;
        END IF;
        IF v_ttl_seconds > v_longest_ttl_seconds THEN
            SET v_ttl_seconds = v_longest_ttl_seconds;
        END IF;
        SET v_expires_ts = v_now + (v_ttl_seconds) SECOND;
        SET v_fence = CAST(DAYS(v_now) - DAYS(DATE('1970-01-01')) AS BIGINT) * 86400000000
            + CAST(MIDNIGHT_SECONDS(v_now) AS BIGINT) * 1000000
            + MICROSECOND(v_now);
        IF v_old_fence >= v_fence THEN
            SET v_fence = v_old_fence + 1;
        END IF;

        -- S2: a new grant, if it is still so.
        UPDATE appl_lock AS l
        SET operator_id = v_operator_id,
            department_id = v_department_id,
            fence = v_fence,
            acquired_ts = v_now,
            lock_ts = v_now,
            expires_ts = v_expires_ts,
            note = ''
        WHERE l.object_type = v_object_type
            AND l.object_id = v_object_id
            AND l.fence = v_old_fence
            AND l.lock_ts = v_old_lock_ts
            AND l.expires_ts = v_old_expires_ts;
        GET DIAGNOSTICS v_changed = ROW_COUNT;
        IF v_changed = 1 THEN
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
                'TAKEN',
                v_operator_id,
                SESSION_USER,
                '',
                v_old_operator_id,
                v_old_department_id,
                v_operator_id,
                v_department_id,
                v_old_fence,
                v_fence,
                v_reason
            );
            SET p_return_cd = 'Y';
            SET p_outcome = 'TAKEN';
            IF v_old_operator_id <> v_operator_id THEN
                SET p_old_operator_id = v_old_operator_id;
                SET p_old_department_id = v_old_department_id;
            END IF;
            SET p_fence = v_fence;
            SET p_expires_ts = v_expires_ts;
            SET p_seconds_left = v_ttl_seconds;
            LEAVE main;
        END IF;
    END WHILE;
    SIGNAL SQLSTATE 'LK003' SET MESSAGE_TEXT = 'take_appl_lock: changed hands during the call; call again';
END main
@

CREATE OR REPLACE PROCEDURE take_appl_lock_row (
    IN p_object_type VARCHAR(4000),
    IN p_object_id VARCHAR(4000),
    IN p_operator_id VARCHAR(4000),
    IN p_department_id VARCHAR(4000),
    IN p_reason VARCHAR(4000),
    IN p_expected_fence BIGINT,
    IN p_ttl_seconds BIGINT
)
SPECIFIC take_appl_lock_row
DYNAMIC RESULT SETS 1
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
BEGIN
    DECLARE v_return_cd CHAR(1);
    DECLARE v_outcome VARCHAR(11);
    DECLARE v_old_operator_id VARCHAR(256);
    DECLARE v_old_department_id VARCHAR(256);
    DECLARE v_fence BIGINT;
    DECLARE v_expires_ts TIMESTAMP;
    DECLARE v_seconds_left BIGINT;
    CALL take_appl_lock(
        p_object_type, p_object_id, p_operator_id, p_department_id, p_reason, p_expected_fence, p_ttl_seconds,
        v_return_cd, v_outcome, v_old_operator_id, v_old_department_id, v_fence, v_expires_ts,
        v_seconds_left
    );
    BEGIN
        DECLARE answer CURSOR WITH RETURN FOR
            SELECT
                v_return_cd AS p_return_cd,
                v_outcome AS p_outcome,
                v_old_operator_id AS p_old_operator_id,
                v_old_department_id AS p_old_department_id,
                v_fence AS p_fence,
                v_expires_ts AS p_expires_ts,
                v_seconds_left AS p_seconds_left
            FROM SYSIBM.SYSDUMMY1;
        OPEN answer;
    END;
END
@

COMMENT ON SPECIFIC PROCEDURE take_appl_lock IS 'Take a held object from whoever holds it, for a reason.'
@

COMMENT ON SPECIFIC PROCEDURE take_appl_lock_row IS 'Take a held object from whoever holds it, for a reason; the answer is one row.'
@
