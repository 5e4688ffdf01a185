-- appl_lock_place: which row of an inbox_appl_locks page has a given request. Internal: nobody is granted it.
--
-- Contract   The number of rows before the request, plus one. It counts requests and waiters for locks that the operator no
--            longer holds, and all others of the same microsecond. So the place is never too far in front.
-- In         Checked arguments, as inbox_appl_locks. p_since_ts: since when the request asks.
-- Out        p_place: 1 = the first row.
-- Raises     Nothing of its own.
-- Locks      None. It reads by index only, and no more events than a page has.
-- Race-free  The answer is one snapshot.
-- Differs    The call comes after the page. Each waiter that has left meanwhile moves the request one place to the front.

DELIMITER $$

CREATE PROCEDURE appl_lock_place(
    IN p_operator_id VARCHAR(255),
    IN p_after_event_id BIGINT,
    IN p_max_rows BIGINT,
    IN p_now DATETIME(6),
    IN p_since_ts DATETIME(6),
    OUT p_place BIGINT
)
COMMENT 'Internal to applock: returns the place of a request on a page of inbox_appl_locks.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    SELECT COUNT(*)
    INTO p_place
    FROM (
        (
            SELECT e.event_id
            FROM appl_lock_event AS e FORCE INDEX (appl_lock_event_from_ix)
            WHERE e.from_operator_id = p_operator_id
                AND e.event_id > p_after_event_id
                AND e.event IN ('TAKEN', 'TRANSFERRED', 'RELEASED', 'GIVEN', 'YIELDED')
                AND (e.actor_id <> p_operator_id OR e.event IN ('GIVEN', 'YIELDED'))
                AND e.to_operator_id <> p_operator_id
            ORDER BY e.event_id
            LIMIT p_max_rows
        )
        UNION ALL
        (
            SELECT e.event_id
            FROM appl_lock_event AS e FORCE INDEX (appl_lock_event_to_ix)
            WHERE e.to_operator_id = p_operator_id
                AND e.event_id > p_after_event_id
                AND e.event IN ('TRANSFERRED', 'GIVEN', 'YIELDED')
                AND (e.actor_id <> p_operator_id OR e.event = 'YIELDED')
            ORDER BY e.event_id
            LIMIT p_max_rows
        )
        UNION ALL
        SELECT 0
        FROM appl_lock_waiter AS w FORCE INDEX (appl_lock_waiter_holder_ix)
        WHERE w.holder_id = p_operator_id
            AND w.operator_id <> p_operator_id
            AND w.expires_ts > p_now
            AND w.since_ts <= p_since_ts
        UNION ALL
        SELECT 0
        FROM appl_lock_ask AS q FORCE INDEX (appl_lock_ask_holder_ix)
        WHERE q.holder_id = p_operator_id
            AND q.answer <> 'NO'
            AND q.expires_ts > p_now
            AND q.since_ts <= p_since_ts
        UNION ALL
        SELECT 0
        FROM appl_lock_ask AS q FORCE INDEX (appl_lock_ask_operator_ix)
        WHERE q.operator_id = p_operator_id
            AND q.answer <> ''
            AND q.expires_ts > p_now
            AND q.answered_ts <= p_since_ts
    ) AS b;
END$$

DELIMITER ;
