-- appl_lock_enter, appl_lock_look, appl_lock_inside, appl_lock_refuse, appl_lock_restore, appl_lock_begin, appl_lock_end: what a
-- call needs from its session, and transactions of a call's own. Internal: nobody is granted these.
--
-- Contract   Enter comes first in a verb that writes. From then on time is the server's, whatever SET timestamp said. It
--            refuses a server that is read only, and a session in which a killed call has left its transaction open. Look does
--            the same and tells whether a transaction is open; if none is, it leaves read_only to appl_lock_begin. In a
--            function or trigger both raise 1422, because of a COMMIT that they never reach. Then call appl_lock_inside, which
--            does the same there, and assume that a transaction is open.
--            Begin begins a transaction, unless the caller has one, and p_began tells which. End ends it. Between them
--            @appl_lock_own is set: FALSE until there is a savepoint, TRUE from then on. KILL QUERY runs no handler and leaves
--            both. So the next call finds the marker, and the savepoint proves that the transaction is still the same.
--            A setting that a call changes is in @appl_lock_wait, @appl_lock_safe or @appl_lock_length meanwhile, as it was, and
--            the next call puts back what is there. A call within another keeps what the outer one has put there.
-- In         p_commit: FALSE rolls back. p_open: TRUE.
-- Out        p_open, p_began.
-- Raises     1290 the server is read only. 1179 a killed call left its transaction open: send ROLLBACK. If it was killed before
--            it had its savepoint, the caller's next transaction is mistaken for it once.
-- Locks      Nothing.
-- Race-free  SET TRANSACTION raises 1568 when a transaction is open. Its READ WRITE is for the next transaction only, so the caller
--            of appl_lock_look reads before it writes, and appl_lock_begin reads: a session whose transactions are read only
--            stays so.
-- Differs    A function or trigger keeps the time of its statement, so appl_lock_inside sets that time from SYSDATE.

DELIMITER $$

CREATE PROCEDURE appl_lock_refuse()
COMMENT 'Internal to applock: refuses a server or a session that must not write.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_set BOOLEAN DEFAULT @appl_lock_own;
    DECLARE v_left BOOLEAN DEFAULT TRUE;
    -- 1305: no such savepoint. If the killed call had set it, its transaction has ended, and what is open now is the caller's.
    DECLARE CONTINUE HANDLER FOR 1305 SET v_left = NOT v_set;
    IF LOCATE(@@GLOBAL.read_only, '0 OFF') = 0 THEN
        SIGNAL SQLSTATE 'HY000' SET
            MYSQL_ERRNO = 1290, MESSAGE_TEXT = 'applock: the server is read_only: call the primary, or end read_only there';
    END IF;
    SET @appl_lock_own = FALSE;
    RELEASE SAVEPOINT appl_lock_own;
    IF v_left THEN
        SAVEPOINT appl_lock_own;
        SET @appl_lock_own = TRUE;
        SIGNAL SQLSTATE '25000' SET
            MYSQL_ERRNO = 1179, MESSAGE_TEXT = 'applock: a call that was killed has left its transaction open: send ROLLBACK';
    END IF;
    SET @appl_lock_own = NULL;
END$$

CREATE PROCEDURE appl_lock_restore()
COMMENT 'Internal to applock: puts settings back that a killed call had changed.'
CONTAINS SQL
SQL SECURITY DEFINER
BEGIN
    DECLARE v_timeout BIGINT DEFAULT COALESCE(@appl_lock_wait, @@SESSION.innodb_lock_wait_timeout);
    DECLARE v_safe_updates BOOLEAN DEFAULT COALESCE(@appl_lock_safe, @@SESSION.sql_safe_updates + 0);
    DECLARE v_max_length BIGINT UNSIGNED DEFAULT COALESCE(@appl_lock_length, @@SESSION.group_concat_max_len);
    SET SESSION innodb_lock_wait_timeout = v_timeout, SESSION sql_safe_updates = v_safe_updates, SESSION group_concat_max_len = v_max_length,
        @appl_lock_wait = NULL, @appl_lock_safe = NULL, @appl_lock_length = NULL;
END$$

CREATE PROCEDURE appl_lock_enter()
COMMENT 'Internal to applock: corrects the time, and refuses a server or a session that must not write.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    SET SESSION timestamp = DEFAULT;
    IF COALESCE(@appl_lock_wait, @appl_lock_safe, @appl_lock_length) IS NOT NULL THEN
        CALL appl_lock_restore();
    END IF;
    IF LOCATE(@@GLOBAL.read_only, '0 OFF') = 0 OR @appl_lock_own IS NOT NULL THEN
        CALL appl_lock_refuse();
    END IF;
    IF FALSE THEN
        COMMIT;
    END IF;
END$$

CREATE PROCEDURE appl_lock_look(
    INOUT p_open BOOLEAN
)
COMMENT 'Internal to applock: appl_lock_enter, and returns whether a transaction is open.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE CONTINUE HANDLER FOR 1568 SET p_open = TRUE;
    SET SESSION timestamp = DEFAULT;
    IF @@SESSION.autocommit THEN
        SET p_open = FALSE;
        SET TRANSACTION READ WRITE;
    END IF;
    IF COALESCE(@appl_lock_wait, @appl_lock_safe, @appl_lock_length) IS NOT NULL THEN
        CALL appl_lock_restore();
    END IF;
    IF p_open THEN
        IF LOCATE(@@GLOBAL.read_only, '0 OFF') = 0 OR @appl_lock_own IS NOT NULL THEN
            CALL appl_lock_refuse();
        END IF;
    END IF;
    IF FALSE THEN
        COMMIT;
    END IF;
END$$

CREATE PROCEDURE appl_lock_inside()
COMMENT 'Internal to applock: appl_lock_enter for a function or trigger.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_time_zone VARCHAR(64) DEFAULT @@SESSION.time_zone;
    -- UTC: in another zone SYSDATE is ambiguous for an hour a year.
    SET SESSION time_zone = '+00:00';
    SET SESSION timestamp = UNIX_TIMESTAMP(SYSDATE(6));
    SET SESSION timestamp = DEFAULT;
    SET SESSION time_zone = v_time_zone;
    IF @appl_lock_own IS NOT NULL THEN
        SIGNAL SQLSTATE '25000' SET
            MYSQL_ERRNO = 1179,
            MESSAGE_TEXT = 'applock: a call that was killed may have left its transaction open: send ROLLBACK, then call get once by CALL';
    END IF;
    IF LOCATE(@@GLOBAL.read_only, '0 OFF') = 0 THEN
        CALL appl_lock_refuse();
    END IF;
END$$

CREATE PROCEDURE appl_lock_begin(
    OUT p_began BOOLEAN
)
COMMENT 'Internal to applock: begins a transaction, unless there is one.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_slot INT;
    DECLARE EXIT HANDLER FOR 1568 BEGIN END;
    SET p_began = FALSE;
    IF LOCATE(@@GLOBAL.read_only, '0 OFF') = 0 THEN
        CALL appl_lock_refuse();
    END IF;
    IF @@SESSION.autocommit THEN
        SET TRANSACTION READ WRITE;
        SELECT s.slot, FALSE INTO v_slot, @appl_lock_own FROM appl_lock_serialize AS s WHERE s.slot = 0;
        START TRANSACTION;
        SAVEPOINT appl_lock_own;
        SET @appl_lock_own = TRUE;
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
    SET @appl_lock_own = NULL;
END$$

DELIMITER ;
