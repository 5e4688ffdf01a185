-- serialize_appl_lock: let one transaction at a time work on an object.
--
-- Contract   Returns when no other open transaction is inside for this object, and keeps the others
--            out until the caller's transaction commits or rolls back. Leaves nothing behind. Has
--            nothing to do with appl_lock: an object may be locked and serialized independently.
--            Calling it again in the same transaction returns at once. Under autocommit it has no effect.
-- In         p_object_type 1..64 characters without ":"; p_object_id 1..255. Trailing blanks are trimmed.
-- Out        None; the row form returns p_ok_fl 'Y'.
-- Raises     LK001 invalid argument. -911/40001 as a deadlock's victim (reason 2), and when the caller's own
--            lock timeout ends the wait (reason 68); there is no other bound, and Db2's default is none.
-- Locks      The key of one row of appl_lock_serialize, which S1 inserts and S2 deletes; held to the end of
--            the caller's transaction.
-- Race-free  Two callers: the unique key makes the second wait for what becomes of the first one's row; at
--            commit it is gone, at rollback it has never been there. Its next statement sees all that the
--            first one committed. No row is ever committed, so 23505 cannot happen.
-- Differs    A row that comes and goes, as in the article on the database semaphore.

--#SET TERMINATOR @

CREATE OR REPLACE PROCEDURE serialize_appl_lock (...)
SPECIFIC serialize_appl_lock
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
main: BEGIN
    DECLARE v_object_type, v_object_id VARCHAR(4000);

    SET v_object_type = RTRIM(COALESCE(p_object_type, ''));
    SET v_object_id = RTRIM(COALESCE(p_object_id, ''));
    IF CHARACTER_LENGTH(v_object_type, CODEUNITS32) NOT BETWEEN 1 AND 64 OR LOCATE(':', v_object_type) > 0 THEN
        CALL appl_lock_refuse_text('serialize_appl_lock', 'p_object_type', CHARACTER_LENGTH(v_object_type, CODEUNITS32), 64);
    ELSEIF CHARACTER_LENGTH(v_object_id, CODEUNITS32) NOT BETWEEN 1 AND 255 THEN
        CALL appl_lock_refuse_text('serialize_appl_lock', 'p_object_id', CHARACTER_LENGTH(v_object_id, CODEUNITS32), 255);
    END IF;
    IF NOT_PLAIN(v_object_type || v_object_id) THEN
        CALL appl_lock_check_text('serialize_appl_lock', 'p_object_type', v_object_type);
        CALL appl_lock_check_text('serialize_appl_lock', 'p_object_id', v_object_id);
    END IF;

    -- S1: take the turn.
    INSERT INTO appl_lock_serialize (object_type, object_id)
    VALUES (v_object_type, v_object_id);

    -- S2: leave nothing behind.
    DELETE FROM appl_lock_serialize
    WHERE object_type = v_object_type
        AND object_id = v_object_id;
END main
@
