-- appl_lock_record: write an event of the history. Internal to applock: nobody is granted it.
--
-- Contract   One row, with the database user of the session. The caller has checked what it passes.
-- Raises     Nothing on purpose.
-- Locks      The new row, to the end of the caller's transaction.
-- Differs    program is empty: each platform of Db2 has another name for it.

--#SET TERMINATOR @

CREATE OR REPLACE PROCEDURE appl_lock_record (
    IN p_event_ts TIMESTAMP,
    IN p_object_type VARCHAR(4000),
    IN p_object_id VARCHAR(4000),
    IN p_event VARCHAR(16),
    IN p_actor_id VARCHAR(4000),
    IN p_from_operator_id VARCHAR(4000),
    IN p_from_department_id VARCHAR(4000),
    IN p_to_operator_id VARCHAR(4000),
    IN p_to_department_id VARCHAR(4000),
    IN p_from_fence BIGINT,
    IN p_to_fence BIGINT,
    IN p_reason VARCHAR(4000)
)
SPECIFIC appl_lock_record
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
BEGIN
    INSERT INTO appl_lock_event (
        event_ts, object_type, object_id, event, actor_id, db_user, program,
        from_operator_id, from_department_id, to_operator_id, to_department_id, from_fence, to_fence, reason
    )
    VALUES (
        p_event_ts, p_object_type, p_object_id, p_event, p_actor_id, SESSION_USER, '',
        p_from_operator_id, p_from_department_id, p_to_operator_id, p_to_department_id, p_from_fence, p_to_fence, p_reason
    );
END
@

COMMENT ON SPECIFIC PROCEDURE appl_lock_record IS 'Internal to applock: writes an event of the history.'
@
