-- serialize_appl_lock: let one transaction at a time work on an object.
--
-- Contract   Returns when no other open transaction is inside for this object, and keeps the others
--            out until the caller's transaction commits or rolls back. Leaves nothing behind. Has
--            nothing to do with appl_lock: an object may be locked and serialized independently.
--            Calling it again in the same transaction returns at once. Under autocommit it has no effect.
-- In         p_object_type 1..64 characters without ":"; p_object_id 1..255. Trailing blanks are trimmed.
-- Out        None; the row form returns p_ok_fl 'Y'.
-- Raises     LK001 invalid argument. LK003 when an upgrade is replacing the routine. At REPEATABLE READ 40001, when the
--            caller's snapshot is older than the former transaction's commit: roll back and begin again, with this call first.
--            A deadlock is 1213. The caller's own innodb_lock_wait_timeout bounds the wait (1205); there is no other bound.
-- Locks      One row of appl_lock_serialize, chosen by a hash of the object. The rows are permanent: on rows that come and go,
--            three transactions would deadlock as soon as the first rolls back or InnoDB's purge thread removes a row.
-- Race-free  Two callers: S1 locks the row for one, and for the next when the first has ended.
--            The caller's next read sees all that the former one committed: S1 is a locking read, and
--            S2 finds a snapshot that is older than S1, because every turn is counted (S3).
-- Differs    A row, not an advisory lock: GET_LOCK belongs to the session, not to the transaction. One in
--            65536 other objects has the same row, and so waits for this one; several of them in one
--            transaction may deadlock in any order. The turn is counted so that Galera, too, sees that two
--            nodes were inside (1213 at commit).

DELIMITER $$

CREATE PROCEDURE serialize_appl_lock_core(...)
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_slot INT;
    DECLARE v_turn BIGINT;
    DECLARE v_seen BIGINT;
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
    -- 1422: a function or trigger.
    DECLARE CONTINUE HANDLER FOR 1422 CALL appl_lock_inside();

    CALL appl_lock_key('serialize_appl_lock', p_object_type, p_object_id);
    CALL appl_lock_enter();
    SET v_slot = CRC32(CONCAT(p_object_type, ':', p_object_id)) MOD 65536;
    -- S1: wait for the turn.
    SELECT s.turn
    INTO v_turn
    FROM appl_lock_serialize AS s
    WHERE s.slot = v_slot
    FOR UPDATE;
    IF v_turn IS NULL THEN
        SIGNAL SQLSTATE '42S02' SET
            MYSQL_ERRNO = 1146,
            MESSAGE_TEXT = 'serialize_appl_lock: appl_lock_serialize has lost rows, install it again';
    END IF;

    -- S2: does the caller's snapshot show the former turn?
    SELECT s.turn
    INTO v_seen
    FROM appl_lock_serialize AS s
    WHERE s.slot = v_slot;
    IF v_seen < v_turn THEN
        SIGNAL SQLSTATE '40001' SET
            MYSQL_ERRNO = 1213,
            MESSAGE_TEXT = 'serialize_appl_lock: the snapshot is older than the turn; roll back and begin again';
    END IF;

    -- S3: count it.
    UPDATE appl_lock_serialize AS s
    SET s.turn = s.turn + 1
    WHERE s.slot = v_slot;
END$$

DELIMITER ;
