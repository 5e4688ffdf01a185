-- transfer_appl_locks: hand over what an operator holds, all or of a type, page by page.
--
-- Contract   A page is at most p_max_rows live locks of p_from whose key is greater than (p_after_type, p_after_id), with a row for
--            each. The next page starts after the last row of this one; a page shorter than p_max_rows is the last.
--            TRANSFERRED: a new grant of p_to, and an event of the history, as transfer_appl_lock has it.
--            BUSY: another transaction has locked the object's row. HELD or FREE: it has changed hands since the page
--            was read; old_* and expires_ts tell who holds it. These are left as they are, and the next ones are done.
--            WOULD_TRANSFER: p_dry_run_fl is Y, and nothing is done. It does not tell what is busy.
-- In         p_from_operator_id and p_to_operator_id 1..64, may be equal; p_object_type 1..64 without ":", NULL = any;
--            p_to_department_id 0..64, NULL = empty; p_ttl_seconds 1..315360000, NULL = that of each grant that ends;
--            p_actor_id 1..64, NULL = p_from_operator_id; p_reason 0..255, NULL = empty; p_after_type 0..64, p_after_id 0..255,
--            NULL = from the start; p_max_rows 1..10000, NULL = 1000; p_dry_run_fl Y or N, NULL or empty = N. Trailing blanks
--            are trimmed first. LONGTEXT, so that length is checked here.
-- Out        object_type, object_id, outcome, old_operator_id, old_department_id (empty unless HELD), fence (of the new grant;
--            of the old one when BUSY or WOULD_TRANSFER; 0 when HELD or FREE), expires_ts (NULL when FREE), seconds_left
--            (whole seconds from when the row was done, rounded up), ordered by object_type, object_id as bytes.
-- Raises     LK001 invalid argument: nothing is done. 1205, 1213 as transfer_appl_lock, and LK003 also when an upgrade is
--            replacing the routine: then the page is undone, unless the caller has a transaction, who is to roll it back.
-- Locks      S1 is a plain read, as list_appl_locks. S2 locks one row after the other in the order of the keys, and waits for
--            none; S3 is transfer_appl_lock on that row. All are held to the end of the caller's transaction, or of the page's.
-- Race-free  Against get, release, take-over or another transfer: S3 decides, as it does alone, on a row that S2 has locked and
--            nobody changes any more. What was got after S1 is not in the page.
--            Two at once: one finds the other's rows BUSY, or HELD by p_to, and neither waits.
--            Begun again after a page: nothing is done twice, because what is done is not p_from's any more.
--            Under autocommit S2 and S3 of all rows are one transaction of the call's own, which S1 is no part of.
-- Differs    A get that is refused locks the row for a moment: then it is BUSY. In a transaction at REPEATABLE READ S1 sees the
--            transaction's snapshot, which S1 fixes if nothing has before: what is not p_from's any more is HELD or FREE.
--            At SERIALIZABLE it locks what it reads there, and waits for others, as every plain read does.

DELIMITER $$

CREATE PROCEDURE transfer_appl_locks_core(
    IN p_from_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_to_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_to_department_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_ttl_seconds BIGINT,
    IN p_actor_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_reason LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_after_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_after_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_max_rows BIGINT,
    IN p_dry_run_fl LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
COMMENT 'Internal to applock: the operation transfer_appl_locks.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_from_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_from_operator_id, ''));
    DECLARE v_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_object_type, ''));
    DECLARE v_to_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_to_operator_id, ''));
    DECLARE v_to_department_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_to_department_id, ''));
    DECLARE v_actor_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_actor_id, v_from_operator_id));
    DECLARE v_reason LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_reason, ''));
    DECLARE v_after_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_after_type, ''));
    DECLARE v_after_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_after_id, ''));
    DECLARE v_dry_run_fl LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_dry_run_fl, ''));
    DECLARE v_max_rows BIGINT DEFAULT COALESCE(p_max_rows, 1000);
    DECLARE v_began BOOLEAN DEFAULT FALSE;
    DECLARE v_at_end BOOLEAN DEFAULT FALSE;
    DECLARE v_now DATETIME(6);
    DECLARE v_row_type VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_row_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_return_cd CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_outcome VARCHAR(16) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_old_operator_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_old_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_fence BIGINT;
    DECLARE v_expires_ts DATETIME(6);
    DECLARE v_seconds_left BIGINT;
    DECLARE v_told LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT '';
    DECLARE page CURSOR FOR
        SELECT l.object_type, l.object_id, l.fence, l.expires_ts
        FROM appl_lock AS l
        WHERE (l.object_type > v_after_type OR (l.object_type = v_after_type AND l.object_id > v_after_id))
            AND (p_object_type IS NULL OR l.object_type = v_object_type)
            AND l.operator_id = v_from_operator_id
            AND l.expires_ts > v_now
        ORDER BY l.object_type, l.object_id
        LIMIT v_max_rows;
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_at_end = TRUE;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        IF v_began THEN
            CALL appl_lock_end(FALSE);
        END IF;
        RESIGNAL;
    END;

    IF CHAR_LENGTH(v_from_operator_id) NOT BETWEEN 1 AND 64 THEN
        CALL appl_lock_refuse_text('transfer_appl_locks', 'p_from_operator_id', CHAR_LENGTH(v_from_operator_id), 64);
    ELSEIF p_object_type IS NOT NULL AND CHAR_LENGTH(v_object_type) NOT BETWEEN 1 AND 64
        OR LOCATE(':', v_object_type) > 0 THEN
        CALL appl_lock_refuse_text('transfer_appl_locks', 'p_object_type', CHAR_LENGTH(v_object_type), 64);
    ELSEIF CHAR_LENGTH(v_to_operator_id) NOT BETWEEN 1 AND 64 THEN
        CALL appl_lock_refuse_text('transfer_appl_locks', 'p_to_operator_id', CHAR_LENGTH(v_to_operator_id), 64);
    ELSEIF CHAR_LENGTH(v_to_department_id) > 64 THEN
        CALL appl_lock_refuse_text('transfer_appl_locks', 'p_to_department_id', CHAR_LENGTH(v_to_department_id), 64);
    ELSEIF p_ttl_seconds NOT BETWEEN 1 AND 315360000 THEN
        CALL appl_lock_refuse_number('transfer_appl_locks', 'p_ttl_seconds', 315360000);
    ELSEIF CHAR_LENGTH(v_actor_id) NOT BETWEEN 1 AND 64 THEN
        CALL appl_lock_refuse_text('transfer_appl_locks', 'p_actor_id', CHAR_LENGTH(v_actor_id), 64);
    ELSEIF CHAR_LENGTH(v_reason) > 255 THEN
        CALL appl_lock_refuse_text('transfer_appl_locks', 'p_reason', CHAR_LENGTH(v_reason), 255);
    ELSEIF CHAR_LENGTH(v_after_type) > 64 THEN
        CALL appl_lock_refuse_text('transfer_appl_locks', 'p_after_type', CHAR_LENGTH(v_after_type), 64);
    ELSEIF CHAR_LENGTH(v_after_id) > 255 THEN
        CALL appl_lock_refuse_text('transfer_appl_locks', 'p_after_id', CHAR_LENGTH(v_after_id), 255);
    ELSEIF v_max_rows NOT BETWEEN 1 AND 10000 THEN
        CALL appl_lock_refuse_number('transfer_appl_locks', 'p_max_rows', 10000);
    ELSEIF v_dry_run_fl NOT IN ('Y', 'N', '') THEN
        SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT = 'transfer_appl_locks: p_dry_run_fl must be Y or N';
    END IF;

    -- S1: the page. The cursor has all of it before the first lock changes, and outside of the transaction of S2 and S3.
    SET v_now = UTC_TIMESTAMP(6);
    OPEN page;
    IF v_dry_run_fl <> 'Y' THEN
        CALL appl_lock_begin(v_began);
    END IF;
    locks: LOOP
        FETCH page INTO v_row_type, v_row_id, v_fence, v_expires_ts;
        IF v_at_end THEN
            LEAVE locks;
        END IF;
        SET v_outcome = 'WOULD_TRANSFER';
        SET v_old_operator_id = '';
        SET v_old_department_id = '';
        IF v_dry_run_fl <> 'Y' THEN
            -- S2: is the row at hand, and what grant does it have?
            SET v_outcome = '';
            SELECT l.fence, l.expires_ts
            INTO v_fence, v_expires_ts
            FROM appl_lock AS l
            WHERE l.object_type = v_row_type
                AND l.object_id = v_row_id
            FOR UPDATE SKIP LOCKED;
            IF v_at_end THEN
                SET v_outcome = 'BUSY';
                SET v_at_end = FALSE;
            END IF;
        END IF;
        SET v_now = UTC_TIMESTAMP(6);
        SET v_seconds_left = GREATEST((TIMESTAMPDIFF(MICROSECOND, v_now, v_expires_ts) + 999999) DIV 1000000, 1);
        IF v_outcome = '' THEN
            -- S3: hand it over.
            CALL transfer_appl_lock_core(
                v_row_type, v_row_id, v_from_operator_id, v_to_operator_id, v_to_department_id, p_ttl_seconds,
                v_actor_id, v_reason,
                v_return_cd, v_outcome, v_old_operator_id, v_old_department_id, v_fence, v_expires_ts, v_seconds_left
            );
        END IF;
        SET v_told = CONCAT(v_told, IF(v_told = '', '[', ','), JSON_ARRAY(
            v_row_type, v_row_id, v_outcome, v_old_operator_id, v_old_department_id, v_fence, v_expires_ts, v_seconds_left
        ));
    END LOOP locks;
    CLOSE page;
    -- What is longer than max_allowed_packet is NULL, and nothing must be done that is not told.
    IF v_told IS NULL THEN
        SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT = 'transfer_appl_locks: p_max_rows is too much for max_allowed_packet';
    END IF;
    IF v_began THEN
        CALL appl_lock_end(TRUE);
    END IF;

    SELECT
        t.object_type,
        t.object_id,
        t.outcome,
        t.old_operator_id,
        t.old_department_id,
        t.fence,
        t.expires_ts,
        t.seconds_left
    FROM JSON_TABLE(IF(v_told = '', '[]', CONCAT(v_told, ']')), '$[*]' COLUMNS (
        place FOR ORDINALITY,
        object_type VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$[0]',
        object_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$[1]',
        outcome VARCHAR(16) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$[2]',
        old_operator_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$[3]',
        old_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$[4]',
        fence BIGINT PATH '$[5]',
        expires_ts DATETIME(6) PATH '$[6]',
        seconds_left BIGINT PATH '$[7]'
    )) AS t
    ORDER BY t.place;
END$$

CREATE PROCEDURE transfer_appl_locks(
    IN p_from_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_to_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_to_department_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_ttl_seconds BIGINT,
    IN p_actor_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_reason LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_after_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_after_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_max_rows BIGINT,
    IN p_dry_run_fl LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
COMMENT 'Hand over what an operator holds, all or of a type, page by page.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE EXIT HANDLER FOR 1305
        SIGNAL SQLSTATE 'LK003' SET
            MESSAGE_TEXT = 'transfer_appl_locks: is being replaced; call again, or install it again if that lasts';
    CALL transfer_appl_locks_core(
        p_from_operator_id, p_object_type, p_to_operator_id, p_to_department_id, p_ttl_seconds, p_actor_id, p_reason,
        p_after_type, p_after_id, p_max_rows, p_dry_run_fl
    );
END$$

DELIMITER ;
