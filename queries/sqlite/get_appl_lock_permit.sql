-- get_appl_lock_permit: take or renew one of the N permits of an object for one operator until it expires.
--
-- Contract   As procedures/postgres/get_appl_lock_permit.sql. The driver runs S1, and if the operator has a slot or one is
--            free, in one transaction S1 again and get_appl_lock for the first slot that S1 names.
-- In         The arguments as the facade has checked and trimmed them.
-- Out        S1: a row for each slot: the operator's own one first, then those that are free, then those of others, the
--            soonest to expire first. One that is free has no operator. is_own is 1 for the operator's.
-- Raises     Nothing of its own; SQLITE_BUSY as the engine has it.
-- Locks      S1 none, so FULL locks nothing. A grant takes the one write lock of the database file, to the end of the caller's
--            transaction.
-- Race-free  SQLite lets one transaction write at a time: the second S1 decides. So an operator never has two slots, and FULL
--            was true at one moment.
-- Differs    It waits for any writer of the file, not only for one of these slots.

-- name: GetApplLockPermitSlots :many
WITH digit (d) AS (
    SELECT 0
    UNION ALL SELECT 1
    UNION ALL SELECT 2
    UNION ALL SELECT 3
    UNION ALL SELECT 4
    UNION ALL SELECT 5
    UNION ALL SELECT 6
    UNION ALL SELECT 7
    UNION ALL SELECT 8
    UNION ALL SELECT 9
),
slot (place) AS (
    SELECT 100 * a.d + 10 * b.d + c.d + 1
    FROM digit AS a
    CROSS JOIN digit AS b
    CROSS JOIN digit AS c
)
SELECT
    CAST(CAST(@object_id AS TEXT) || '#' || s.place AS TEXT) AS slot_id,
    CAST(coalesce(l.operator_id, '') AS TEXT) AS operator_id,
    CAST(coalesce(l.department_id, '') AS TEXT) AS department_id,
    CAST(coalesce(l.fence, 0) AS INTEGER) AS fence,
    l.acquired_ts,
    l.expires_ts,
    CAST(coalesce(l.seconds_left, 0) AS INTEGER) AS seconds_left,
    CAST(coalesce(l.note, '') AS TEXT) AS note,
    CAST(coalesce(l.operator_id, '') = CAST(@operator_id AS TEXT) AS INTEGER) AS is_own
FROM slot AS s
LEFT JOIN appl_lock_live AS l
    ON l.object_type = @object_type
    AND l.object_id = CAST(@object_id AS TEXT) || '#' || s.place
WHERE s.place <= CAST(@permits AS INTEGER)
ORDER BY is_own DESC, l.expires_ts, s.place;
