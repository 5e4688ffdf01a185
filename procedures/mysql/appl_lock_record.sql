-- appl_lock_record: write an event of the history. appl_lock_begin, appl_lock_end: have a change of a lock and its event in one
-- transaction. Internal: nobody is granted these; the operations call them with their owner's rights.
--
-- Contract   appl_lock_record writes one row of appl_lock_event, with the user of the session. (MySQL tells the name of the
--            program only to who may read performance_schema.)
--            appl_lock_begin begins a transaction and says so, unless the caller has one: what is called under
--            autocommit is otherwise a transaction for each statement. appl_lock_end ends it. They are procedures of
--            their own because a function or trigger may call nothing that begins or ends a transaction: there error
--            1422 comes back, and all is one transaction anyway.
-- Raises     1422 as above.
-- Locks      Nothing but the new row.
-- Differs    From PostgreSQL, where a call is a transaction.

DELIMITER $$

CREATE PROCEDURE appl_lock_record(
    IN p_event VARCHAR(16) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_type VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_actor_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_from_operator_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_from_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_from_fence BIGINT,
    IN p_to_operator_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_to_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_to_fence BIGINT,
    IN p_reason VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
COMMENT 'Internal to applock: writes an event of the history.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_insert_id BIGINT UNSIGNED DEFAULT LAST_INSERT_ID();
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
        UTC_TIMESTAMP(6),
        p_object_type,
        p_object_id,
        p_event,
        p_actor_id,
        LEFT(USER(), 255),
        '',
        p_from_operator_id,
        p_from_department_id,
        p_to_operator_id,
        p_to_department_id,
        p_from_fence,
        p_to_fence,
        p_reason
    );
    -- The event's number is no business of the caller's.
    DO LAST_INSERT_ID(v_insert_id);
END$$

CREATE PROCEDURE appl_lock_begin(
    OUT p_began BOOLEAN
)
COMMENT 'Internal to applock: begins a transaction, unless there is one.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    -- 1568: a transaction is open. (MariaDB would tell by @@in_transaction, MySQL has no such variable.)
    DECLARE EXIT HANDLER FOR 1568 BEGIN END;
    SET p_began = FALSE;
    IF @@SESSION.autocommit THEN
        SET TRANSACTION READ WRITE;
        START TRANSACTION;
        SET p_began = TRUE;
    END IF;
END$$

CREATE PROCEDURE appl_lock_end(
    IN p_commit BOOLEAN
)
COMMENT 'Internal to applock: ends a transaction that appl_lock_begin has begun.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    IF p_commit THEN
        COMMIT AND NO CHAIN NO RELEASE;
    ELSE
        ROLLBACK AND NO CHAIN NO RELEASE;
    END IF;
END$$

DELIMITER ;
