-- appl_lock_move_page: hand over or release a page of what an operator holds, for transfer_appl_locks and release_appl_locks. Internal:
-- nobody is granted it.
--
-- Contract   As transfer_appl_locks and release_appl_locks, which name themselves in p_routine.
-- In         As the operations; their arguments are checked here.
-- Out        As the operations.
-- Raises     As the operations.
-- Locks      The objects' rows, to the end of the transaction, and their policies' for reading.
-- Race-free  S1 is a plain read. S2 locks one row after the other and waits for none. S3 is the operation on one object, whose
--            row S2 has locked. All of a page is one transaction: the caller's, or one of the call's own.
-- Differs    No 40001: InnoDB judges the newest row.

DELIMITER $$

CREATE PROCEDURE appl_lock_move_page(
    IN p_routine VARCHAR(64),
    IN p_from_operator_id LONGTEXT,
    IN p_object_type LONGTEXT,
    IN p_to_operator_id LONGTEXT,
    IN p_to_department_id LONGTEXT,
    IN p_ttl_seconds BIGINT,
    IN p_actor_id LONGTEXT,
    IN p_reason LONGTEXT,
    IN p_after_type LONGTEXT,
    IN p_after_id LONGTEXT,
    IN p_max_rows BIGINT,
    IN p_dry_run_fl LONGTEXT
)
COMMENT 'Internal to applock: hands over or releases a page of the locks of an operator.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_release BOOLEAN DEFAULT p_routine = 'release_appl_locks';
    DECLARE v_message VARCHAR(128);
    DECLARE v_max_rows BIGINT DEFAULT COALESCE(p_max_rows, 1000);
    DECLARE v_began BOOLEAN DEFAULT FALSE;
    DECLARE v_at_end BOOLEAN DEFAULT FALSE;
    DECLARE v_free BOOLEAN;
    DECLARE v_now DATETIME(6);
    DECLARE v_row_type VARCHAR(64);
    DECLARE v_row_id VARCHAR(255);
    DECLARE v_ok_fl CHAR(1);
    DECLARE v_outcome VARCHAR(16);
    DECLARE v_old_operator_id VARCHAR(255);
    DECLARE v_old_department_id VARCHAR(64);
    DECLARE v_fence BIGINT;
    DECLARE v_acquired_ts DATETIME(6);
    DECLARE v_expires_ts DATETIME(6);
    DECLARE v_seconds_left BIGINT;
    DECLARE v_rows INT DEFAULT 0;
    DECLARE v_part LONGTEXT DEFAULT '';
    DECLARE v_told LONGTEXT DEFAULT '';
    DECLARE page CURSOR FOR
        SELECT l.object_type, l.object_id, l.fence, l.expires_ts
        FROM appl_lock AS l
        WHERE (l.object_type > p_after_type OR (l.object_type = p_after_type AND l.object_id > p_after_id))
            AND (p_object_type IS NULL OR l.object_type = p_object_type)
            AND l.operator_id = p_from_operator_id
            AND l.released_ts IS NULL
            AND l.expires_ts > v_now
        ORDER BY l.object_type, l.object_id
        LIMIT v_max_rows;
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_at_end = TRUE;
    -- 1422: a function or trigger, which has a transaction.
    DECLARE CONTINUE HANDLER FOR 1422 CALL appl_lock_inside();
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        IF v_began THEN
            CALL appl_lock_end(FALSE);
        END IF;
        RESIGNAL;
    END;

    CALL appl_lock_text(p_routine, IF(v_release, 'p_operator_id', 'p_from_operator_id'), 'Y', 1, 255, p_from_operator_id);
    IF p_object_type IS NOT NULL THEN
        CALL appl_lock_text(p_routine, 'p_object_type', 'Y', 1, 64, p_object_type);
    END IF;
    IF v_release THEN
        SET p_actor_id = COALESCE(p_actor_id, p_from_operator_id);
    ELSE
        CALL appl_lock_text(p_routine, 'p_to_operator_id', 'Y', 1, 255, p_to_operator_id);
        IF p_to_operator_id = p_from_operator_id THEN
            SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT = 'transfer_appl_locks: p_to_operator_id must be another one';
        END IF;
        SET p_to_department_id = COALESCE(p_to_department_id, '');
        CALL appl_lock_text(p_routine, 'p_to_department_id', 'Y', 0, 64, p_to_department_id);
        CALL appl_lock_number(p_routine, 'p_ttl_seconds', 315360000, p_ttl_seconds);
    END IF;
    CALL appl_lock_text(p_routine, 'p_actor_id', 'Y', IF(p_actor_id IS NULL, 0, 1), 255, p_actor_id);
    SET p_reason = COALESCE(p_reason, '');
    SET p_after_type = COALESCE(p_after_type, '');
    SET p_after_id = COALESCE(p_after_id, '');
    CALL appl_lock_text(p_routine, 'p_reason', 'N', 0, 255, p_reason);
    CALL appl_lock_text(p_routine, 'p_after_type', 'N', 0, 64, p_after_type);
    CALL appl_lock_text(p_routine, 'p_after_id', 'N', 0, 255, p_after_id);
    CALL appl_lock_number(p_routine, 'p_max_rows', 10000, v_max_rows);
    IF p_dry_run_fl NOT IN ('Y', 'N', '') THEN
        SET v_message = CONCAT(p_routine, ': p_dry_run_fl must be Y or N');
        SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT = v_message;
    END IF;

    CALL appl_lock_enter();
    -- S1: the page. The cursor has all of it before the first lock changes, and outside of the transaction of S2 and S3.
    SET v_now = UTC_TIMESTAMP(6);
    OPEN page;
    IF COALESCE(p_dry_run_fl, '') <> 'Y' THEN
        CALL appl_lock_begin(v_began);
    END IF;
    locks: LOOP
        FETCH page INTO v_row_type, v_row_id, v_fence, v_expires_ts;
        IF v_at_end THEN
            LEAVE locks;
        END IF;
        SET v_outcome = IF(v_release, 'WOULD_RELEASE', 'WOULD_TRANSFER');
        SET v_old_operator_id = '';
        SET v_old_department_id = '';
        IF COALESCE(p_dry_run_fl, '') <> 'Y' THEN
            -- S2: can the row be locked at once, and which grant does it have?
            SET v_free = FALSE;
            SELECT TRUE, l.fence, l.expires_ts
            INTO v_free, v_fence, v_expires_ts
            FROM appl_lock AS l
            WHERE l.object_type = v_row_type
                AND l.object_id = v_row_id
            FOR UPDATE SKIP LOCKED;
            -- A locked row has set it, too.
            SET v_at_end = FALSE;
            SET v_outcome = IF(v_free, '', 'BUSY');
        END IF;
        SET v_now = UTC_TIMESTAMP(6);
        SET v_seconds_left = GREATEST((TIMESTAMPDIFF(MICROSECOND, v_now, v_expires_ts) + 999999) DIV 1000000, 1);
        -- S3: end it, or hand it over.
        IF v_outcome = '' AND v_release THEN
            CALL appl_lock_release(
                v_row_type, v_row_id, p_from_operator_id, NULL, p_actor_id, p_reason,
                v_ok_fl, v_outcome, v_old_operator_id, v_old_department_id
            );
            SET v_fence = IF(v_outcome = 'RELEASED', v_fence, 0);
            SET v_expires_ts = IF(v_outcome = 'HELD', v_expires_ts, NULL);
            SET v_seconds_left = IF(v_outcome = 'HELD', v_seconds_left, 0);
        ELSEIF v_outcome = '' THEN
            CALL appl_lock_move(
                'TRANSFERRED', v_row_type, v_row_id, p_from_operator_id, NULL, p_to_operator_id, p_to_department_id, p_ttl_seconds,
                COALESCE(p_actor_id, ''), p_reason, NULL, NULL,
                v_ok_fl, v_outcome, v_old_operator_id, v_old_department_id, v_fence, v_acquired_ts, v_expires_ts,
                v_seconds_left
            );
        END IF;
        SET v_part = CONCAT(v_part, ',', JSON_ARRAY(
            v_row_type, v_row_id, v_outcome, v_old_operator_id, v_old_department_id, v_fence, v_expires_ts, v_seconds_left
        ));
        -- To append copies all that is there, so the long text grows a hundred rows at a time.
        SET v_rows = v_rows + 1;
        IF v_rows MOD 100 = 0 THEN
            SET v_told = CONCAT(v_told, v_part);
            SET v_part = '';
        END IF;
    END LOOP locks;
    CLOSE page;
    SET v_told = CONCAT('[', SUBSTR(CONCAT(v_told, v_part), 2), ']');
    -- An answer longer than max_allowed_packet is NULL. It cannot be returned, so the page is refused.
    IF v_told IS NULL THEN
        SET v_message = CONCAT(p_routine, ': p_max_rows is too much for max_allowed_packet');
        SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT = v_message;
    END IF;
    IF v_began THEN
        CALL appl_lock_end(TRUE);
    END IF;

    SELECT
        t.object_type, t.object_id, t.outcome, t.old_operator_id, t.old_department_id, t.fence, t.expires_ts, t.seconds_left
    FROM JSON_TABLE(v_told, '$[*]' COLUMNS (
        place FOR ORDINALITY,
        object_type VARCHAR(64) PATH '$[0]',
        object_id VARCHAR(255) PATH '$[1]',
        outcome VARCHAR(16) PATH '$[2]',
        old_operator_id VARCHAR(255) PATH '$[3]',
        old_department_id VARCHAR(64) PATH '$[4]',
        fence BIGINT PATH '$[5]',
        expires_ts DATETIME(6) PATH '$[6]',
        seconds_left BIGINT PATH '$[7]'
    )) AS t
    ORDER BY t.place;
END$$

DELIMITER ;
