-- renew_appl_locks: renew many grants in one call, each by its fence.
--
-- Contract   RENEWED: this very grant is live, and lasts for its ttl from now, or as long as it did if that is longer. The policy's
--            longest ttl is the limit. HELD: another operator or another grant holds the object. FREE: nobody holds it; the grant has
--            ended, and is not revived. No row: another transaction is changing this lock, or asserts it; it is neither renewed
--            nor lost: call again. So one busy lock delays none of the others. Under history ALL a renewal is an event:
--            RENEWED.
-- In         p_grants: a JSON array of 0 to 10000 grants such as {"object_type": "customer", "object_id": "42", "operator_id": "JDOE",
--            "fence": 17, "ttl_seconds": 30}; all five are required; each object at most once. Trailing blanks are trimmed.
-- Out        old_*: empty unless HELD. acquired_ts: NULL unless HELD. expires_ts: NULL when FREE. Ordered by key.
-- Raises     LK001 invalid argument: nothing has been renewed. LK003 an upgrade is replacing the routine.
-- Locks      S1 locks the rows of the grants, to the end of the caller's transaction. It skips rows that another transaction
--            has locked, so it neither waits nor deadlocks. At REPEATABLE READ the gap of an object without a row is locked as
--            long.
-- Race-free  S1 locks, judges and changes in one statement, so one commit is enough for all. It makes lock_ts v_now or later.
--            A live grant whose lock_ts is older than v_now was skipped, and S1 tries it again. A newer lock_ts means that S1
--            or another call has renewed it, and S1 leaves it. S3 answers RENEWED for a grant that ends as late as was asked,
--            whichever call did it. A grant that another call has made shorter since has no row. A grant that ends between
--            v_now and S1 is renewed as of v_now: had another operator held the object meanwhile, the fence would differ.
--            Outside a transaction S1 is committed before S3 reads. If S1 has renewed all, all are RENEWED, whatever came in
--            between. For a grant that has ended since, expires_ts is the end that was asked for.
-- Differs    A refused get in a transaction locks the row. So S1 retries up to a hundred skipped grants for some 30 ms, unless
--            the clock was set back. S0, S2 and S3 are plain reads. If S1 has not renewed all at once, a grant that is released
--            or taken before S3 is FREE or HELD.

DELIMITER $$

CREATE PROCEDURE renew_appl_locks_core(...)
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_reason VARCHAR(128);
    DECLARE v_grants JSON;
    DECLARE v_left JSON;
    DECLARE v_round INT DEFAULT 0;
    DECLARE v_all BOOLEAN DEFAULT FALSE;
    DECLARE v_rows BIGINT;
    DECLARE v_now DATETIME(6);
    DECLARE v_safe_updates BOOLEAN DEFAULT COALESCE(@appl_lock_safe, @@SESSION.sql_safe_updates + 0);
    DECLARE v_max_length BIGINT UNSIGNED DEFAULT COALESCE(@appl_lock_length, @@SESSION.group_concat_max_len);
    DECLARE v_policies BIGINT;
    DECLARE v_began BOOLEAN DEFAULT FALSE;
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
    -- 1422: a function or trigger, which has a transaction.
    DECLARE CONTINUE HANDLER FOR 1422 CALL appl_lock_inside();
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        SET SESSION sql_safe_updates = v_safe_updates, @appl_lock_safe = NULL;
        SET SESSION group_concat_max_len = v_max_length, @appl_lock_length = NULL;
        IF v_began THEN
            CALL appl_lock_end(FALSE);
        END IF;
        RESIGNAL;
    END;

    BEGIN
        -- MySQL raises this for JSON that is nested too deep, even from JSON_VALID.
        DECLARE EXIT HANDLER FOR SQLSTATE '22032' SET v_reason = 'is not a list of grants';
        IF p_grants IS NULL THEN
            SET v_reason = 'must not be empty';
        ELSEIF NOT JSON_VALID(p_grants) THEN
            SET v_reason = 'is not a list of grants';
        ELSEIF JSON_TYPE(p_grants) <> 'ARRAY' THEN
            SET v_reason = 'is not a list of grants';
        ELSEIF JSON_LENGTH(p_grants) > 10000 THEN
            SET v_reason = CONCAT('has ', JSON_LENGTH(p_grants), ' grants, at most 10000 are allowed');
        END IF;
    END;
    IF v_reason IS NULL THEN
        SET v_grants = p_grants;
        -- Types and lengths are checked here, because JSON_TABLE converts and MariaDB's also cuts off. A fence
        -- of the greatest BIGINT could be a greater one cut off.
        SELECT CONCAT('has ', c.what, ' in grant ', c.place)
        INTO v_reason
        FROM (
            SELECT
                j.place,
                CASE
                    WHEN (JSON_TYPE(j.object_type) = 'STRING' AND CHAR_LENGTH(RTRIM(j.object_type_text)) BETWEEN 1 AND 64
                        AND LOCATE(':', j.object_type_text) = 0) IS NOT TRUE THEN 'no valid object_type'
                    WHEN (JSON_TYPE(j.object_id) = 'STRING' AND CHAR_LENGTH(RTRIM(j.object_id_text)) BETWEEN 1 AND 255)
                        IS NOT TRUE THEN 'no valid object_id'
                    WHEN (JSON_TYPE(j.operator_id) = 'STRING' AND CHAR_LENGTH(RTRIM(j.operator_id_text)) BETWEEN 1 AND 255)
                        IS NOT TRUE THEN 'no valid operator_id'
                    WHEN (JSON_TYPE(j.fence) IN ('INTEGER', 'UNSIGNED INTEGER') AND j.fence_number BETWEEN 1 AND 9223372036854775806)
                        IS NOT TRUE THEN 'no fence of 1 or greater'
                    WHEN (JSON_TYPE(j.ttl_seconds) = 'INTEGER' AND j.ttl_seconds_number BETWEEN 1 AND 315360000)
                        IS NOT TRUE THEN 'no ttl_seconds between 1 and 315360000'
                    WHEN ROW_NUMBER() OVER (PARTITION BY RTRIM(j.object_type_text), RTRIM(j.object_id_text) ORDER BY j.place) > 1
                        THEN 'an object for the second time'
                END AS what
            FROM JSON_TABLE(v_grants, '$[*]' COLUMNS (
                place FOR ORDINALITY,
                object_type JSON PATH '$.object_type',
                object_type_text LONGTEXT PATH '$.object_type',
                object_id JSON PATH '$.object_id',
                object_id_text LONGTEXT PATH '$.object_id',
                operator_id JSON PATH '$.operator_id',
                operator_id_text LONGTEXT PATH '$.operator_id',
                fence JSON PATH '$.fence',
                fence_number BIGINT PATH '$.fence',
                ttl_seconds JSON PATH '$.ttl_seconds',
                ttl_seconds_number BIGINT PATH '$.ttl_seconds'
            )) AS j
        ) AS c
        WHERE c.what IS NOT NULL
        ORDER BY c.place
        LIMIT 1;
    END IF;
    IF v_reason IS NOT NULL THEN
        SET v_reason = CONCAT('renew_appl_locks: p_grants ', v_reason);
        SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT = v_reason;
    END IF;

    CALL appl_lock_enter();
    -- S0: does a policy limit a ttl, or record renewals? More than a hundred policies are not read: some may do both. MariaDB cuts a list
    -- off at group_concat_max_len.
    SET v_policies = IF(
        (SELECT TRUE FROM appl_lock_policy LIMIT 1 OFFSET 100),
        3,
        (SELECT BIT_OR(IF(p.longest_ttl_seconds IS NULL, 0, 1) | IF(p.history_level = 'ALL', 2, 0)) FROM appl_lock_policy AS p)
    );
    IF v_policies & 1 THEN
        SET @appl_lock_length = v_max_length, SESSION group_concat_max_len = 4294967295;
        SELECT JSON_ARRAYAGG(JSON_OBJECT(
            'object_type', RTRIM(g.object_type),
            'object_id', RTRIM(g.object_id),
            'operator_id', RTRIM(g.operator_id),
            'fence', g.fence,
            'ttl_seconds', LEAST(g.ttl_seconds, COALESCE(p.longest_ttl_seconds, g.ttl_seconds))
        ))
        INTO v_grants
        FROM JSON_TABLE(v_grants, '$[*]' COLUMNS (
            object_type VARCHAR(64) PATH '$.object_type',
            object_id VARCHAR(255) PATH '$.object_id',
            operator_id VARCHAR(255) PATH '$.operator_id',
            fence BIGINT PATH '$.fence',
            ttl_seconds BIGINT PATH '$.ttl_seconds'
        )) AS g
        LEFT JOIN appl_lock_policy AS p FORCE INDEX (PRIMARY)
            ON p.object_type = RTRIM(g.object_type);
        SET SESSION group_concat_max_len = v_max_length, @appl_lock_length = NULL;
        SET v_grants = COALESCE(v_grants, p_grants);
    END IF;

    -- MariaDB's safe updates refuse S1, because it reads all rows of the inner SELECT.
    SET @appl_lock_safe = v_safe_updates, SESSION sql_safe_updates = FALSE;
    SET v_now = UTC_TIMESTAMP(6);
    SET v_left = v_grants;
    WHILE v_left IS NOT NULL AND v_round < 11 DO
        -- The second round only looks again: another call may have renewed what S1 has skipped.
        SET v_rows = -1;
        IF v_round <> 1 THEN
            IF v_policies & 2 THEN
                CALL appl_lock_begin(v_began);
            END IF;

            -- S1: renew live grants that can be locked at once. The LIMIT keeps the inner SELECT apart, so all rows are locked
            -- before the first changes. Without the forced index the server would read, and so lock, all rows of a small table.
            UPDATE (
                SELECT r.object_type, r.object_id, g.ttl_seconds
                FROM (
                    SELECT j.object_type, j.object_id, j.operator_id, j.fence, j.ttl_seconds
                    FROM JSON_TABLE(v_left, '$[*]' COLUMNS (
                        object_type VARCHAR(64) PATH '$.object_type',
                        object_id VARCHAR(255) PATH '$.object_id',
                        operator_id VARCHAR(255) PATH '$.operator_id',
                        fence BIGINT PATH '$.fence',
                        ttl_seconds BIGINT PATH '$.ttl_seconds'
                    )) AS j
                ) AS g
                STRAIGHT_JOIN appl_lock AS r FORCE INDEX (PRIMARY)
                    ON r.object_type = g.object_type
                    AND r.object_id = g.object_id
                WHERE r.operator_id = g.operator_id
                    AND r.fence = g.fence
                    AND r.released_ts IS NULL
                    AND r.expires_ts > UTC_TIMESTAMP(6)
                    AND (v_round = 0 OR r.lock_ts < v_now)
                LIMIT 10000
                FOR UPDATE SKIP LOCKED
            ) AS k
            STRAIGHT_JOIN appl_lock AS l FORCE INDEX (PRIMARY)
                ON l.object_type = k.object_type
                AND l.object_id = k.object_id
            SET l.lock_ts = GREATEST(v_now, l.lock_ts + INTERVAL 1 MICROSECOND),
                l.ttl_seconds = k.ttl_seconds,
                l.expires_ts = GREATEST(l.expires_ts, v_now + INTERVAL k.ttl_seconds SECOND);
            SET v_rows = ROW_COUNT();
            SET v_all = v_all OR v_round = 0 AND v_rows = JSON_LENGTH(v_grants);

            IF v_policies & 2 THEN
                CALL renew_appl_locks_tell(v_left, v_now);
                IF v_began THEN
                    CALL appl_lock_end(TRUE);
                    SET v_began = FALSE;
                END IF;
            END IF;
        END IF;
        IF v_rows = JSON_LENGTH(v_left) THEN
            SET v_left = NULL;
        ELSE
            IF v_round > 0 THEN
                DO SLEEP(0.002);
            END IF;
            -- S2: which grants were skipped?
            SELECT JSON_ARRAYAGG(JSON_OBJECT(
                'object_type', p.object_type,
                'object_id', p.object_id,
                'operator_id', p.operator_id,
                'fence', p.fence,
                'ttl_seconds', p.ttl_seconds
            ))
            INTO v_left
            FROM (
                SELECT l.object_type, l.object_id, l.operator_id, l.fence, g.ttl_seconds
                FROM JSON_TABLE(v_left, '$[*]' COLUMNS (
                    object_type VARCHAR(64) PATH '$.object_type',
                    object_id VARCHAR(255) PATH '$.object_id',
                    operator_id VARCHAR(255) PATH '$.operator_id',
                    fence BIGINT PATH '$.fence',
                    ttl_seconds BIGINT PATH '$.ttl_seconds'
                )) AS g
                STRAIGHT_JOIN appl_lock AS l FORCE INDEX (PRIMARY)
                    ON l.object_type = g.object_type
                    AND l.object_id = g.object_id
                WHERE l.operator_id = g.operator_id
                    AND l.fence = g.fence
                    AND l.released_ts IS NULL
                    AND l.expires_ts > UTC_TIMESTAMP(6)
                    AND l.lock_ts < v_now
                LIMIT 100
            ) AS p;
            -- MariaDB cuts it off where the session's group_concat_max_len ends.
            IF NOT JSON_VALID(v_left) THEN
                SET v_left = NULL;
            END IF;
        END IF;
        SET v_round = v_round + 1;
    END WHILE;
    SET SESSION sql_safe_updates = v_safe_updates, @appl_lock_safe = NULL;

    -- S3: what has become of each?
    SELECT
        s.object_type,
        s.object_id,
        CASE WHEN s.renewed THEN 'RENEWED' WHEN s.live THEN 'HELD' ELSE 'FREE' END AS outcome,
        IF(s.live AND NOT s.renewed, s.operator_id, '') AS old_operator_id,
        IF(s.live AND NOT s.renewed, s.department_id, '') AS old_department_id,
        IF(s.live AND NOT s.renewed, s.acquired_ts, NULL) AS acquired_ts,
        CASE WHEN s.own AND (s.live OR s.renewed) THEN s.expires_ts WHEN s.renewed THEN s.until_ts WHEN s.live THEN s.expires_ts END
            AS expires_ts,
        CASE
            WHEN s.renewed THEN (TIMESTAMPDIFF(MICROSECOND, v_now, IF(s.own, s.expires_ts, s.until_ts)) + 999999) DIV 1000000
            WHEN s.live THEN (TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), s.expires_ts) + 999999) DIV 1000000
            ELSE 0
        END AS seconds_left
    FROM (
        SELECT
            g.object_type,
            g.object_id,
            g.until_ts,
            l.operator_id,
            l.department_id,
            l.acquired_ts,
            l.expires_ts,
            IFNULL(l.released_ts IS NULL AND l.expires_ts > UTC_TIMESTAMP(6), FALSE) AS live,
            IFNULL(l.operator_id = g.operator_id AND l.fence = g.fence, FALSE) AS own,
            -- S1 renewed all, or the grant is live and a call has renewed it since v_now.
            g.until_ts > UTC_TIMESTAMP(6) AND (v_all OR IFNULL(
                l.operator_id = g.operator_id AND l.fence = g.fence AND l.released_ts IS NULL AND l.expires_ts > UTC_TIMESTAMP(6)
                AND l.lock_ts >= v_now AND l.expires_ts >= g.until_ts, FALSE
            )) AS renewed
        FROM (
            SELECT
                RTRIM(j.object_type) AS object_type,
                RTRIM(j.object_id) AS object_id,
                j.operator_id,
                j.fence,
                v_now + INTERVAL j.ttl_seconds SECOND AS until_ts
            FROM JSON_TABLE(v_grants, '$[*]' COLUMNS (
                object_type VARCHAR(64) PATH '$.object_type',
                object_id VARCHAR(255) PATH '$.object_id',
                operator_id VARCHAR(255) PATH '$.operator_id',
                fence BIGINT PATH '$.fence',
                ttl_seconds BIGINT PATH '$.ttl_seconds'
            )) AS j
        ) AS g
        LEFT JOIN appl_lock AS l FORCE INDEX (PRIMARY)
            ON l.object_type = g.object_type
            AND l.object_id = g.object_id
    ) AS s
    WHERE s.renewed
        OR NOT s.own
        OR NOT s.live
    ORDER BY s.object_type, s.object_id;
END$$

CREATE PROCEDURE renew_appl_locks_tell(
    IN p_grants LONGTEXT,
    IN p_now DATETIME(6)
)
COMMENT 'Internal to applock: records the renewals of this transaction in the history.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_more BOOLEAN DEFAULT TRUE;
    DECLARE v_object_type VARCHAR(64);
    DECLARE v_object_id VARCHAR(255);
    DECLARE v_operator_id VARCHAR(255);
    DECLARE v_department_id VARCHAR(64);
    DECLARE v_fence BIGINT;
    -- A grant that S1 has not renewed is skipped here, too.
    DECLARE renewed CURSOR FOR
        SELECT r.object_type, r.object_id, r.operator_id, r.department_id, r.fence
        FROM (
            SELECT j.object_type, j.object_id, j.operator_id, j.fence
            FROM JSON_TABLE(p_grants, '$[*]' COLUMNS (
                object_type VARCHAR(64) PATH '$.object_type',
                object_id VARCHAR(255) PATH '$.object_id',
                operator_id VARCHAR(255) PATH '$.operator_id',
                fence BIGINT PATH '$.fence'
            )) AS j
        ) AS g
        STRAIGHT_JOIN appl_lock AS r FORCE INDEX (PRIMARY)
            ON r.object_type = g.object_type
            AND r.object_id = g.object_id
        WHERE r.operator_id = g.operator_id
            AND r.fence = g.fence
            AND r.history_fl = 'Y'
            AND r.released_ts IS NULL
            AND r.lock_ts >= p_now
        FOR UPDATE SKIP LOCKED;
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_more = FALSE;

    OPEN renewed;
    FETCH renewed INTO v_object_type, v_object_id, v_operator_id, v_department_id, v_fence;
    WHILE v_more DO
        CALL appl_lock_record(
            'RENEWED', v_object_type, v_object_id, v_operator_id,
            v_operator_id, v_department_id, v_fence, v_operator_id, v_department_id, v_fence, ''
        );
        FETCH renewed INTO v_object_type, v_object_id, v_operator_id, v_department_id, v_fence;
    END WHILE;
    CLOSE renewed;
END$$

DELIMITER ;
