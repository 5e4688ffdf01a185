-- The four procedures of the article "Using Stored Procedures to Lock Application Objects", with its
-- parameters in its order and types, on top of those of applock. For sites whose programs call those of the
-- article.
--
-- Install    Db2 for Linux, UNIX and Windows 11.5 and later, after applock, into the same schema: the commands are
--            in docs/from-the-article.md. It can be done again at any time; grants stay.
-- Call       CALL get_customer_lock(42, 'JDOE', 'CS', ?, ?, ?). Callers need EXECUTE on these procedures and no
--            privilege on the table.
-- Object     customer:<p_customer_id>, as the full API has it. 7 days, as in the article, or the longest of a
--            policy.
-- Out        'Y' or 'N'. Blank is CHAR(8) blank, never NULL; only the time of a lock that is not held is NULL. The
--            time is UTC.
-- Raises     22001 for an operator or department of more than 8 bytes: also that of the holder, who has locked
--            through the full API; nothing has changed then. LK001, LK003 and what the database raises as in
--            get_appl_lock and its siblings.
-- Tested     Not on Db2. Tests run it on HSQLDB, with applock's own procedures for Db2 under it, all of them after
--            the rewritings of internal/testing/hsqldb: docs/db2.md.

--#SET TERMINATOR @

CREATE OR REPLACE PROCEDURE get_customer_lock (
    IN p_customer_id BIGINT,
    IN p_operator_id CHAR(8),
    IN p_department_id CHAR(8),
    OUT p_lock_fl CHAR(1),
    OUT p_old_operator_id CHAR(8),
    OUT p_old_department_id CHAR(8)
)
SPECIFIC get_customer_lock
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
BEGIN
    DECLARE v_object_id VARCHAR(20);
    DECLARE v_department_id VARCHAR(256);
    DECLARE v_ttl_seconds BIGINT DEFAULT 604800;
    DECLARE v_lock_fl CHAR(1);
    DECLARE v_outcome VARCHAR(11);
    DECLARE v_fence BIGINT;
    DECLARE v_acquired_ts TIMESTAMP;
    DECLARE v_expires_ts TIMESTAMP;
    DECLARE v_seconds_left BIGINT;
    DECLARE v_note VARCHAR(1020);
    DECLARE v_old_operator_id VARCHAR(256);
    DECLARE v_old_department_id VARCHAR(256);

    IF p_customer_id IS NULL THEN
        SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT =
            'get_customer_lock: p_customer_id must not be NULL';
    END IF;
    SET v_object_id = CAST(p_customer_id AS VARCHAR(20));
    SET v_department_id = COALESCE(p_department_id, ' ');
    CALL get_appl_lock(
        'customer', v_object_id, p_operator_id, v_department_id,
        v_ttl_seconds, NULL,
        v_lock_fl, v_outcome,
        v_old_operator_id, v_old_department_id, v_fence, v_acquired_ts,
        v_expires_ts, v_seconds_left, v_note
    );
    IF LENGTH(v_old_operator_id) > 8
        OR LENGTH(v_old_department_id) > 8
    THEN
        SIGNAL SQLSTATE '22001' SET MESSAGE_TEXT =
            'get_customer_lock: holder too long for CHAR(8)';
    END IF;
    SET p_lock_fl = v_lock_fl;
    SET p_old_operator_id = v_old_operator_id;
    SET p_old_department_id = v_old_department_id;
END
@

CREATE OR REPLACE PROCEDURE release_customer_lock (
    IN p_customer_id BIGINT,
    IN p_operator_id CHAR(8),
    OUT p_return_cd CHAR(1),
    OUT p_old_operator_id CHAR(8),
    OUT p_old_department_id CHAR(8)
)
SPECIFIC release_customer_lock
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
BEGIN
    DECLARE v_object_id VARCHAR(20);
    DECLARE v_fence BIGINT;
    DECLARE v_return_cd CHAR(1);
    DECLARE v_outcome VARCHAR(11);
    DECLARE v_old_operator_id VARCHAR(256);
    DECLARE v_old_department_id VARCHAR(256);

    IF p_customer_id IS NULL THEN
        SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT =
            'release_customer_lock: p_customer_id must not be NULL';
    END IF;
    SET v_object_id = CAST(p_customer_id AS VARCHAR(20));
    CALL release_appl_lock(
        'customer', v_object_id, p_operator_id, v_fence, NULL, NULL,
        v_return_cd, v_outcome, v_old_operator_id, v_old_department_id
    );
    IF LENGTH(v_old_operator_id) > 8
        OR LENGTH(v_old_department_id) > 8
    THEN
        SIGNAL SQLSTATE '22001' SET MESSAGE_TEXT =
            'release_customer_lock: holder too long for CHAR(8)';
    END IF;
    SET p_return_cd = v_return_cd;
    SET p_old_operator_id = v_old_operator_id;
    SET p_old_department_id = v_old_department_id;
END
@

CREATE OR REPLACE PROCEDURE inquire_customer_lock (
    IN p_customer_id BIGINT,
    OUT p_return_cd CHAR(1),
    OUT p_operator_id CHAR(8),
    OUT p_department_id CHAR(8),
    OUT p_lock_ts TIMESTAMP
)
SPECIFIC inquire_customer_lock
LANGUAGE SQL
NOT DETERMINISTIC
READS SQL DATA
BEGIN
    DECLARE v_object_id VARCHAR(20);
    DECLARE v_return_cd CHAR(1);
    DECLARE v_fence BIGINT;
    DECLARE v_acquired_ts TIMESTAMP;
    DECLARE v_lock_ts TIMESTAMP;
    DECLARE v_expires_ts TIMESTAMP;
    DECLARE v_seconds_left BIGINT;
    DECLARE v_note VARCHAR(1020);
    DECLARE v_operator_id VARCHAR(256);
    DECLARE v_department_id VARCHAR(256);

    IF p_customer_id IS NULL THEN
        SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT =
            'inquire_customer_lock: p_customer_id must not be NULL';
    END IF;
    SET v_object_id = CAST(p_customer_id AS VARCHAR(20));
    CALL inquire_appl_lock(
        'customer', v_object_id,
        v_return_cd, v_operator_id, v_department_id,
        v_fence, v_acquired_ts, v_lock_ts, v_expires_ts,
        v_seconds_left, v_note
    );
    IF LENGTH(v_operator_id) > 8
        OR LENGTH(v_department_id) > 8
    THEN
        SIGNAL SQLSTATE '22001' SET MESSAGE_TEXT =
            'inquire_customer_lock: holder too long for CHAR(8)';
    END IF;
    SET p_return_cd = v_return_cd;
    SET p_operator_id = v_operator_id;
    SET p_department_id = v_department_id;
    SET p_lock_ts = v_lock_ts;
END
@

CREATE OR REPLACE PROCEDURE transfer_customer_lock (
    IN p_customer_id BIGINT,
    IN p_from_operator_id CHAR(8),
    IN p_to_operator_id CHAR(8),
    IN p_to_department_id CHAR(8),
    OUT p_return_cd CHAR(1),
    OUT p_old_operator_id CHAR(8),
    OUT p_old_department_id CHAR(8)
)
SPECIFIC transfer_customer_lock
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
BEGIN
    DECLARE v_object_id VARCHAR(20);
    DECLARE v_ttl_seconds BIGINT DEFAULT 604800;
    DECLARE v_return_cd CHAR(1);
    DECLARE v_outcome VARCHAR(11);
    DECLARE v_fence BIGINT;
    DECLARE v_acquired_ts TIMESTAMP;
    DECLARE v_expires_ts TIMESTAMP;
    DECLARE v_seconds_left BIGINT;
    DECLARE v_note VARCHAR(1020);
    DECLARE v_old_operator_id VARCHAR(256);
    DECLARE v_old_department_id VARCHAR(256);

    IF p_customer_id IS NULL THEN
        SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT =
            'transfer_customer_lock: p_customer_id must not be NULL';
    END IF;
    SET v_object_id = CAST(p_customer_id AS VARCHAR(20));
    CALL transfer_appl_lock(
        'customer', v_object_id, p_from_operator_id,
        p_to_operator_id, p_to_department_id, v_ttl_seconds, NULL, NULL,
        v_return_cd, v_outcome,
        v_old_operator_id, v_old_department_id, v_fence, v_acquired_ts,
        v_expires_ts, v_seconds_left
    );
    IF LENGTH(v_old_operator_id) > 8
        OR LENGTH(v_old_department_id) > 8
    THEN
        SIGNAL SQLSTATE '22001' SET MESSAGE_TEXT =
            'transfer_customer_lock: holder too long for CHAR(8)';
    END IF;
    SET p_return_cd = v_return_cd;
    SET p_old_operator_id = v_old_operator_id;
    SET p_old_department_id = v_old_department_id;
END
@
