-- operator
REVOKE ALL ON ALL ROUTINES IN SCHEMA applock FROM PUBLIC;
GRANT USAGE ON SCHEMA applock TO applock_operator;
GRANT EXECUTE ON PROCEDURE
    applock.get_appl_lock,
    applock.release_appl_lock,
    applock.inquire_appl_lock,
    applock.note_appl_lock,
    applock.assert_appl_lock,
    applock.serialize_appl_lock,
    applock.announce_appl_lock_waiter,
    applock.retract_appl_lock_waiter,
    applock.ask_appl_lock,
    applock.answer_appl_lock
    TO applock_operator;
GRANT EXECUTE ON FUNCTION
    applock.get_appl_lock_row,
    applock.get_appl_lock_permit,
    applock.release_appl_lock_row,
    applock.release_appl_locks,
    applock.inquire_appl_lock_row,
    applock.note_appl_lock_row,
    applock.assert_appl_lock_row,
    applock.serialize_appl_lock_row,
    applock.renew_appl_locks,
    applock.announce_appl_lock_waiter_row,
    applock.retract_appl_lock_waiter_row,
    applock.poll_appl_locks,
    applock.inbox_appl_locks,
    applock.see_appl_lock,
    applock.ask_appl_lock_row,
    applock.answer_appl_lock_row,
    applock.appl_lock_version
    TO applock_operator;
GRANT SELECT ON TABLE
    applock.appl_lock_live,
    applock.appl_lock_waiting,
    applock.appl_lock_asking,
    applock.appl_lock_viewers,
    applock.appl_lock_history,
    applock.appl_lock_policies
    TO applock_operator;

-- supervisor
REVOKE ALL ON ALL ROUTINES IN SCHEMA applock FROM PUBLIC;
GRANT USAGE ON SCHEMA applock TO applock_supervisor;
GRANT EXECUTE ON PROCEDURE
    applock.get_appl_lock,
    applock.release_appl_lock,
    applock.inquire_appl_lock,
    applock.transfer_appl_lock,
    applock.take_appl_lock,
    applock.note_appl_lock,
    applock.assert_appl_lock,
    applock.serialize_appl_lock,
    applock.announce_appl_lock_waiter,
    applock.retract_appl_lock_waiter,
    applock.ask_appl_lock,
    applock.answer_appl_lock
    TO applock_supervisor;
GRANT EXECUTE ON FUNCTION
    applock.get_appl_lock_row,
    applock.get_appl_lock_permit,
    applock.release_appl_lock_row,
    applock.release_appl_locks,
    applock.inquire_appl_lock_row,
    applock.transfer_appl_lock_row,
    applock.take_appl_lock_row,
    applock.transfer_appl_locks,
    applock.note_appl_lock_row,
    applock.assert_appl_lock_row,
    applock.serialize_appl_lock_row,
    applock.renew_appl_locks,
    applock.announce_appl_lock_waiter_row,
    applock.retract_appl_lock_waiter_row,
    applock.poll_appl_locks,
    applock.inbox_appl_locks,
    applock.see_appl_lock,
    applock.ask_appl_lock_row,
    applock.answer_appl_lock_row,
    applock.appl_lock_version
    TO applock_supervisor;
GRANT SELECT ON TABLE
    applock.appl_lock_live,
    applock.appl_lock_waiting,
    applock.appl_lock_asking,
    applock.appl_lock_viewers,
    applock.appl_lock_history,
    applock.appl_lock_policies,
    applock.appl_lock_stats
    TO applock_supervisor;

-- auditor
REVOKE ALL ON ALL ROUTINES IN SCHEMA applock FROM PUBLIC;
GRANT USAGE ON SCHEMA applock TO applock_auditor;
GRANT EXECUTE ON PROCEDURE
    applock.inquire_appl_lock
    TO applock_auditor;
GRANT EXECUTE ON FUNCTION
    applock.inquire_appl_lock_row,
    applock.appl_lock_version
    TO applock_auditor;
GRANT SELECT ON TABLE
    applock.appl_lock_live,
    applock.appl_lock_waiting,
    applock.appl_lock_asking,
    applock.appl_lock_viewers,
    applock.appl_lock_history,
    applock.appl_lock_policies,
    applock.appl_lock_stats
    TO applock_auditor;

-- janitor
REVOKE ALL ON ALL ROUTINES IN SCHEMA applock FROM PUBLIC;
GRANT USAGE ON SCHEMA applock TO applock_janitor;
GRANT EXECUTE ON PROCEDURE
    applock.purge_appl_locks
    TO applock_janitor;
GRANT EXECUTE ON FUNCTION
    applock.purge_appl_locks_row,
    applock.appl_lock_version
    TO applock_janitor;
GRANT SELECT ON TABLE
    applock.appl_lock_stats
    TO applock_janitor;

-- administrator
REVOKE ALL ON ALL ROUTINES IN SCHEMA applock FROM PUBLIC;
GRANT USAGE ON SCHEMA applock TO applock_administrator;
GRANT EXECUTE ON PROCEDURE
    applock.purge_appl_lock_history,
    applock.set_appl_lock_policy,
    applock.drop_appl_lock_policy
    TO applock_administrator;
GRANT EXECUTE ON FUNCTION
    applock.purge_appl_lock_history_row,
    applock.set_appl_lock_policy_row,
    applock.drop_appl_lock_policy_row,
    applock.appl_lock_version
    TO applock_administrator;
GRANT SELECT ON TABLE
    applock.appl_lock_history,
    applock.appl_lock_policies
    TO applock_administrator;
