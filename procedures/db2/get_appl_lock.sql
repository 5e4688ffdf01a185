-- get_appl_lock: take or renew the lock on an object for one operator until it expires.
--
-- Contract   Y ACQUIRED: the object was free or its lock had expired; a new grant, a greater fence.
--            Y RENEWED: this operator holds it; same grant and fence, expires_ts = now + ttl.
--            N HELD: another operator holds it; p_old_*, p_expires_ts and p_note tell who, until when and why.
--            ACQUIRED from another operator, whose lock had expired and had not been released, is an event of the history:
--            OVERTAKEN. Where the policy of the type has the history told ALL, so are a new grant, ACQUIRED, a renewal, RENEWED,
--            and a refusal, REFUSED; the last one goes by the policy of when the holder last called get.
--            The policy of the type, if it has one, has the ttl of a new grant for which none is given, and the greatest ttl:
--            a greater one is cut to it, also in a renewal, as p_expires_ts and p_seconds_left tell.
-- In         p_object_type 1..64 characters without ":"; p_object_id 1..255; p_operator_id 1..64;
--            p_department_id 0..64, NULL = as it is in a renewal, empty in a new grant;
--            p_ttl_seconds 1..315360000, NULL = the grant's in a renewal, which is expires_ts - lock_ts in whole
--            seconds, at least 1; in a new grant the policy's, else 604800 (7 days).
--            Trailing blanks are trimmed first. VARCHAR(4000), so that length is checked here.
-- Out        p_lock_fl, p_outcome, p_old_operator_id, p_old_department_id (empty unless HELD),
--            p_fence (0 when HELD), p_expires_ts (UTC), p_seconds_left (from now to p_expires_ts, rounded up; the
--            holder's when HELD). Now is when S1 had read: a wait of S2 is not taken off, and is the caller's to count. p_note
--            (the holder's when HELD, the grant's own when RENEWED, both as S1 read it; empty in a new grant).
-- Raises     LK001 invalid argument. LK003 when the object changed hands three times during the call.
--            -911/40001 after 1 s of waiting for another transaction (reason 68) or as a deadlock's victim
--            (reason 2): Db2 has rolled the whole transaction back then. -913/57033 where only the statement
--            was rolled back: roll back and begin again.
-- Locks      S1 and S1b read what is committed, without waiting (cur_commit, the default); S1 answers HELD. S2 locks
--            the object's one row or its key and decides; held to the end of the caller's transaction.
-- Race-free  S2 changes the row only if it is still the very row that S1 read (same fence, lock_ts and expires_ts), so
--            its row count is the decision, and what it wrote is known, the ttl that a renewal keeps, too. A
--            department and the note that it keeps S2 takes from the row that it has locked. Whoever was quicker makes it 0,
--            and the next round reads the new row.
--            Free object, two callers: both insert, the primary key lets one; the other waits, gets 23505,
--            and the next round reads the winner's row.
--            Release during the call: the clock is read after S1, so it is later than a release that S1 saw.
--            Killed before commit: the row goes back to what it was, and the waiter goes on.
-- Differs    A release, renewal or transfer that commits while S2 waits costs a round. The wait that is cut
--            off ends the caller's whole transaction.

--#SET TERMINATOR @

CREATE OR REPLACE PROCEDURE get_appl_lock (
    IN p_object_type VARCHAR(4000),
    IN p_object_id VARCHAR(4000),
    IN p_operator_id VARCHAR(4000),
    IN p_department_id VARCHAR(4000),
    IN p_ttl_seconds BIGINT,
    OUT p_lock_fl CHAR(1),
    OUT p_outcome VARCHAR(11),
    OUT p_old_operator_id VARCHAR(256),
    OUT p_old_department_id VARCHAR(256),
    OUT p_fence BIGINT,
    OUT p_expires_ts TIMESTAMP,
    OUT p_seconds_left BIGINT,
    OUT p_note VARCHAR(1020)
)
SPECIFIC get_appl_lock
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
main: BEGIN
    DECLARE v_object_type VARCHAR(4000);
    DECLARE v_object_id VARCHAR(4000);
    DECLARE v_operator_id VARCHAR(4000);
    DECLARE v_department_id VARCHAR(4000);
    DECLARE v_ttl_seconds BIGINT;
    DECLARE v_ttl_us BIGINT;
    DECLARE v_default_ttl_seconds BIGINT;
    DECLARE v_longest_ttl_seconds BIGINT;
    DECLARE v_policies INTEGER DEFAULT 0;
    DECLARE v_history_level VARCHAR(8);
    DECLARE v_history_fl CHAR(1);
    DECLARE v_event VARCHAR(16);
    DECLARE v_round INTEGER DEFAULT 0;
    DECLARE v_rows INTEGER DEFAULT 0;
    DECLARE v_changed INTEGER DEFAULT 0;
    DECLARE v_now TIMESTAMP;
    DECLARE v_old_operator_id VARCHAR(256);
    DECLARE v_old_department_id VARCHAR(256);
    DECLARE v_old_fence BIGINT;
    DECLARE v_old_acquired_ts TIMESTAMP;
    DECLARE v_old_lock_ts TIMESTAMP;
    DECLARE v_old_expires_ts TIMESTAMP;
    DECLARE v_old_note VARCHAR(1020);
    DECLARE v_old_history_fl CHAR(1);
    DECLARE v_outcome VARCHAR(11);
    DECLARE v_fence BIGINT;
    DECLARE v_acquired_ts TIMESTAMP;
    DECLARE v_lock_ts TIMESTAMP;
    DECLARE v_expires_ts TIMESTAMP;

    SET p_lock_fl = 'N';
    SET p_outcome = '';
    SET p_old_operator_id = '';
    SET p_old_department_id = '';
    SET p_fence = 0;
    SET p_expires_ts = NULL;
    SET p_seconds_left = 0;
    SET p_note = '';
    SET v_object_type = RTRIM(COALESCE(p_object_type, ''));
    SET v_object_id = RTRIM(COALESCE(p_object_id, ''));
    SET v_operator_id = RTRIM(COALESCE(p_operator_id, ''));
    SET v_department_id = RTRIM(p_department_id);
    IF CHARACTER_LENGTH(v_object_type, CODEUNITS32) NOT BETWEEN 1 AND 64 OR LOCATE(':', v_object_type) > 0 THEN
        CALL appl_lock_refuse_text('get_appl_lock', 'p_object_type', CHARACTER_LENGTH(v_object_type, CODEUNITS32), 64);
    ELSEIF CHARACTER_LENGTH(v_object_id, CODEUNITS32) NOT BETWEEN 1 AND 255 THEN
        CALL appl_lock_refuse_text('get_appl_lock', 'p_object_id', CHARACTER_LENGTH(v_object_id, CODEUNITS32), 255);
    ELSEIF CHARACTER_LENGTH(v_operator_id, CODEUNITS32) NOT BETWEEN 1 AND 64 THEN
        CALL appl_lock_refuse_text('get_appl_lock', 'p_operator_id', CHARACTER_LENGTH(v_operator_id, CODEUNITS32), 64);
    ELSEIF CHARACTER_LENGTH(v_department_id, CODEUNITS32) > 64 THEN
        CALL appl_lock_refuse_text('get_appl_lock', 'p_department_id', CHARACTER_LENGTH(v_department_id, CODEUNITS32), 64);
    ELSEIF p_ttl_seconds NOT BETWEEN 1 AND 315360000 THEN
        CALL appl_lock_refuse_number('get_appl_lock', 'p_ttl_seconds', 315360000);
    END IF;

    SET CURRENT LOCK TIMEOUT 1;
    WHILE v_round < 3 DO
        SET v_round = v_round + 1;

        -- S1: what is there? The aggregates make it one row in any case.
        SELECT
            COUNT(*), MAX(l.operator_id), MAX(l.department_id), MAX(l.fence),
            MAX(l.acquired_ts), MAX(l.lock_ts), MAX(l.expires_ts), MAX(l.note),
            MAX(l.history_fl)
        INTO
            v_rows, v_old_operator_id, v_old_department_id, v_old_fence,
            v_old_acquired_ts, v_old_lock_ts, v_old_expires_ts, v_old_note,
            v_old_history_fl
        FROM appl_lock AS l
        WHERE l.object_type = v_object_type
            AND l.object_id = v_object_id
        WITH CS;
        SET v_now = CURRENT TIMESTAMP - CURRENT TIMEZONE;
        IF v_rows = 1 AND v_old_expires_ts > v_now AND v_old_operator_id <> v_operator_id THEN
            IF v_old_history_fl = 'Y' THEN
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
                    'REFUSED',
                    v_operator_id,
                    SESSION_USER,
                    '',
                    v_old_operator_id,
                    v_old_department_id,
                    v_old_operator_id,
                    v_old_department_id,
                    v_old_fence,
                    v_old_fence,
                    ''
                );
            END IF;
            SET p_outcome = 'HELD';
            SET p_old_operator_id = v_old_operator_id;
            SET p_old_department_id = v_old_department_id;
            SET p_expires_ts = v_old_expires_ts;
            SET p_note = v_old_note;
            SET p_seconds_left = CAST(DAYS(v_old_expires_ts) - DAYS(v_now) AS BIGINT) * 86400
                + MIDNIGHT_SECONDS(v_old_expires_ts) - MIDNIGHT_SECONDS(v_now)
                + CASE WHEN MICROSECOND(v_old_expires_ts) > MICROSECOND(v_now) THEN 1 ELSE 0 END;
            LEAVE main;
        END IF;

        -- S1b: what is laid down for the type?
        SELECT COUNT(*), MAX(p.default_ttl_seconds), MAX(p.longest_ttl_seconds), MAX(p.history_level)
        INTO v_policies, v_default_ttl_seconds, v_longest_ttl_seconds, v_history_level
        FROM appl_lock_policy AS p
        WHERE p.object_type = v_object_type
        WITH CS;
        SET v_history_fl = CASE WHEN v_history_level = 'ALL' THEN 'Y' ELSE 'N' END;
        SET v_department_id = RTRIM(p_department_id);
        SET v_ttl_seconds = p_ttl_seconds;
        IF v_rows = 1 AND v_old_expires_ts > v_now THEN
            SET v_outcome = 'RENEWED';
            SET v_fence = v_old_fence;
            SET v_acquired_ts = v_old_acquired_ts;
            SET v_lock_ts = v_now;
            -- Later than acquired_ts in every renewal, whatever the clock does, as in every dialect.
            IF v_lock_ts <= v_acquired_ts THEN
                SET v_lock_ts = v_acquired_ts + (0.000001) SECOND;
            END IF;
            -- The grant's ttl, to the nearest second, because that microsecond is missing in it; never less than 1.
            IF v_ttl_seconds IS NULL THEN
                SET v_ttl_us = CAST(DAYS(v_old_expires_ts) - DAYS(v_old_lock_ts) AS BIGINT) * 86400000000
                    + CAST(MIDNIGHT_SECONDS(v_old_expires_ts) - MIDNIGHT_SECONDS(v_old_lock_ts) AS BIGINT) * 1000000
                    + MICROSECOND(v_old_expires_ts) - MICROSECOND(v_old_lock_ts);
                SET v_ttl_seconds = CASE WHEN v_ttl_us < 1000000 THEN 1 ELSE (v_ttl_us + 500000) / 1000000 END;
            END IF;
        ELSE
            SET v_outcome = 'ACQUIRED';
            SET v_fence = CAST(DAYS(v_now) - DAYS(DATE('1970-01-01')) AS BIGINT) * 86400000000
                + CAST(MIDNIGHT_SECONDS(v_now) AS BIGINT) * 1000000
                + MICROSECOND(v_now);
            IF v_rows = 1 AND v_old_fence >= v_fence THEN
                SET v_fence = v_old_fence + 1;
            END IF;
            SET v_acquired_ts = v_now;
            SET v_lock_ts = v_now;
            SET v_old_note = '';
            SET v_department_id = COALESCE(v_department_id, '');
            SET v_ttl_seconds = COALESCE(v_ttl_seconds, v_default_ttl_seconds, 604800);
        END IF;
        IF v_ttl_seconds > v_longest_ttl_seconds THEN
            SET v_ttl_seconds = v_longest_ttl_seconds;
        END IF;
        SET v_expires_ts = v_now + (v_ttl_seconds) SECOND;

        -- S2: take or renew, if it is still so.
        IF v_rows = 1 THEN
            UPDATE appl_lock AS l
            SET operator_id = v_operator_id,
                department_id = COALESCE(v_department_id, l.department_id),
                fence = v_fence,
                acquired_ts = v_acquired_ts,
                lock_ts = v_lock_ts,
                expires_ts = v_expires_ts,
                note = CASE WHEN v_outcome = 'RENEWED' THEN l.note ELSE '' END,
                history_fl = v_history_fl
            WHERE l.object_type = v_object_type
                AND l.object_id = v_object_id
                AND l.fence = v_old_fence
                AND l.lock_ts = v_old_lock_ts
                AND l.expires_ts = v_old_expires_ts;
            GET DIAGNOSTICS v_changed = ROW_COUNT;
        ELSE
            BEGIN
                DECLARE CONTINUE HANDLER FOR SQLSTATE '23505' SET v_changed = 0;
                SET v_changed = 1;
                INSERT INTO appl_lock (
                    object_type,
                    object_id,
                    operator_id,
                    department_id,
                    fence,
                    acquired_ts,
                    lock_ts,
                    expires_ts,
                    note,
                    history_fl
                )
                VALUES (
                    v_object_type,
                    v_object_id,
                    v_operator_id,
                    v_department_id,
                    v_fence,
                    v_acquired_ts,
                    v_lock_ts,
                    v_expires_ts,
                    '',
                    v_history_fl
                );
            END;
        END IF;
        IF v_changed = 1 THEN
            -- A release puts lock_ts behind expires_ts: this lock has just expired.
            SET v_event = '';
            IF v_outcome = 'ACQUIRED' AND v_rows = 1 AND v_old_operator_id <> v_operator_id AND v_old_lock_ts < v_old_expires_ts THEN
                SET v_event = 'OVERTAKEN';
            ELSEIF v_history_fl = 'Y' THEN
                SET v_event = v_outcome;
                SET v_department_id = COALESCE(v_department_id, v_old_department_id);
                SET v_old_department_id = v_department_id;
                IF v_outcome = 'ACQUIRED' THEN
                    SET v_old_operator_id = '';
                    SET v_old_department_id = '';
                    SET v_old_fence = 0;
                END IF;
            END IF;
            IF v_event <> '' THEN
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
                    v_event,
                    v_operator_id,
                    SESSION_USER,
                    '',
                    v_old_operator_id,
                    v_old_department_id,
                    v_operator_id,
                    v_department_id,
                    v_old_fence,
                    v_fence,
                    ''
                );
            END IF;
            SET p_lock_fl = 'Y';
            SET p_outcome = v_outcome;
            SET p_fence = v_fence;
            SET p_expires_ts = v_expires_ts;
            SET p_note = v_old_note;
            SET p_seconds_left = v_ttl_seconds;
            LEAVE main;
        END IF;
    END WHILE;
    SIGNAL SQLSTATE 'LK003' SET MESSAGE_TEXT = 'get_appl_lock: changed hands during the call; call again';
END main
@

CREATE OR REPLACE PROCEDURE get_appl_lock_row (
    IN p_object_type VARCHAR(4000),
    IN p_object_id VARCHAR(4000),
    IN p_operator_id VARCHAR(4000),
    IN p_department_id VARCHAR(4000),
    IN p_ttl_seconds BIGINT
)
SPECIFIC get_appl_lock_row
DYNAMIC RESULT SETS 1
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
BEGIN
    DECLARE v_lock_fl CHAR(1);
    DECLARE v_outcome VARCHAR(11);
    DECLARE v_old_operator_id VARCHAR(256);
    DECLARE v_old_department_id VARCHAR(256);
    DECLARE v_fence BIGINT;
    DECLARE v_expires_ts TIMESTAMP;
    DECLARE v_seconds_left BIGINT;
    DECLARE v_note VARCHAR(1020);
    CALL get_appl_lock(
        p_object_type, p_object_id, p_operator_id, p_department_id, p_ttl_seconds,
        v_lock_fl, v_outcome, v_old_operator_id, v_old_department_id, v_fence, v_expires_ts,
        v_seconds_left, v_note
    );
    BEGIN
        DECLARE answer CURSOR WITH RETURN FOR
            SELECT
                v_lock_fl AS p_lock_fl,
                v_outcome AS p_outcome,
                v_old_operator_id AS p_old_operator_id,
                v_old_department_id AS p_old_department_id,
                v_fence AS p_fence,
                v_expires_ts AS p_expires_ts,
                v_seconds_left AS p_seconds_left,
                v_note AS p_note
            FROM SYSIBM.SYSDUMMY1;
        OPEN answer;
    END;
END
@

COMMENT ON SPECIFIC PROCEDURE get_appl_lock IS 'Take or renew the lock on an object for one operator until it expires.'
@

COMMENT ON SPECIFIC PROCEDURE get_appl_lock_row IS 'Take or renew the lock on an object for one operator until it expires; the answer is one row.'
@
