-- appl_lock_record: write an event of the history. Internal: nobody is granted this; the operations call it with their
-- owner's rights, once they have changed the lock.
--
-- Contract   One row of appl_lock_event, with the user and the application_name of the session.
-- Raises     Nothing.
-- Locks      Nothing but the new row. It is part of the caller's transaction, as the change of the lock is.
-- Differs    Nothing.

CREATE OR REPLACE FUNCTION appl_lock_record(
    p_event text,
    p_object_type text,
    p_object_id text,
    p_actor_id text,
    p_from_operator_id text,
    p_from_department_id text,
    p_from_fence bigint,
    p_to_operator_id text,
    p_to_department_id text,
    p_to_fence bigint,
    p_reason text
) RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
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
        clock_timestamp(),
        p_object_type,
        p_object_id,
        p_event,
        p_actor_id,
        session_user,
        current_setting('application_name'),
        p_from_operator_id,
        p_from_department_id,
        p_to_operator_id,
        p_to_department_id,
        p_from_fence,
        p_to_fence,
        p_reason
    );
END
$$;

COMMENT ON FUNCTION appl_lock_record(text, text, text, text, text, text, bigint, text, text, bigint, text) IS
    'Internal to applock: writes an event of the history.';

REVOKE ALL ON FUNCTION appl_lock_record(text, text, text, text, text, text, bigint, text, text, bigint, text) FROM PUBLIC;
