-- transfer_appl_locks: hand over what an operator holds, all or of a type, page by page.
--
-- Contract   A page is at most p_max_rows live locks of p_from whose key is greater than (p_after_type, p_after_id), with a row for
--            each. The next page starts after the last row of this one; a page shorter than p_max_rows is the last.
--            TRANSFERRED: as transfer_appl_lock. BUSY: another transaction has locked the row. HELD, FREE: it has changed hands since the
--            page was read. These are left as they are. WOULD_TRANSFER: a dry run, without changes and without BUSY.
-- In         p_object_type: NULL = any. p_after_*: NULL = from the start. p_max_rows: 1..10000, NULL = 1000. The others as
--            transfer_appl_lock.
-- Out        fence: of the new grant, of the old one when BUSY or WOULD_TRANSFER, else 0. Ordered by key.
-- Raises     LK001 invalid argument. 1205, 1213, LK003 as transfer_appl_lock; then the page is undone, or the caller rolls back
--            its own transaction.
-- Locks      One row after the other in the order of the keys, to the end of the page or of the caller's transaction.
-- Race-free  As appl_lock_move_page. Two at once: neither waits, and one finds the other's rows BUSY or HELD.
-- Differs    In a transaction at REPEATABLE READ the page shows its snapshot, which the call may fix.

DELIMITER $$

CREATE PROCEDURE transfer_appl_locks_core(...)
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    CALL appl_lock_move_page(
        'transfer_appl_locks', p_from_operator_id, p_object_type, p_to_operator_id, p_to_department_id, p_ttl_seconds, p_actor_id, p_reason,
        p_after_type, p_after_id, p_max_rows, p_dry_run_fl
    );
END$$

DELIMITER ;
