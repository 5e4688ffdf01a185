-- appl_lock_record: write an event of the history. Internal: nobody is granted it.
--
-- Contract   Writes one row of appl_lock_event, with the user of the session. (MySQL tells the program's name only to a reader of
--            performance_schema.) The number is the table's next one, whatever SET insert_id said, and LAST_INSERT_ID stays.
--            Numbers never fall, as fences do not: where the next one is behind the clock by more than a minute, the event gets
--            the clock, in microseconds, which raises the table's numbers. So a counter that was lost or set back does no harm.
-- In         The columns of the event.
-- Out        None.
-- Raises     Nothing of its own.
-- Locks      Nothing but the new row.
-- Race-free  The routine resets a forced number before the INSERT. MySQL then forces 0 once: that row is deleted, and the next
--            INSERT gets the table's number.
--            Connections raise to numbers that are 1024 apart, so two that raise at once have two numbers, and neither waits; a
--            number that exists nevertheless is drawn anew. A raised number is the table's at once, whatever becomes of the transaction.
-- Differs    From PostgreSQL, where no session chooses a number. The raise is an INSERT: DDL would commit the caller's transaction.
--            A minute, not a second, since it costs two more writes; inbox_appl_locks looks back further. The engine keeps the
--            table's number above every row.

DELIMITER $$

CREATE PROCEDURE appl_lock_record(
    IN p_event VARCHAR(16),
    IN p_object_type VARCHAR(64),
    IN p_object_id VARCHAR(255),
    IN p_actor_id VARCHAR(255),
    IN p_from_operator_id VARCHAR(255),
    IN p_from_department_id VARCHAR(64),
    IN p_from_fence BIGINT,
    IN p_to_operator_id VARCHAR(255),
    IN p_to_department_id VARCHAR(64),
    IN p_to_fence BIGINT,
    IN p_reason VARCHAR(255)
)
COMMENT 'Internal to applock: writes an event of the history.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_insert_id BIGINT UNSIGNED DEFAULT LAST_INSERT_ID();
    DECLARE v_clock BIGINT DEFAULT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6));
    DECLARE v_event_id BIGINT;
    DECLARE v_step BIGINT;
    DECLARE v_taken BOOLEAN DEFAULT FALSE;
    -- Somebody else has raised the numbers meanwhile, or has drawn this one since.
    DECLARE CONTINUE HANDLER FOR 1062 SET v_taken = TRUE;
    IF @@SESSION.insert_id <> 0 THEN
        SET SESSION insert_id = 0;
    END IF;
    DO LAST_INSERT_ID(0);
    numbered: LOOP
        INSERT INTO appl_lock_event (
            event_id, event_ts, object_type, object_id, event, actor_id, db_user, program,
            from_operator_id, from_department_id, to_operator_id, to_department_id, from_fence, to_fence, reason
        )
        VALUES (
            v_event_id, UTC_TIMESTAMP(6), p_object_type, p_object_id, p_event, p_actor_id, LEFT(USER(), 255), '',
            p_from_operator_id, p_from_department_id, p_to_operator_id, p_to_department_id, p_from_fence, p_to_fence, p_reason
        );
        IF v_taken THEN
            SET v_taken = FALSE;
            SET v_event_id = NULL;
            DO LAST_INSERT_ID(0);
            ITERATE numbered;
        END IF;
        IF v_event_id > 0 OR LAST_INSERT_ID() > v_clock - 60000000 THEN
            LEAVE numbered;
        END IF;
        DELETE FROM appl_lock_event WHERE event_id = LAST_INSERT_ID();
        IF LAST_INSERT_ID() > 0 THEN
            -- 1024 of this server's numbers apart, so that what others draw behind the number of one meets no number of another.
            SET v_step = 1024 * @@SESSION.auto_increment_increment;
            SET v_event_id = (v_clock DIV v_step + MOD(CONNECTION_ID(), 1024)) * v_step + @@SESSION.auto_increment_offset;
        END IF;
    END LOOP numbered;
    DO LAST_INSERT_ID(v_insert_id);
END$$

DELIMITER ;
