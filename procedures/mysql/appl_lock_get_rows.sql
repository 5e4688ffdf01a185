-- get_appl_lock_rows: get_appl_lock_row for each of a list, one after the other.
--
-- Contract   A result set of one row for each get, in the order of the list. Each get is independent. A caller that wants all
--            or none uses a transaction and rolls it back.
-- In         p_gets: a JSON array of 0 to 10000 gets such as {"object_type": "customer", "object_id": "42", "operator_id": "JDOE",
--            "department_id": "CS", "ttl_seconds": 60}. A missing value is NULL. Types are checked before the first get.
-- Out        As get_appl_lock_row.
-- Raises     As get_appl_lock: the gets before it have been made.
-- Locks      As get_appl_lock.
-- Race-free  As get_appl_lock.
-- Differs    For MySQL and MariaDB only: on PostgreSQL a query joins the row form to a list.

DELIMITER $$

CREATE PROCEDURE get_appl_lock_rows_core(
    IN p_gets LONGTEXT
)
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_reason VARCHAR(128);
    DECLARE v_gets JSON;
    DECLARE v_left BOOLEAN DEFAULT TRUE;
    DECLARE v_object_type LONGTEXT;
    DECLARE v_object_id LONGTEXT;
    DECLARE v_operator_id LONGTEXT;
    DECLARE v_department_id LONGTEXT;
    DECLARE v_ttl_seconds BIGINT;
    -- A missing value is NULL. A list with a value of a wrong type has been refused before.
    DECLARE c_gets CURSOR FOR
        SELECT j.object_type, j.object_id, j.operator_id, j.department_id, j.ttl_seconds
        FROM JSON_TABLE(v_gets, '$[*]' COLUMNS (
            place FOR ORDINALITY,
            object_type LONGTEXT PATH '$.object_type',
            object_id LONGTEXT PATH '$.object_id',
            operator_id LONGTEXT PATH '$.operator_id',
            department_id LONGTEXT PATH '$.department_id',
            ttl_seconds BIGINT PATH '$.ttl_seconds'
        )) AS j
        ORDER BY j.place;
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_left = FALSE;

    BEGIN
        -- MySQL raises this for JSON that is nested too deep, even from JSON_VALID.
        DECLARE EXIT HANDLER FOR SQLSTATE '22032' SET v_reason = 'is not a list of gets';
        IF p_gets IS NULL THEN
            SET v_reason = 'must not be empty';
        ELSEIF NOT JSON_VALID(p_gets) THEN
            SET v_reason = 'is not a list of gets';
        ELSEIF JSON_TYPE(p_gets) <> 'ARRAY' THEN
            SET v_reason = 'is not a list of gets';
        ELSEIF JSON_LENGTH(p_gets) > 10000 THEN
            SET v_reason = CONCAT('has ', JSON_LENGTH(p_gets), ' gets, at most 10000 are allowed');
        END IF;
    END;
    IF v_reason IS NULL THEN
        SET v_gets = p_gets;
        -- Only types are checked here, because JSON_TABLE converts them. Each get checks the rest.
        SELECT CONCAT('has a value of a wrong type in get ', MIN(j.place))
        INTO v_reason
        FROM JSON_TABLE(v_gets, '$[*]' COLUMNS (
            place FOR ORDINALITY,
            object_type JSON PATH '$.object_type',
            object_id JSON PATH '$.object_id',
            operator_id JSON PATH '$.operator_id',
            department_id JSON PATH '$.department_id',
            ttl_seconds JSON PATH '$.ttl_seconds'
        )) AS j
        WHERE JSON_TYPE(j.object_type) NOT IN ('STRING', 'NULL')
            OR JSON_TYPE(j.object_id) NOT IN ('STRING', 'NULL')
            OR JSON_TYPE(j.operator_id) NOT IN ('STRING', 'NULL')
            OR JSON_TYPE(j.department_id) NOT IN ('STRING', 'NULL')
            OR JSON_TYPE(j.ttl_seconds) NOT IN ('INTEGER', 'NULL');
    END IF;
    IF v_reason IS NOT NULL THEN
        SET v_reason = CONCAT('get_appl_lock: p_gets ', v_reason);
        SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT = v_reason;
    END IF;

    OPEN c_gets;
    FETCH c_gets INTO v_object_type, v_object_id, v_operator_id, v_department_id, v_ttl_seconds;
    WHILE v_left DO
        CALL get_appl_lock_row(v_object_type, v_object_id, v_operator_id, v_department_id, v_ttl_seconds, NULL);
        FETCH c_gets INTO v_object_type, v_object_id, v_operator_id, v_department_id, v_ttl_seconds;
    END WHILE;
    CLOSE c_gets;
END$$

DELIMITER ;
