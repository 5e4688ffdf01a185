-- get_appl_lock_permit: take or renew one of the N permits of an object for one operator until it expires.
--
-- Contract   The permits are slots: the objects p_object_id#1 to p_object_id#N of the type, N being p_permits. A slot is an
--            object like any other: release, inquire, transfer, assert and the rest take its id.
--            ACQUIRED: a slot was free or had expired; a new grant, a greater fence. RENEWED: this operator holds a
--            slot; same grant and fence. One row tells the slot.
--            FULL: each slot was held by somebody else when the call looked at it. One row for each, the
--            soonest to expire first; one that has become free since comes first, without a holder: call again.
--            Lowering the number frees nothing. A slot above N is neither granted, renewed nor counted: it stays with its
--            holder until released or expired. Such a holder may get another slot within N.
-- In         p_object_type 1..64 characters without ":"; p_object_id 1 or more, with "#N" 255 at the most; p_permits 1..1000;
--            p_operator_id 1..255; p_department_id 0..64, NULL = as it is in a renewal, empty in a new grant;
--            p_ttl_seconds 1..315360000, NULL = the grant's in a renewal, in a new grant the policy's, else 604800.
--            Trailing blanks are trimmed first. VARCHAR(4000), so that length is checked here.
-- Out        A result set: outcome, slot_id, operator_id, department_id, fence, acquired_ts and expires_ts (UTC),
--            seconds_left (from now to expires_ts, rounded up), note. Of a slot that has become free the texts are empty, the
--            numbers 0 and the times NULL.
-- Raises     LK001 invalid argument. LK003, -911 and -913 as get_appl_lock.
-- Locks      S1 and S3 read committed rows without waiting (cur_commit, the default), so FULL locks nothing. S2 is
--            get_appl_lock for one slot, with its locks.
-- Race-free  Never more than N: S1 grants nothing. Each grant is one of get_appl_lock on one of N rows.
--            Two for the last slot: get_appl_lock lets one have it. The other looks again, for slots that it has not
--            tried; so it ends after N rounds at the most, whatever the others do.
--            Release of a slot during a round: S1 reads anew each time. A slot that was tried is not tried again: it was
--            held when it was tried.
--            The same operator twice at once: both begin with the same slot, for which the second waits and renews it.
--            Only where that slot changes hands between the two S1 may each get a slot of its own; later calls renew one of
--            them.
-- Differs    S1 is a SELECT for each slot, since Db2 has no list of numbers that a SELECT INTO can begin with.

--#SET TERMINATOR @

CREATE OR REPLACE PROCEDURE get_appl_lock_permit (...)
SPECIFIC get_appl_lock_permit
DYNAMIC RESULT SETS 1
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
BEGIN
    DECLARE v_object_type, v_object_id, v_operator_id, v_department_id, v_chosen_id VARCHAR(4000);
    DECLARE v_count, v_length, v_first, v_at, v_slot, v_free, v_chosen INTEGER DEFAULT 0;
    DECLARE v_tried VARCHAR(8000) DEFAULT '#';
    DECLARE v_rows INTEGER DEFAULT 0;
    DECLARE v_now, v_live_expires_ts, v_live_released_ts TIMESTAMP;
    DECLARE v_live_operator_id, v_live_department_id, v_own_department_id VARCHAR(256);
    DECLARE v_ok_fl CHAR(1) DEFAULT 'N';
    DECLARE v_outcome VARCHAR(11);
    DECLARE v_old_operator_id, v_old_department_id VARCHAR(256);
    DECLARE v_fence, v_seconds_left BIGINT;
    DECLARE v_acquired_ts, v_expires_ts TIMESTAMP;
    DECLARE v_note VARCHAR(1020);

    SET v_object_type = RTRIM(COALESCE(p_object_type, ''));
    SET v_object_id = RTRIM(COALESCE(p_object_id, ''));
    SET v_operator_id = RTRIM(COALESCE(p_operator_id, ''));
    SET v_department_id = RTRIM(p_department_id);
    SET v_length = CASE WHEN p_permits < 10 THEN 253 WHEN p_permits < 100 THEN 252 WHEN p_permits < 1000 THEN 251 ELSE 250 END;
    IF CHARACTER_LENGTH(v_object_type, CODEUNITS32) NOT BETWEEN 1 AND 64 OR LOCATE(':', v_object_type) > 0 THEN
        CALL appl_lock_refuse_text('get_appl_lock_permit', 'p_object_type', CHARACTER_LENGTH(v_object_type, CODEUNITS32), 64);
    ELSEIF COALESCE(p_permits, 0) NOT BETWEEN 1 AND 1000 THEN
        CALL appl_lock_refuse_number('get_appl_lock_permit', 'p_permits', 1000);
    ELSEIF CHARACTER_LENGTH(v_object_id, CODEUNITS32) NOT BETWEEN 1 AND v_length THEN
        CALL appl_lock_refuse_text('get_appl_lock_permit', 'p_object_id', CHARACTER_LENGTH(v_object_id, CODEUNITS32), v_length);
    ELSEIF CHARACTER_LENGTH(v_operator_id, OCTETS) NOT BETWEEN 1 AND 255 THEN
        CALL appl_lock_refuse_text('get_appl_lock_permit', 'p_operator_id', CHARACTER_LENGTH(v_operator_id, OCTETS), 255);
    ELSEIF CHARACTER_LENGTH(v_department_id, CODEUNITS32) > 64 THEN
        CALL appl_lock_refuse_text('get_appl_lock_permit', 'p_department_id', CHARACTER_LENGTH(v_department_id, CODEUNITS32), 64);
    ELSEIF p_ttl_seconds NOT BETWEEN 1 AND 315360000 THEN
        CALL appl_lock_refuse_number('get_appl_lock_permit', 'p_ttl_seconds', 315360000);
    END IF;
    IF NOT_PLAIN(v_object_type || v_object_id || v_operator_id || COALESCE(v_department_id, '')) THEN
        CALL appl_lock_check_text('get_appl_lock_permit', 'p_object_type', v_object_type);
        CALL appl_lock_check_text('get_appl_lock_permit', 'p_object_id', v_object_id);
        CALL appl_lock_check_text('get_appl_lock_permit', 'p_operator_id', v_operator_id);
        CALL appl_lock_check_text('get_appl_lock_permit', 'p_department_id', v_department_id);
    END IF;

    -- Each operator begins with a slot of its own, as far as there are enough.
    SET v_count = p_permits;
    WHILE v_at < CHARACTER_LENGTH(v_operator_id, OCTETS) DO
        SET v_at = v_at + 1;
        SET v_first = MOD(v_first * 31 + LOCATE(
            SUBSTRING(v_operator_id, v_at, 1, CODEUNITS32),
            '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ' || 'abcdefghijklmnopqrstuvwxyz'
        ), v_count);
    END WHILE;

    rounds: WHILE v_ok_fl = 'N' DO
        -- S1: the operator's own slot, or else the next free one. The aggregates always return one row.
        SET v_at = 0;
        SET v_free = 0;
        SET v_chosen = 0;
        slots: WHILE v_at < v_count DO
            SET v_slot = MOD(v_first + v_at, v_count) + 1;
            SET v_at = v_at + 1;
            SET v_chosen_id = v_object_id || '#' || CAST(v_slot AS VARCHAR(4));
            IF LOCATE('#' || CAST(v_slot AS VARCHAR(4)) || '#', v_tried) = 0 THEN
                SELECT COUNT(*), MAX(l.operator_id), MAX(l.department_id), MAX(l.expires_ts), MAX(l.released_ts)
                INTO v_rows, v_live_operator_id, v_live_department_id, v_live_expires_ts, v_live_released_ts
                FROM appl_lock AS l
                WHERE l.object_type = v_object_type
                    AND l.object_id = v_chosen_id
                WITH CS;
                SET v_now = CURRENT TIMESTAMP - CURRENT TIMEZONE;
                IF v_rows = 0 OR v_live_released_ts IS NOT NULL OR v_live_expires_ts <= v_now THEN
                    IF v_free = 0 THEN
                        SET v_free = v_slot;
                    END IF;
                ELSEIF v_live_operator_id = v_operator_id THEN
                    SET v_chosen = v_slot;
                    SET v_own_department_id = v_live_department_id;
                    LEAVE slots;
                END IF;
            END IF;
        END WHILE slots;
        IF v_chosen = 0 THEN
            SET v_chosen = v_free;
        END IF;
        IF v_chosen = 0 THEN
            LEAVE rounds;
        END IF;

        -- S2: get it.
        SET v_chosen_id = v_object_id || '#' || CAST(v_chosen AS VARCHAR(4));
        CALL get_appl_lock(
            v_object_type, v_chosen_id, v_operator_id, v_department_id, p_ttl_seconds, NULL,
            v_ok_fl, v_outcome, v_old_operator_id, v_old_department_id, v_fence, v_acquired_ts, v_expires_ts,
            v_seconds_left, v_note
        );
        SET v_tried = v_tried || CAST(v_chosen AS VARCHAR(4)) || '#';
    END WHILE rounds;

    IF v_ok_fl = 'Y' THEN
        BEGIN
            DECLARE granted CURSOR WITH RETURN FOR
                SELECT
                    v_outcome AS outcome,
                    v_chosen_id AS slot_id,
                    v_operator_id AS operator_id,
                    COALESCE(v_department_id, CASE WHEN v_outcome = 'RENEWED' THEN v_own_department_id END, '') AS department_id,
                    v_fence AS fence,
                    v_acquired_ts AS acquired_ts,
                    v_expires_ts AS expires_ts,
                    v_seconds_left AS seconds_left,
                    v_note AS note
                FROM SYSIBM.SYSDUMMY1;
            OPEN granted;
        END;
    ELSE
        -- S3: who holds them?
        BEGIN
            DECLARE answer CURSOR WITH RETURN FOR
                WITH told (place, slot_id) AS (
                    SELECT p.n + 1, CAST(v_object_id || '#' || CAST(p.n + 1 AS VARCHAR(4)) AS VARCHAR(1020))
                    FROM appl_lock_number AS p
                    WHERE p.thousand = 0
                        AND p.n < v_count
                )
                SELECT
                    CAST('FULL' AS VARCHAR(11)) AS outcome,
                    t.slot_id,
                    COALESCE(l.operator_id, '') AS operator_id,
                    COALESCE(l.department_id, '') AS department_id,
                    COALESCE(l.fence, 0) AS fence,
                    l.acquired_ts,
                    l.expires_ts,
                    CASE WHEN l.expires_ts > v_now THEN SECONDS_UP(v_now, l.expires_ts) ELSE 0 END AS seconds_left,
                    COALESCE(l.note, '') AS note
                FROM told AS t
                LEFT OUTER JOIN appl_lock AS l
                    ON l.object_type = v_object_type
                    AND l.object_id = t.slot_id
                    AND l.released_ts IS NULL
                    AND l.expires_ts > v_now
                ORDER BY seconds_left, t.place
                WITH CS;
            OPEN answer;
        END;
    END IF;
END
@
