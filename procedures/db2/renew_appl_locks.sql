-- renew_appl_locks: renew many grants in one call, each by its fence.
--
-- Contract   RENEWED: this very grant is live; it lasts for its ttl from now, or as long as it did, if that is longer. So a
--            late renewal shortens nothing. The policy's longest ttl is the limit.
--            HELD: another operator or grant holds the object; old_*, acquired_ts and expires_ts tell who, since and until when. FREE:
--            nobody holds it: the grant has ended, and is not revived.
--            No row: another transaction has changed this lock during the call; call again.
--            A renewal is an event, RENEWED, if history was ALL at the operator's last get.
-- In         p_grants, 1 to 1000 grants of five fields: object_type, object_id, operator_id, fence, ttl_seconds,
--            with the limits of get_appl_lock and assert_appl_lock. A field is the number of its characters, a colon, and the
--            characters: 8:customer2:424:JDOE2:172:30 is the grant 17 of JDOE on customer:42, for 30 s. Each object may come at
--            most once. Trailing blanks of values are trimmed.
-- Out        A result set: object_type, object_id, outcome, old_operator_id, old_department_id (empty unless HELD),
--            acquired_ts (UTC, NULL unless HELD), expires_ts (UTC, NULL when FREE), seconds_left (rounded up; 0 when FREE), ordered by
--            object_type, object_id.
-- Raises     LK001 invalid argument: nothing has been renewed. When another transaction has locked a row that would be renewed,
--            -911/40001 with reason 68, or -913/57033, at once. After -911 nothing has been renewed, and the caller's
--            transaction is over. Then renew the halves, and so on.
-- Locks      S1 reads committed rows without waiting (cur_commit, the default), and keeps lost grants from S2. S2 locks the
--            rows that it renews, in the order of p_grants, which should be that of the keys, to the end of the caller's
--            transaction; it never waits.
-- Race-free  S2 renews a grant only if its row is still the one that S1 read; else the answer has no row of it. A grant that S1
--            finds ended does not come back, because fences only grow. S3 reads its object's present holder.
-- Differs    Text instead of JSON, which not all platforms of Db2 read: at most 1000 grants and 32000 bytes, some 300 leases. A
--            locked row ends the call, because Db2 cannot skip it. An object that comes twice is refused only where its grants
--            are neighbours, as in the order of keys; elsewhere both are renewed.

--#SET TERMINATOR @

CREATE OR REPLACE PROCEDURE renew_appl_locks (...)
SPECIFIC renew_appl_locks
DYNAMIC RESULT SETS 1
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
BEGIN
    DECLARE v_pass, v_left, v_at, v_colon, v_length, v_field, v_count, v_type_at, v_id_at, v_policies INTEGER DEFAULT 0;
    DECLARE v_rest VARCHAR(32000);
    DECLARE v_value, v_object_type, v_object_id, v_operator_id, v_fence_text, v_ttl_text, v_last_type VARCHAR(4000);
    DECLARE v_last_id VARCHAR(4000);
    DECLARE v_digits VARCHAR(20);
    DECLARE v_fence, v_ttl_seconds, v_longest_ttl_seconds BIGINT;
    DECLARE v_reason VARCHAR(64) DEFAULT '';
    DECLARE v_message, v_old_operator_id, v_old_department_id VARCHAR(256);
    DECLARE v_rows, v_changed, v_told INTEGER DEFAULT 0;
    DECLARE v_now, v_lock_ts, v_expires_ts, v_old_lock_ts, v_old_expires_ts, v_old_released_ts TIMESTAMP;
    DECLARE v_old_fence BIGINT;
    DECLARE v_old_history_fl, v_verdict CHAR(1);
    DECLARE v_answers VARCHAR(30000) DEFAULT '';

    IF COALESCE(CHARACTER_LENGTH(p_grants, CODEUNITS32), 0) = 0 THEN
        SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT = 'renew_appl_locks: p_grants must not be empty';
    END IF;
    IF NOT_PLAIN(p_grants) THEN
        CALL appl_lock_check_text('renew_appl_locks', 'p_grants', p_grants);
    END IF;

    SET CURRENT LOCK TIMEOUT 0;
    -- The first pass checks all grants, the second renews them: a bad one leaves all as it was.
    fields: WHILE v_pass < 2 OR v_left > 0 DO
        IF v_left = 0 THEN
            SET v_pass = v_pass + 1;
            SET v_rest = p_grants;
            SET v_left = CHARACTER_LENGTH(p_grants, CODEUNITS32);
            SET v_at = 1;
            SET v_count = 0;
            SET v_last_type = '';
            SET v_last_id = '';
        ELSE
            SET v_colon = LOCATE(':', v_rest);
            SET v_length = -1;
            IF v_colon BETWEEN 2 AND 4 THEN
                SET v_digits = SUBSTRING(v_rest, 1, v_colon - 1, CODEUNITS32);
                IF TRANSLATE(v_digits, '0', '0123456789', '0') = REPEAT('0', v_colon - 1) THEN
                    SET v_length = CAST(v_digits AS INTEGER);
                END IF;
            END IF;
            IF v_length < 0 OR v_colon + v_length > v_left THEN
                SET v_reason = 'no field at character ' || CAST(v_at AS VARCHAR(10));
                LEAVE fields;
            END IF;
            SET v_value = RTRIM(SUBSTRING(v_rest, v_colon + 1, v_length, CODEUNITS32));
            SET v_field = v_field + 1;
            IF v_field = 1 THEN
                SET v_object_type = v_value;
                SET v_type_at = v_at + v_colon;
            ELSEIF v_field = 2 THEN
                SET v_object_id = v_value;
                SET v_id_at = v_at + v_colon;
            ELSEIF v_field = 3 THEN
                SET v_operator_id = v_value;
            ELSEIF v_field = 4 THEN
                SET v_fence_text = v_value;
            ELSE
                SET v_ttl_text = v_value;
            END IF;
            SET v_at = v_at + v_colon + v_length;
            SET v_left = v_left - v_colon - v_length;
            SET v_rest = SUBSTRING(v_rest, v_colon + v_length + 1, v_left, CODEUNITS32);
            IF v_left = 0 AND v_field < 5 THEN
                SET v_reason = 'a grant with too few fields';
                LEAVE fields;
            END IF;
        END IF;

        IF v_field = 5 THEN
            SET v_field = 0;
            SET v_count = v_count + 1;
            IF v_count > 1000 THEN
                SET v_reason = 'more than 1000 grants';
                LEAVE fields;
            END IF;
            SET v_fence = 0;
            SET v_ttl_seconds = 0;
            IF CHARACTER_LENGTH(v_fence_text, CODEUNITS32) BETWEEN 1 AND 19
                AND TRANSLATE(v_fence_text, '0', '0123456789', '0') = REPEAT('0', CHARACTER_LENGTH(v_fence_text, CODEUNITS32))
                AND (CHARACTER_LENGTH(v_fence_text, CODEUNITS32) < 19 OR v_fence_text <= '9223372036854775807')
            THEN
                SET v_digits = v_fence_text;
                SET v_fence = CAST(v_digits AS BIGINT);
            END IF;
            IF CHARACTER_LENGTH(v_ttl_text, CODEUNITS32) BETWEEN 1 AND 9
                AND TRANSLATE(v_ttl_text, '0', '0123456789', '0') = REPEAT('0', CHARACTER_LENGTH(v_ttl_text, CODEUNITS32))
            THEN
                SET v_digits = v_ttl_text;
                SET v_ttl_seconds = CAST(v_digits AS BIGINT);
            END IF;
            IF CHARACTER_LENGTH(v_object_type, CODEUNITS32) NOT BETWEEN 1 AND 64 OR LOCATE(':', v_object_type) > 0 THEN
                SET v_reason = 'no valid object_type';
            ELSEIF CHARACTER_LENGTH(v_object_id, CODEUNITS32) NOT BETWEEN 1 AND 255 THEN
                SET v_reason = 'no valid object_id';
            ELSEIF CHARACTER_LENGTH(v_operator_id, OCTETS) NOT BETWEEN 1 AND 255 THEN
                SET v_reason = 'no valid operator_id';
            ELSEIF v_fence < 1 THEN
                SET v_reason = 'no valid fence';
            ELSEIF v_ttl_seconds NOT BETWEEN 1 AND 315360000 THEN
                SET v_reason = 'no valid ttl_seconds';
            ELSEIF v_object_type = v_last_type AND v_object_id = v_last_id THEN
                SET v_reason = 'the same object twice';
            END IF;
            IF v_reason <> '' THEN
                SET v_reason = v_reason || ' in grant ' || CAST(v_count AS VARCHAR(10));
                LEAVE fields;
            END IF;
            SET v_last_type = v_object_type;
            SET v_last_id = v_object_id;

            IF v_pass = 2 THEN
                -- S1: is this grant live? The aggregates always return one row.
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
                SET v_verdict = 'L';
                SET v_changed = 1;
                IF v_rows = 1 AND v_old_released_ts IS NULL AND v_old_expires_ts > v_now
                    AND v_old_operator_id = v_operator_id AND v_old_fence = v_fence
                THEN
                    SET v_lock_ts = v_now;
                    IF v_old_lock_ts >= v_now THEN
                        SET v_lock_ts = v_old_lock_ts + (0.000001) SECOND;
                    END IF;
                    -- S1b: how long may the grant last?
                    SELECT COUNT(*), MAX(p.longest_ttl_seconds)
                    INTO v_policies, v_longest_ttl_seconds
                    FROM appl_lock_policy AS p
                    WHERE p.object_type = v_object_type
                    WITH CS;
                    IF v_ttl_seconds > v_longest_ttl_seconds THEN
                        SET v_ttl_seconds = v_longest_ttl_seconds;
                    END IF;
                    SET v_expires_ts = v_now + (v_ttl_seconds) SECOND;
                    SET v_verdict = 'R';
                    IF v_old_expires_ts > v_expires_ts THEN
                        SET v_expires_ts = v_old_expires_ts;
                        SET v_verdict = 'K';
                    END IF;

                    -- S2: renew it, if the row is unchanged.
                    UPDATE appl_lock AS l
                    SET lock_ts = v_lock_ts,
                        ttl_seconds = v_ttl_seconds,
                        expires_ts = v_expires_ts
                    WHERE l.object_type = v_object_type
                        AND l.object_id = v_object_id
                        AND l.fence = v_old_fence
                        AND l.lock_ts = v_old_lock_ts
                        AND l.expires_ts = v_old_expires_ts
                        AND l.released_ts IS NULL;
                    GET DIAGNOSTICS v_changed = ROW_COUNT;
                    IF v_changed = 1 AND v_old_history_fl = 'Y' THEN
                        CALL appl_lock_record(
                            v_now, v_object_type, v_object_id, 'RENEWED', v_operator_id,
                            v_operator_id, v_old_department_id, v_operator_id, v_old_department_id, v_fence, v_fence, ''
                        );
                    END IF;
                END IF;
                IF v_changed = 1 THEN
                    -- A result (L: lost, R: renewed, K: renewed, with its later end kept), the place of its key in p_grants,
                    -- and its ttl: 30 characters for each grant.
                    SET v_told = v_told + 1;
                    SET v_answers = v_answers || v_verdict
                        || CAST(v_type_at AS CHAR(5)) || CAST(CHARACTER_LENGTH(v_object_type, CODEUNITS32) AS CHAR(5))
                        || CAST(v_id_at AS CHAR(5)) || CAST(CHARACTER_LENGTH(v_object_id, CODEUNITS32) AS CHAR(5))
                        || CAST(v_ttl_seconds AS CHAR(9));
                END IF;
            END IF;
        END IF;
    END WHILE fields;
    IF v_reason <> '' THEN
        SET v_message = 'renew_appl_locks: p_grants has ' || v_reason;
        SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT = v_message;
    END IF;

    -- S3: the answer, with the holders of locks that are lost.
    BEGIN
        DECLARE answer CURSOR WITH RETURN FOR
            WITH told (verdict, object_type, object_id, ttl_seconds) AS (
                -- Most places are empty, which is NULL as a number.
                SELECT
                    SUBSTR(v_answers, 30 * p.n + 1, 1),
                    CAST(SUBSTRING(
                        p_grants,
                        CAST(NULLIF(SUBSTR(v_answers, 30 * p.n + 2, 5), '') AS INTEGER),
                        CAST(NULLIF(SUBSTR(v_answers, 30 * p.n + 7, 5), '') AS INTEGER),
                        CODEUNITS32
                    ) AS VARCHAR(256)),
                    CAST(SUBSTRING(
                        p_grants,
                        CAST(NULLIF(SUBSTR(v_answers, 30 * p.n + 12, 5), '') AS INTEGER),
                        CAST(NULLIF(SUBSTR(v_answers, 30 * p.n + 17, 5), '') AS INTEGER),
                        CODEUNITS32
                    ) AS VARCHAR(1020)),
                    CAST(NULLIF(SUBSTR(v_answers, 30 * p.n + 22, 9), '') AS BIGINT)
                FROM appl_lock_number AS p
                WHERE p.thousand = 0
                    AND p.n < v_told
            )
            SELECT
                t.object_type,
                t.object_id,
                CASE
                    WHEN t.verdict <> 'L' THEN CAST('RENEWED' AS VARCHAR(11))
                    WHEN l.expires_ts > v_now THEN 'HELD'
                    ELSE 'FREE'
                END AS outcome,
                CASE WHEN t.verdict = 'L' AND l.expires_ts > v_now THEN l.operator_id ELSE '' END AS old_operator_id,
                CASE WHEN t.verdict = 'L' AND l.expires_ts > v_now THEN l.department_id ELSE '' END AS old_department_id,
                CASE WHEN t.verdict = 'L' AND l.expires_ts > v_now THEN l.acquired_ts END AS acquired_ts,
                CASE WHEN t.verdict <> 'L' OR l.expires_ts > v_now THEN l.expires_ts END AS expires_ts,
                CASE
                    WHEN t.verdict = 'R' THEN t.ttl_seconds
                    WHEN l.expires_ts > v_now THEN SECONDS_UP(v_now, l.expires_ts)
                    ELSE 0
                END AS seconds_left
            FROM told AS t
            LEFT OUTER JOIN appl_lock AS l
                ON l.object_type = t.object_type
                AND l.object_id = t.object_id
                AND (t.verdict <> 'L' OR l.released_ts IS NULL)
            ORDER BY object_type, object_id
            WITH CS;
        OPEN answer;
    END;
END
@
