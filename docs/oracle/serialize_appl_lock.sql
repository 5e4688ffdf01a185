-- serialize_appl_lock: one transaction at a time on an object, until it commits or rolls back.
--
-- Contract   That of procedures/README.md.
-- Raises     ORA-20001 with LK001; ORA-00060 (deadlock) as Oracle has it.
-- Locks      The key of a row that is inserted and deleted. Who inserts the same key waits for the transaction that has it,
--            without a limit, and nothing is left behind: the semaphore of the article.

CREATE OR REPLACE PROCEDURE serialize_appl_lock (
    p_object_type IN VARCHAR2,
    p_object_id IN VARCHAR2
)
AUTHID DEFINER
AS
    v_object_type appl_lock.object_type%TYPE := appl_lock_text('serialize_appl_lock', 'p_object_type', p_object_type, 64, 'Y');
    v_object_id appl_lock.object_id%TYPE := appl_lock_text('serialize_appl_lock', 'p_object_id', p_object_id, 255, 'Y');
BEGIN
    INSERT INTO appl_lock_serialize (object_type, object_id)
    VALUES (v_object_type, v_object_id);
    DELETE FROM appl_lock_serialize
    WHERE object_type = v_object_type
        AND object_id = v_object_id;
END;
/
