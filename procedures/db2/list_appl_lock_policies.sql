-- list_appl_lock_policies: the policies of all types, or that of one.
--
-- Contract   One row for each type that has a policy. There are a few: it has no pages.
-- In         p_object_type 1..64, NULL = any. Trailing blanks are trimmed first.
-- Out        The columns of appl_lock_policy, 0 for a NULL, ordered by object_type.
-- Raises     LK001 invalid argument. Nothing else on purpose.
-- Locks      Nothing that lasts: what is committed is read (cur_commit, the default).
-- Race-free  Each row is one that was committed. (Cursor stability: the answer is not one snapshot.)
-- Differs    The order is that of the database's collation, IDENTITY or SYSTEM.

--#SET TERMINATOR @

CREATE OR REPLACE PROCEDURE list_appl_lock_policies (
    IN p_object_type VARCHAR(4000)
)
SPECIFIC list_appl_lock_policies
DYNAMIC RESULT SETS 1
LANGUAGE SQL
NOT DETERMINISTIC
READS SQL DATA
BEGIN
    DECLARE v_object_type VARCHAR(4000);

    SET v_object_type = RTRIM(p_object_type);
    IF CHARACTER_LENGTH(v_object_type, CODEUNITS32) NOT BETWEEN 1 AND 64 OR LOCATE(':', v_object_type) > 0 THEN
        CALL appl_lock_refuse_text('list_appl_lock_policies', 'p_object_type', CHARACTER_LENGTH(v_object_type, CODEUNITS32), 64);
    END IF;

    BEGIN
        DECLARE answer CURSOR WITH RETURN FOR
            SELECT
                p.object_type,
                COALESCE(p.default_ttl_seconds, 0) AS default_ttl_seconds,
                COALESCE(p.longest_ttl_seconds, 0) AS longest_ttl_seconds,
                p.take_reason_fl,
                p.history_level
            FROM appl_lock_policy AS p
            WHERE v_object_type IS NULL OR p.object_type = v_object_type
            ORDER BY p.object_type
            WITH CS;
        OPEN answer;
    END;
END
@

COMMENT ON SPECIFIC PROCEDURE list_appl_lock_policies IS 'The policies of all types, or that of one.'
@
