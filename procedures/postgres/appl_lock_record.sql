-- appl_lock_record: write an event of the history. Internal: the operations call it once they have changed the lock.
--
-- Contract   One row of appl_lock_event, with the user and the application_name of the session.
--            next_xid is greater than every transaction id that was assigned before the event got its number. Each transaction
--            gets its id before its first number. So once a reader's xmin has reached next_xid, every transaction still open
--            has greater numbers than this event: inbox_appl_locks relies on it.
--            Numbers never fall, as fences do not: a number that is behind the clock by more than a second raises the sequence
--            to the clock, in microseconds. So a sequence that was lost, set back, or restored does no harm.
-- Raises     Nothing.
-- Locks      Nothing but the new row. It is part of the caller's transaction, as the change of the lock is. While it raises the
--            sequence, an advisory lock, which it gives back at once.
-- Race-free  S1 to S3 keep this order. A probe of an id that is not assigned yet raises. The first eight ids are probed one by
--            one, later ones in growing steps. Too great an id does no harm: the event only counts as safe later.
--            S2: one at a time raises the sequence, and a raised number is the sequence's at once, whatever becomes of the
--            transaction. Only a number that was no time yet is compared with the table's: that happens once to a sequence, so
--            transactions at SERIALIZABLE do not read where others insert.
-- Differs    Nothing: this is the reference.

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
DECLARE
    -- S1: an id for this transaction, or the greatest one that is known to be assigned.
    v_first bigint := greatest(
        pg_current_xact_id()::text::bigint, pg_snapshot_xmax(pg_current_snapshot())::text::bigint - 1
    );
    -- S2: a number for the event.
    v_event_id bigint := pg_catalog.nextval('appl_lock_event_event_id_seq');
    v_clock bigint := (extract(epoch FROM clock_timestamp()) * 1000000::numeric)::bigint;
    v_next bigint := v_first;
    v_status text;
BEGIN
    IF v_event_id < v_clock - 1000000::bigint THEN
        BEGIN
            PERFORM pg_advisory_xact_lock(1819304812, 'appl_lock_event_event_id_seq'::regclass::oid::integer);
            v_event_id := pg_catalog.nextval('appl_lock_event_event_id_seq');
            IF v_event_id < v_clock - 1000000::bigint THEN
                v_event_id := pg_catalog.setval('appl_lock_event_event_id_seq', greatest(
                    v_clock, CASE WHEN v_event_id < 1000000000000000 THEN (SELECT max(e.event_id) + 1::bigint FROM appl_lock_event AS e) END
                ));
            END IF;
            -- Undone is the advisory lock. A sequence never goes back.
            RAISE EXCEPTION USING ERRCODE = 'LK999';
        EXCEPTION
            WHEN SQLSTATE 'LK999' THEN
                NULL;
        END;
    END IF;

    -- S3: an id that no transaction has yet.
    BEGIN
        LOOP
            v_next := v_next + 1 + (v_next - v_first) / 8;
            v_status := pg_xact_status(v_next::text::xid8);
        END LOOP;
    EXCEPTION
        WHEN invalid_parameter_value THEN
            NULL;
    END;

    INSERT INTO appl_lock_event (
        event_id,
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
        reason,
        next_xid
    )
    OVERRIDING SYSTEM VALUE
    VALUES (
        v_event_id,
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
        p_reason,
        v_next::text::xid8
    );
END
$$;

COMMENT ON FUNCTION appl_lock_record(text, text, text, text, text, text, bigint, text, text, bigint, text) IS
    'Internal to applock: writes an event of the history.';
