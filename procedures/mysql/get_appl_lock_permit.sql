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
--            p_operator_id 1..255; p_department_id 0..64; p_ttl_seconds 1..315360000. NULL of the last two = as the
--            grant has it in a renewal; in a new grant an empty department and the policy's ttl, else 604800 (7 days). Trailing
--            blanks are trimmed first. LONGTEXT, so that length is checked here.
-- Out        outcome, slot_id, operator_id, department_id, fence, acquired_ts, expires_ts, seconds_left (whole seconds from
--            now to expires_ts, rounded up), note. Of a slot that has become free the texts are empty, the numbers 0 and the
--            times NULL.
-- Raises     LK001 invalid argument. LK003, 1205 and 1213 as get_appl_lock.
-- Locks      S1 and S3 are plain reads, so FULL answers without locking or waiting. S2 is get_appl_lock for one slot, with its
--            locks.
-- Race-free  Never more than N: S1 grants nothing. Each grant is one of get_appl_lock on one of N rows.
--            Two for the last slot: get_appl_lock lets one have it. The other looks again, for slots that it has not
--            tried; so it ends after N rounds at the most, whatever the others do.
--            Release of a slot during a round: S1 is a new snapshot each time. A slot that was tried is not tried again: it
--            was held when it was tried.
--            The same operator twice at once: both begin with the same slot, for which the second waits and renews it.
--            Only where that slot changes hands between the two S1 may each get a slot of its own; later calls renew one of
--            them.
-- Differs    Call it outside of transactions, or at READ COMMITTED. In a transaction a slot that S2 finds held stays locked
--            until the transaction ends, as in get_appl_lock. At REPEATABLE READ S1 and S3 see the transaction's snapshot,
--            which S1 may fix. Then the caller's reads are older than its grant, and a slot that is held by now may look free.

DELIMITER $$

CREATE PROCEDURE get_appl_lock_permit_core(...)
MODIFIES SQL DATA
SQL SECURITY DEFINER
main: BEGIN
    DECLARE v_slots JSON;
    DECLARE v_first BIGINT;
    DECLARE v_tried LONGTEXT DEFAULT ',';
    DECLARE v_now DATETIME(6);
    DECLARE v_slot BIGINT;
    DECLARE v_own_department_id VARCHAR(64);
    DECLARE v_ok_fl CHAR(1);
    DECLARE v_outcome VARCHAR(11);
    DECLARE v_old_operator_id VARCHAR(255);
    DECLARE v_old_department_id VARCHAR(64);
    DECLARE v_fence BIGINT;
    DECLARE v_acquired_ts DATETIME(6);
    DECLARE v_expires_ts DATETIME(6);
    DECLARE v_seconds_left BIGINT;
    DECLARE v_note VARCHAR(255);
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
    -- 1422: a function or trigger.
    DECLARE CONTINUE HANDLER FOR 1422 CALL appl_lock_inside();

    CALL appl_lock_text('get_appl_lock_permit', 'p_object_type', 'Y', 1, 64, p_object_type);
    CALL appl_lock_number('get_appl_lock_permit', 'p_permits', 1000, COALESCE(p_permits, 0));
    CALL appl_lock_text('get_appl_lock_permit', 'p_object_id', 'Y', 1, 254 - CHAR_LENGTH(p_permits), p_object_id);
    CALL appl_lock_text('get_appl_lock_permit', 'p_operator_id', 'Y', 1, 255, p_operator_id);
    CALL appl_lock_text('get_appl_lock_permit', 'p_department_id', 'Y', 0, 64, p_department_id);
    CALL appl_lock_number('get_appl_lock_permit', 'p_ttl_seconds', 315360000, p_ttl_seconds);
    -- S1 asks by the server's time, too, and in no transaction that a killed call has left.
    SET SESSION timestamp = DEFAULT;
    IF @appl_lock_own IS NOT NULL THEN
        CALL appl_lock_enter();
    END IF;

    -- A list of N, which JSON_TABLE numbers.
    SET v_slots = CONCAT('[0', REPEAT(',0', p_permits - 1), ']');
    SET v_first = CRC32(p_operator_id) MOD p_permits;
    slots: LOOP
        -- S1: the operator's own slot, or else the next free one.
        SET v_slot = NULL;
        SET v_now = UTC_TIMESTAMP(6);
        SELECT s.slot, l.department_id
        INTO v_slot, v_own_department_id
        FROM JSON_TABLE(v_slots, '$[*]' COLUMNS (slot FOR ORDINALITY)) AS s
        LEFT JOIN appl_lock AS l FORCE INDEX (PRIMARY)
            ON l.object_type = p_object_type
            AND l.object_id = CONCAT(p_object_id, '#', s.slot)
            AND l.released_ts IS NULL
            AND l.expires_ts > v_now
        WHERE (l.operator_id IS NULL OR l.operator_id = p_operator_id)
            AND LOCATE(CONCAT(',', s.slot, ','), v_tried) = 0
        ORDER BY l.operator_id IS NULL, MOD(s.slot - v_first + p_permits, p_permits)
        LIMIT 1;
        IF v_slot IS NULL THEN
            LEAVE slots;
        END IF;

        -- S2: get it.
        CALL get_appl_lock_core(
            p_object_type, CONCAT(p_object_id, '#', v_slot), p_operator_id, p_department_id, p_ttl_seconds, NULL,
            v_ok_fl, v_outcome, v_old_operator_id, v_old_department_id, v_fence, v_acquired_ts, v_expires_ts,
            v_seconds_left, v_note
        );
        IF v_ok_fl = 'Y' THEN
            SELECT
                v_outcome AS outcome,
                CAST(CONCAT(p_object_id, '#', v_slot) AS CHAR(255)) AS slot_id,
                CAST(p_operator_id AS CHAR(255)) AS operator_id,
                CAST(
                    COALESCE(p_department_id, IF(v_outcome = 'RENEWED', v_own_department_id, NULL), '') AS CHAR(64)
                ) AS department_id,
                v_fence AS fence,
                v_acquired_ts AS acquired_ts,
                v_expires_ts AS expires_ts,
                v_seconds_left AS seconds_left,
                v_note AS note;
            LEAVE main;
        END IF;
        SET v_tried = CONCAT(v_tried, v_slot, ',');
    END LOOP slots;

    -- S3: who holds them?
    SET v_now = UTC_TIMESTAMP(6);
    SELECT
        'FULL' AS outcome,
        CAST(CONCAT(p_object_id, '#', s.slot) AS CHAR(255)) AS slot_id,
        COALESCE(l.operator_id, '') AS operator_id,
        COALESCE(l.department_id, '') AS department_id,
        COALESCE(l.fence, 0) AS fence,
        l.acquired_ts,
        l.expires_ts,
        COALESCE((TIMESTAMPDIFF(MICROSECOND, v_now, l.expires_ts) + 999999) DIV 1000000, 0) AS seconds_left,
        COALESCE(l.note, '') AS note
    FROM JSON_TABLE(v_slots, '$[*]' COLUMNS (slot FOR ORDINALITY)) AS s
    LEFT JOIN appl_lock AS l FORCE INDEX (PRIMARY)
        ON l.object_type = p_object_type
        AND l.object_id = CONCAT(p_object_id, '#', s.slot)
        AND l.released_ts IS NULL
        AND l.expires_ts > v_now
    ORDER BY l.expires_ts, s.slot;
END$$

DELIMITER ;
