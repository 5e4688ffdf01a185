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
--            get_appl_lock_rows: the row form for each of p_gets, one after the other in its order; in a transaction of the
--            caller's all or nothing is a rollback.
-- In         p_gets, a JSON array of 0 to 10000 gets such as {"object_type": "customer", "object_id": "42", "operator_id":
--            "JDOE", "department_id": "CS", "ttl_seconds": 60}; what is left out is NULL. Its types are checked at first.
--            p_object_type 1..64 characters without ":"; p_object_id 1..255; p_operator_id 1..64;
--            p_department_id 0..64; p_ttl_seconds 1..315360000. NULL = as the grant has it in a renewal; in a
--            new grant an empty department and the policy's ttl, else 604800 (7 days). The ttl that a grant has is expires_ts - lock_ts,
--            in whole seconds, rounded up, at least 1.
--            Trailing blanks are trimmed first. LONGTEXT, so that length is checked here.
-- Out        p_lock_fl, p_outcome, p_old_operator_id, p_old_department_id (empty unless HELD),
--            p_fence (0 when HELD), p_expires_ts, p_seconds_left (whole seconds from now to
--            p_expires_ts, rounded up), p_note (the holder's when HELD, the grant's own when RENEWED, empty in a new grant).
-- Raises     LK001 invalid argument. LK003 when the object changed hands thirty times during the call, or
--            an upgrade is replacing the routine. 1205 after 1 s of waiting for another
--            transaction, 1213 deadlock: when S3 meets them, the renewal has been made.
-- Locks      Outside a transaction a refusal locks nothing and waits for nothing: S0 reads. S0b, S0c, S1: the object's one row
--            (exclusive, no gap), which they judge; held to the end of the caller's transaction, also after HELD.
--            S2, which tells who holds it, and S3, which tells until when a renewal with the grant's own ttl goes, and its
--            note, lock the same row. In a transaction the row of the type's policy, or the gap for it, is locked for reading, too,
--            until that ends: a plain read would fix the caller's snapshot too early.
-- Race-free  S0 decides nothing but a refusal, which was true at one moment. What it has found free S0b judges again when
--            it has locked the row: free, and of a lesser fence. What it has found to be the caller's S0c judges again: the same
--            grant, end and note. If not, S1 decides as if there had been no S0.
--            S0 is a plain read, which fixes a snapshot: it is in the row form, which no function or trigger can use,
--            under autocommit and when no transaction is open. What S0 to S0c answer is not asked of the core: a get and a release
--            take a sixth less of the server's time so. Whether a transaction is open tells SET TRANSACTION, which otherwise
--            changes nothing: READ WRITE is for the one transaction that S0 is. (MariaDB would tell by @@in_transaction, MySQL
--            has no such variable.)
--            Refused, and free again at the second look: then it begins again, thirty times at most. In a storm of 32
--            callers on two objects a sixth of the looks comes too late, so that three rounds were not enough.
--            Free object, two callers: the primary key lets one insert; ON DUPLICATE KEY UPDATE makes the
--            other wait for an exclusive lock and judges the winner's row. (A failed INSERT would take a
--            shared lock, and two of those deadlock; an UPDATE of a missing row would lock the gap.) If the
--            one that inserted rolls back, InnoDB may make all but one of those who wait a deadlock's victim.
--            Expired row, two callers: S0b or S1 locks the row that it judges. S1's decision comes out of it through
--            LAST_INSERT_ID(expr), not through a later read or ROW_COUNT. S0b changes the fence when it does anything, so that
--            ROW_COUNT says so whatever CLIENT_FOUND_ROWS is. Where S0c changes nothing, by a clock that stands still, S1 does it again.
--            Release while S0b, S0c or S1 waits: a released row has no operator, so that it is free for them, too, whose
--            time is older than the release; a released grant never comes back.
--            Another's lock that has expired and was not released S0b and S1 leave alone: S2 reads it, S4 takes it if it is
--            still that grant, and so what the event names is what has ended. They are one transaction.
--            So are any grant or renewal and its event, if it has one: a transaction that begins when the policy has been read.
--            Ttl and department of NULL: S1 takes them from the row that it has locked. LAST_INSERT_ID has no
--            room for that ttl beside the fence, so that S3 reads the end of the renewed grant, by its fence,
--            unless the ttl is 7 days; and for the same reason the note, if there is one. A grant that somebody has ended in between is not answered: then S2
--            tells who holds the object now, or S1 decides once more, as if the caller had called again.
--            REPEATABLE READ: in a transaction only locking reads, so the caller's snapshot is not older than the grant.
-- Differs    In a transaction, and from a function or trigger, a refusal locks the row until that transaction ends, and waits
--            for one that is changing the row: a plain read would fix the caller's snapshot too early. The time is read
--            before a wait, so that a grant may begin up to 1 s before its answer; what is left of it is the
--            whole ttl even so, because it is rounded up. No 40001: InnoDB judges the newest row. What a
--            session's settings can do: procedures/README.md.

DELIMITER $$

CREATE PROCEDURE get_appl_lock_overtake(
    IN p_object_type VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_operator_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_ttl_seconds BIGINT,
    IN p_history_fl CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_outcome VARCHAR(11) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_fence BIGINT,
    OUT p_expires_ts DATETIME(6)
)
COMMENT 'Internal to applock: takes a lock that has expired from another operator, with its event.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_began BOOLEAN DEFAULT FALSE;
    DECLARE v_now DATETIME(6);
    DECLARE v_from_operator_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_from_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_from_fence BIGINT;
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
    -- 1422: a function or trigger, which has a transaction.
    DECLARE CONTINUE HANDLER FOR 1422 BEGIN END;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        IF v_began THEN
            CALL appl_lock_end(FALSE);
        END IF;
        RESIGNAL;
    END;

    CALL appl_lock_begin(v_began);
    SELECT l.operator_id, l.department_id, l.fence
    INTO v_from_operator_id, v_from_department_id, v_from_fence
    FROM appl_lock AS l
    WHERE l.object_type = p_object_type
        AND l.object_id = p_object_id
        AND l.operator_id NOT IN (p_operator_id, '')
        AND l.expires_ts <= UTC_TIMESTAMP(6)
    FOR UPDATE;
    IF v_from_fence IS NOT NULL THEN
        SET v_now = UTC_TIMESTAMP(6);
        SET p_fence = GREATEST(v_from_fence + 1, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', v_now));
        SET p_expires_ts = v_now + INTERVAL p_ttl_seconds SECOND;
        UPDATE appl_lock AS l
        SET l.operator_id = p_operator_id,
            l.department_id = p_department_id,
            l.fence = p_fence,
            l.acquired_ts = v_now,
            l.lock_ts = v_now,
            l.expires_ts = p_expires_ts,
            l.note = '',
            l.history_fl = p_history_fl
        WHERE l.object_type = p_object_type
            AND l.object_id = p_object_id
            AND l.fence = v_from_fence
            AND l.expires_ts <= v_now;
        IF ROW_COUNT() > 0 THEN
            CALL appl_lock_record(
                'OVERTAKEN', p_object_type, p_object_id, p_operator_id,
                v_from_operator_id, v_from_department_id, v_from_fence, p_operator_id, p_department_id, p_fence, ''
            );
            SET p_outcome = 'ACQUIRED';
        END IF;
    END IF;
    IF v_began THEN
        CALL appl_lock_end(TRUE);
    END IF;
END$$

CREATE PROCEDURE get_appl_lock_tell(
    IN p_event VARCHAR(16) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_type VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_operator_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
COMMENT 'Internal to applock: tells the history of the grant that this transaction has begun or renewed.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_fence BIGINT;
    SELECT l.department_id, l.fence
    INTO v_department_id, v_fence
    FROM appl_lock AS l
    WHERE l.object_type = p_object_type
        AND l.object_id = p_object_id
    FOR UPDATE;
    IF p_event = 'RENEWED' THEN
        CALL appl_lock_record(
            p_event, p_object_type, p_object_id, p_operator_id,
            p_operator_id, v_department_id, v_fence, p_operator_id, v_department_id, v_fence, ''
        );
    ELSE
        CALL appl_lock_record(
            p_event, p_object_type, p_object_id, p_operator_id,
            '', '', 0, p_operator_id, v_department_id, v_fence, ''
        );
    END IF;
END$$

CREATE PROCEDURE get_appl_lock_core(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_department_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_ttl_seconds BIGINT,
    OUT p_lock_fl CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_outcome VARCHAR(11) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_old_operator_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_old_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_fence BIGINT,
    OUT p_expires_ts DATETIME(6),
    OUT p_seconds_left BIGINT,
    OUT p_note VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
COMMENT 'Internal to applock: the operation get_appl_lock.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
main: BEGIN
    DECLARE v_now DATETIME(6);
    DECLARE v_longest_ttl_seconds BIGINT DEFAULT 315360000;
    DECLARE v_old_history_fl CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;

    -- The ttl of a new grant, and what is left of it at first.
    SET p_seconds_left = COALESCE(p_ttl_seconds, 604800);
    -- One look at arguments that are as they are stored: each instruction of a routine costs. (A blank equals nothing at all.)
    IF (
        RIGHT(p_object_type, 1) <> ' ' AND CHAR_LENGTH(p_object_type) <= 64 AND LOCATE(':', p_object_type) = 0
        AND RIGHT(p_object_id, 1) <> ' ' AND CHAR_LENGTH(p_object_id) <= 255
        AND RIGHT(p_operator_id, 1) <> ' ' AND CHAR_LENGTH(p_operator_id) <= 64
        AND CHAR_LENGTH(COALESCE(RTRIM(p_department_id), '')) <= 64
        AND p_seconds_left BETWEEN 1 AND 315360000
    ) IS NOT TRUE THEN
        SET p_object_type = RTRIM(COALESCE(p_object_type, ''));
        SET p_object_id = RTRIM(COALESCE(p_object_id, ''));
        SET p_operator_id = RTRIM(COALESCE(p_operator_id, ''));
        IF CHAR_LENGTH(p_object_type) NOT BETWEEN 1 AND 64 OR LOCATE(':', p_object_type) > 0 THEN
            CALL appl_lock_refuse_text('get_appl_lock', 'p_object_type', CHAR_LENGTH(p_object_type), 64);
        ELSEIF CHAR_LENGTH(p_object_id) NOT BETWEEN 1 AND 255 THEN
            CALL appl_lock_refuse_text('get_appl_lock', 'p_object_id', CHAR_LENGTH(p_object_id), 255);
        ELSEIF CHAR_LENGTH(p_operator_id) NOT BETWEEN 1 AND 64 THEN
            CALL appl_lock_refuse_text('get_appl_lock', 'p_operator_id', CHAR_LENGTH(p_operator_id), 64);
        ELSEIF CHAR_LENGTH(RTRIM(p_department_id)) > 64 THEN
            CALL appl_lock_refuse_text('get_appl_lock', 'p_department_id', CHAR_LENGTH(RTRIM(p_department_id)), 64);
        ELSEIF p_seconds_left NOT BETWEEN 1 AND 315360000 THEN
            CALL appl_lock_refuse_number('get_appl_lock', 'p_ttl_seconds', 315360000);
        END IF;
    END IF;

    BEGIN
        DECLARE v_insert_id BIGINT UNSIGNED DEFAULT LAST_INSERT_ID();
        DECLARE v_timeout BIGINT DEFAULT @@SESSION.innodb_lock_wait_timeout;
        DECLARE v_round INT DEFAULT 1;
        DECLARE v_history_fl CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT 'N';
        DECLARE v_old_fence BIGINT;
        DECLARE v_began BOOLEAN DEFAULT FALSE;
        -- 1422: a function or trigger, which has a transaction.
        DECLARE CONTINUE HANDLER FOR 1422 BEGIN END;
        DECLARE EXIT HANDLER FOR SQLEXCEPTION
        BEGIN
            SET SESSION innodb_lock_wait_timeout = v_timeout;
            DO LAST_INSERT_ID(v_insert_id);
            IF v_began THEN
                CALL appl_lock_end(FALSE);
            END IF;
            RESIGNAL;
        END;

        SET SESSION innodb_lock_wait_timeout = LEAST(1, v_timeout);
        -- What is laid down for the type? Most have nothing.
        SELECT
            LEAST(COALESCE(p_ttl_seconds, p.default_ttl_seconds, 604800), COALESCE(p.longest_ttl_seconds, 315360000)),
            COALESCE(p.longest_ttl_seconds, 315360000),
            IF(p.history_level = 'ALL', 'Y', 'N')
        INTO p_seconds_left, v_longest_ttl_seconds, v_history_fl
        FROM appl_lock_policy AS p
        WHERE p.object_type = p_object_type
        LOCK IN SHARE MODE;
        IF v_history_fl = 'Y' THEN
            CALL appl_lock_begin(v_began);
        END IF;

        REPEAT
            SET v_now = UTC_TIMESTAMP(6);
            SET p_expires_ts = v_now + INTERVAL p_seconds_left SECOND;

            -- S1: take, renew or refuse. The assignments are made in this order, each seeing the ones before.
            -- An empty operator is a released row: its end may lie behind v_now, which was read before the wait.
            -- The decision is the fence times 4, plus 1 for ACQUIRED, 2 for RENEWED until p_expires_ts, 3 for RENEWED
            -- with a ttl or a note that only the row knows, 0 for what is another's. It stays in the fence until the last assignment.
            INSERT INTO appl_lock (
                object_type,
                object_id,
                operator_id,
                department_id,
                fence,
                acquired_ts,
                lock_ts,
                expires_ts,
                history_fl
            )
            VALUES (
                p_object_type,
                p_object_id,
                p_operator_id,
                COALESCE(RTRIM(p_department_id), ''),
                LAST_INSERT_ID(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', v_now) * 4 + 1) DIV 4,
                v_now,
                v_now,
                p_expires_ts,
                v_history_fl
            )
            ON DUPLICATE KEY UPDATE
                fence = LAST_INSERT_ID(CASE
                    WHEN operator_id NOT IN (p_operator_id, '') THEN fence * 4
                    WHEN expires_ts <= v_now OR operator_id = ''
                        THEN GREATEST(fence + 1, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', v_now)) * 4 + 1
                    WHEN note <> '' OR p_ttl_seconds IS NULL AND LEAST(
                        GREATEST((TIMESTAMPDIFF(MICROSECOND, lock_ts, expires_ts) + 999999) DIV 1000000, 1), v_longest_ttl_seconds
                    ) <> p_seconds_left
                        THEN fence * 4 + 3
                    ELSE fence * 4 + 2
                END),
                -- Not before the release that S1 has waited for.
                acquired_ts = IF(fence MOD 4 = 1, GREATEST(v_now, expires_ts), acquired_ts),
                operator_id = IF(fence MOD 4 = 1, p_operator_id, operator_id),
                department_id = CASE fence MOD 4
                    WHEN 0 THEN department_id
                    WHEN 1 THEN COALESCE(RTRIM(p_department_id), '')
                    ELSE COALESCE(RTRIM(p_department_id), department_id)
                END,
                note = IF(fence MOD 4 = 1, '', note),
                history_fl = IF(fence MOD 4 = 0, history_fl, v_history_fl),
                -- lock_ts is never before v_now, but up to the length of a wait behind it: so the ttl is rounded up.
                expires_ts = CASE fence MOD 4
                    WHEN 0 THEN expires_ts
                    WHEN 3 THEN v_now + INTERVAL LEAST(COALESCE(
                        p_ttl_seconds, GREATEST((TIMESTAMPDIFF(MICROSECOND, lock_ts, expires_ts) + 999999) DIV 1000000, 1)
                    ), v_longest_ttl_seconds) SECOND
                    ELSE p_expires_ts
                END,
                -- Later than acquired_ts in every renewal, whatever the clock does, as in every dialect.
                lock_ts = CASE fence MOD 4
                    WHEN 0 THEN lock_ts
                    WHEN 1 THEN acquired_ts
                    ELSE GREATEST(v_now, acquired_ts + INTERVAL 1 MICROSECOND)
                END,
                fence = fence DIV 4;
            SET p_fence = LAST_INSERT_ID();
            IF p_fence MOD 4 IN (1, 2) THEN
                SET SESSION innodb_lock_wait_timeout = v_timeout;
                DO LAST_INSERT_ID(v_insert_id);
                SET p_lock_fl = 'Y';
                SET p_outcome = IF(p_fence MOD 4 = 1, 'ACQUIRED', 'RENEWED');
                SET p_old_operator_id = '';
                SET p_old_department_id = '';
                SET p_fence = p_fence DIV 4;
                SET p_note = '';
                IF v_history_fl = 'Y' THEN
                    CALL get_appl_lock_tell(p_outcome, p_object_type, p_object_id, p_operator_id);
                    IF v_began THEN
                        CALL appl_lock_end(TRUE);
                    END IF;
                END IF;
                LEAVE main;
            END IF;

            -- S2: held by somebody else?
            SELECT
                'N',
                'HELD',
                l.operator_id,
                l.department_id,
                0,
                l.expires_ts,
                (TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), l.expires_ts) + 999999) DIV 1000000,
                l.note,
                l.fence,
                l.history_fl
            INTO
                p_lock_fl, p_outcome, p_old_operator_id, p_old_department_id, p_fence, p_expires_ts, p_seconds_left, p_note,
                v_old_fence, v_old_history_fl
            FROM appl_lock AS l
            WHERE l.object_type = p_object_type
                AND l.object_id = p_object_id
                AND l.operator_id NOT IN (p_operator_id, '')
                AND l.expires_ts > UTC_TIMESTAMP(6)
            FOR UPDATE;
            IF p_outcome = 'HELD' AND v_old_history_fl = 'Y' THEN
                CALL appl_lock_record(
                    'REFUSED', p_object_type, p_object_id, p_operator_id,
                    p_old_operator_id, p_old_department_id, v_old_fence, p_old_operator_id, p_old_department_id, v_old_fence, ''
                );
            END IF;

            -- S3: until when has S1 renewed this grant, and what is noted on it?
            IF p_outcome IS NULL AND p_fence MOD 4 = 3 THEN
                SELECT
                    'Y',
                    'RENEWED',
                    '',
                    '',
                    l.fence,
                    l.expires_ts,
                    (TIMESTAMPDIFF(MICROSECOND, v_now, l.expires_ts) + 999999) DIV 1000000,
                    l.note
                INTO p_lock_fl, p_outcome, p_old_operator_id, p_old_department_id, p_fence, p_expires_ts, p_seconds_left, p_note
                FROM appl_lock AS l
                WHERE l.object_type = p_object_type
                    AND l.object_id = p_object_id
                    AND l.operator_id = p_operator_id
                    AND l.fence = p_fence DIV 4
                    AND l.expires_ts > UTC_TIMESTAMP(6)
                FOR UPDATE;
                IF p_outcome = 'RENEWED' AND v_history_fl = 'Y' THEN
                    CALL get_appl_lock_tell(p_outcome, p_object_type, p_object_id, p_operator_id);
                END IF;
            END IF;
            -- S4: or has its lock expired?
            IF p_outcome IS NULL AND p_fence MOD 4 = 0 THEN
                CALL get_appl_lock_overtake(
                    p_object_type, p_object_id, p_operator_id, COALESCE(RTRIM(p_department_id), ''), p_seconds_left,
                    v_history_fl, p_outcome, p_fence, p_expires_ts
                );
                SET p_lock_fl = 'Y';
                SET p_old_operator_id = '';
                SET p_old_department_id = '';
                SET p_note = '';
            END IF;
            IF p_outcome IS NOT NULL THEN
                IF v_began THEN
                    CALL appl_lock_end(TRUE);
                END IF;
                SET SESSION innodb_lock_wait_timeout = v_timeout;
                DO LAST_INSERT_ID(v_insert_id);
                LEAVE main;
            END IF;
            SET v_round = v_round + 1;
        UNTIL v_round > 30 END REPEAT;
        SIGNAL SQLSTATE 'LK003' SET MESSAGE_TEXT = 'get_appl_lock: the object changed hands during the call; call again';
    END;
END$$

CREATE PROCEDURE get_appl_lock(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_department_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_ttl_seconds BIGINT,
    OUT p_lock_fl CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_outcome VARCHAR(11) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_old_operator_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_old_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_fence BIGINT,
    OUT p_expires_ts DATETIME(6),
    OUT p_seconds_left BIGINT,
    OUT p_note VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
COMMENT 'Take or renew the lock on an object for one operator until it expires.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE EXIT HANDLER FOR 1305
        SIGNAL SQLSTATE 'LK003' SET
            MESSAGE_TEXT = 'get_appl_lock: is being replaced; call again, or install it again if that lasts';
    CALL get_appl_lock_core(
        p_object_type, p_object_id, p_operator_id, p_department_id, p_ttl_seconds,
        p_lock_fl, p_outcome, p_old_operator_id, p_old_department_id, p_fence, p_expires_ts, p_seconds_left, p_note
    );
END$$

CREATE PROCEDURE get_appl_lock_row_core(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_department_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_ttl_seconds BIGINT
)
COMMENT 'Internal to applock: the operation get_appl_lock, answered by one row.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
main: BEGIN
    DECLARE v_lock_fl CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT 'Y';
    DECLARE v_outcome VARCHAR(11) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_old_operator_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_old_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_fence BIGINT;
    DECLARE v_lock_ts DATETIME(6);
    DECLARE v_expires_ts DATETIME(6);
    DECLARE v_seconds_left BIGINT;
    DECLARE v_note VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_history_fl CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_ttl_seconds BIGINT;
    DECLARE v_now DATETIME(6) DEFAULT UTC_TIMESTAMP(6);
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;

    -- S0: where no snapshot of the caller's can come of it, a plain read: what is there? It computes nothing, because what is
    -- computed in a statement costs in each call, needed or not. 1568: a transaction is open.
    IF @@SESSION.autocommit THEN
        BEGIN
            DECLARE EXIT HANDLER FOR 1568 BEGIN END;
            SET TRANSACTION READ WRITE;
            SELECT l.operator_id, l.department_id, l.fence, l.lock_ts, l.expires_ts, l.note, l.history_fl
            INTO v_old_operator_id, v_old_department_id, v_fence, v_lock_ts, v_expires_ts, v_note, v_history_fl
            FROM appl_lock AS l
            WHERE l.object_type = p_object_type
                AND l.object_id = p_object_id;
        END;
    END IF;
    -- What is the answer likely to be? Arguments that are none, or whose blanks go beyond a limit, are left to the core, as is an
    -- object without a row, whose NULLs compare to nothing.
    IF (
        p_operator_id <> '' AND CHAR_LENGTH(p_operator_id) <= 64
        AND (p_department_id IS NULL OR CHAR_LENGTH(p_department_id) <= 64)
        AND (p_ttl_seconds IS NULL OR p_ttl_seconds BETWEEN 1 AND 315360000)
    ) THEN
        IF v_old_operator_id IN (p_operator_id, '') THEN
            SET v_outcome = IF(
                v_old_operator_id = '' OR v_expires_ts <= v_now, 'ACQUIRED', IF(v_history_fl = 'N', 'RENEWED', NULL)
            );
            SET v_ttl_seconds = COALESCE(p_ttl_seconds, IF(
                v_outcome = 'RENEWED',
                GREATEST((TIMESTAMPDIFF(MICROSECOND, v_lock_ts, v_expires_ts) + 999999) DIV 1000000, 1),
                NULL
            ));
        ELSEIF v_expires_ts > v_now THEN
            IF v_history_fl = 'Y' THEN
                CALL appl_lock_record(
                    'REFUSED', p_object_type, p_object_id, RTRIM(p_operator_id),
                    v_old_operator_id, v_old_department_id, v_fence, v_old_operator_id, v_old_department_id, v_fence, ''
                );
            END IF;
            SET v_lock_fl = 'N';
            SET v_outcome = 'HELD';
            SET v_fence = 0;
            SELECT
                v_lock_fl AS p_lock_fl,
                v_outcome AS p_outcome,
                v_old_operator_id AS p_old_operator_id,
                v_old_department_id AS p_old_department_id,
                v_fence AS p_fence,
                v_expires_ts AS p_expires_ts,
                (TIMESTAMPDIFF(MICROSECOND, v_now, v_expires_ts) + 999999) DIV 1000000 AS p_seconds_left,
                v_note AS p_note;
            LEAVE main;
        END IF;
    END IF;
    IF v_outcome IS NOT NULL THEN
        SET v_seconds_left = COALESCE(v_ttl_seconds, 604800);
        -- What is laid down for the type? Most have nothing. What the history is told is one transaction, of the core's.
        SELECT
            IF(p.history_level = 'ALL', NULL, v_outcome),
            LEAST(COALESCE(v_ttl_seconds, p.default_ttl_seconds, 604800), COALESCE(p.longest_ttl_seconds, 315360000))
        INTO v_outcome, v_seconds_left
        FROM appl_lock_policy AS p
        WHERE p.object_type = p_object_type;
    END IF;
    IF v_outcome IS NOT NULL THEN
        BEGIN
            DECLARE v_timeout BIGINT DEFAULT @@SESSION.innodb_lock_wait_timeout;
            DECLARE EXIT HANDLER FOR SQLEXCEPTION
            BEGIN
                SET SESSION innodb_lock_wait_timeout = v_timeout;
                RESIGNAL;
            END;

            SET SESSION innodb_lock_wait_timeout = LEAST(1, v_timeout);
            IF v_outcome = 'ACQUIRED' THEN
                SET v_fence = GREATEST(v_fence + 1, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', v_now));
                -- S0b: take what is still free.
                UPDATE appl_lock AS l
                SET l.operator_id = RTRIM(p_operator_id),
                    l.department_id = COALESCE(RTRIM(p_department_id), ''),
                    l.fence = v_fence,
                    l.acquired_ts = GREATEST(v_now, l.expires_ts),
                    l.lock_ts = l.acquired_ts,
                    l.expires_ts = v_now + INTERVAL v_seconds_left SECOND,
                    l.note = '',
                    l.history_fl = 'N'
                WHERE l.object_type = p_object_type
                    AND l.object_id = p_object_id
                    AND (l.operator_id = '' OR (l.operator_id = p_operator_id AND l.expires_ts <= v_now))
                    AND l.fence < v_fence;
            ELSE
                -- S0c: renew what is still the same.
                UPDATE appl_lock AS l
                SET l.department_id = COALESCE(RTRIM(p_department_id), l.department_id),
                    l.lock_ts = GREATEST(v_now, l.acquired_ts + INTERVAL 1 MICROSECOND),
                    l.expires_ts = v_now + INTERVAL v_seconds_left SECOND
                WHERE l.object_type = p_object_type
                    AND l.object_id = p_object_id
                    AND l.fence = v_fence
                    AND l.expires_ts = v_expires_ts
                    AND l.note = v_note
                    AND l.history_fl = 'N';
            END IF;
            IF ROW_COUNT() = 0 THEN
                SET v_outcome = NULL;
            END IF;
            SET SESSION innodb_lock_wait_timeout = v_timeout;
        END;
        IF v_outcome IS NOT NULL THEN
            SELECT
                v_lock_fl AS p_lock_fl,
                v_outcome AS p_outcome,
                '' AS p_old_operator_id,
                '' AS p_old_department_id,
                v_fence AS p_fence,
                v_now + INTERVAL v_seconds_left SECOND AS p_expires_ts,
                v_seconds_left AS p_seconds_left,
                IF(v_outcome = 'RENEWED', v_note, '') AS p_note;
            LEAVE main;
        END IF;
    END IF;
    CALL get_appl_lock_core(
        p_object_type, p_object_id, p_operator_id, p_department_id, p_ttl_seconds,
        v_lock_fl, v_outcome, v_old_operator_id, v_old_department_id, v_fence, v_expires_ts, v_seconds_left, v_note
    );
    SELECT
        v_lock_fl AS p_lock_fl,
        v_outcome AS p_outcome,
        v_old_operator_id AS p_old_operator_id,
        v_old_department_id AS p_old_department_id,
        v_fence AS p_fence,
        v_expires_ts AS p_expires_ts,
        v_seconds_left AS p_seconds_left,
        v_note AS p_note;
END$$

CREATE PROCEDURE get_appl_lock_row(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_department_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_ttl_seconds BIGINT
)
COMMENT 'Take or renew the lock on an object for one operator until it expires; the answer is one row.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE EXIT HANDLER FOR 1305
        SIGNAL SQLSTATE 'LK003' SET
            MESSAGE_TEXT = 'get_appl_lock: is being replaced; call again, or install it again if that lasts';
    CALL get_appl_lock_row_core(
        p_object_type, p_object_id, p_operator_id, p_department_id, p_ttl_seconds
    );
END$$

CREATE PROCEDURE get_appl_lock_rows_core(
    IN p_gets LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
COMMENT 'Internal to applock: the operation get_appl_lock, for many.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_reason VARCHAR(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_gets JSON;
    DECLARE v_left BOOLEAN DEFAULT TRUE;
    DECLARE v_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_department_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_ttl_seconds BIGINT;
    -- What is left out is NULL, and so is what is no text or no whole number: such a list has been refused before.
    DECLARE c_gets CURSOR FOR
        SELECT j.object_type, j.object_id, j.operator_id, j.department_id, j.ttl_seconds
        FROM JSON_TABLE(v_gets, '$[*]' COLUMNS (
            place FOR ORDINALITY,
            object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$.object_type',
            object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$.object_id',
            operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$.operator_id',
            department_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$.department_id',
            ttl_seconds BIGINT PATH '$.ttl_seconds'
        )) AS j
        ORDER BY j.place;
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_left = FALSE;

    BEGIN
        -- What MySQL says of JSON that is too deep, also when it is asked whether it is valid.
        DECLARE EXIT HANDLER FOR SQLSTATE '22032' SET v_reason = 'is not a list of gets';
        IF p_gets IS NULL THEN
            SET v_reason = 'must not be empty';
        ELSEIF NOT JSON_VALID(p_gets) THEN
            SET v_reason = 'is not a list of gets';
        ELSEIF JSON_TYPE(p_gets) <> 'ARRAY' THEN
            SET v_reason = 'is not a list of gets';
        ELSEIF JSON_LENGTH(p_gets) > 10000 THEN
            SET v_reason = CONCAT('has ', JSON_LENGTH(p_gets), ' gets, at most 10000 are allowed');
        END IF;
    END;
    IF v_reason IS NULL THEN
        SET v_gets = p_gets;
        -- Types only: JSON_TABLE converts. The rest is checked get by get.
        SELECT CONCAT('has a value of a wrong type in get ', MIN(j.place))
        INTO v_reason
        FROM JSON_TABLE(v_gets, '$[*]' COLUMNS (
            place FOR ORDINALITY,
            object_type JSON PATH '$.object_type',
            object_id JSON PATH '$.object_id',
            operator_id JSON PATH '$.operator_id',
            department_id JSON PATH '$.department_id',
            ttl_seconds JSON PATH '$.ttl_seconds'
        )) AS j
        WHERE JSON_TYPE(j.object_type) NOT IN ('STRING', 'NULL')
            OR JSON_TYPE(j.object_id) NOT IN ('STRING', 'NULL')
            OR JSON_TYPE(j.operator_id) NOT IN ('STRING', 'NULL')
            OR JSON_TYPE(j.department_id) NOT IN ('STRING', 'NULL')
            OR JSON_TYPE(j.ttl_seconds) NOT IN ('INTEGER', 'NULL');
    END IF;
    IF v_reason IS NOT NULL THEN
        SET v_reason = CONCAT('get_appl_lock: p_gets ', v_reason);
        SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT = v_reason;
    END IF;

    OPEN c_gets;
    FETCH c_gets INTO v_object_type, v_object_id, v_operator_id, v_department_id, v_ttl_seconds;
    WHILE v_left DO
        CALL get_appl_lock_row(v_object_type, v_object_id, v_operator_id, v_department_id, v_ttl_seconds);
        FETCH c_gets INTO v_object_type, v_object_id, v_operator_id, v_department_id, v_ttl_seconds;
    END WHILE;
    CLOSE c_gets;
END$$

CREATE PROCEDURE get_appl_lock_rows(
    IN p_gets LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
COMMENT 'Take or renew many locks, one after the other; each is answered by a result set of one row.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE EXIT HANDLER FOR 1305
        SIGNAL SQLSTATE 'LK003' SET
            MESSAGE_TEXT = 'get_appl_lock: is being replaced; call again, or install it again if that lasts';
    CALL get_appl_lock_rows_core(
        p_gets
    );
END$$

DELIMITER ;
