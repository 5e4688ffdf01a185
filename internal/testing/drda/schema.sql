CREATE FUNCTION procedure_columns() RETURNS TABLE (
    PROCEDURE_CAT VARCHAR(128), PROCEDURE_SCHEM VARCHAR(128), PROCEDURE_NAME VARCHAR(128), COLUMN_NAME VARCHAR(128), COLUMN_TYPE SMALLINT,
    DATA_TYPE SMALLINT, TYPE_NAME VARCHAR(261), COLUMN_SIZE INTEGER, BUFFER_LENGTH INTEGER, DECIMAL_DIGITS SMALLINT, NUM_PREC_RADIX SMALLINT,
    NULLABLE INTEGER, REMARKS VARCHAR(254), COLUMN_DEF VARCHAR(254), SQL_DATA_TYPE SMALLINT, SQL_DATETIME_SUB SMALLINT,
    CHAR_OCTET_LENGTH INTEGER, ORDINAL_POSITION INTEGER, IS_NULLABLE VARCHAR(3), SPECIFIC_NAME VARCHAR(128))
LANGUAGE JAVA PARAMETER STYLE DERBY_JDBC_RESULT_SET READS SQL DATA EXTERNAL NAME 'Server.columns';
CREATE FUNCTION appl_lock_version() RETURNS INTEGER LANGUAGE JAVA PARAMETER STYLE JAVA NO SQL EXTERNAL NAME 'Verbs.version';
CREATE FUNCTION appl_lock_time(micros BIGINT) RETURNS TIMESTAMP
LANGUAGE JAVA PARAMETER STYLE JAVA NO SQL EXTERNAL NAME 'Verbs.moment(java.lang.Long)';
CREATE TABLE appl_lock_waiter (
    object_type VARCHAR(128) NOT NULL,
    object_id VARCHAR(510) NOT NULL,
    operator_id VARCHAR(255) NOT NULL,
    client_id VARCHAR(128) NOT NULL,
    department_id VARCHAR(128) NOT NULL,
    since_ts BIGINT NOT NULL,
    until_ts BIGINT,
    expires_ts BIGINT NOT NULL,
    CONSTRAINT appl_lock_waiter_pk PRIMARY KEY (object_type, object_id, operator_id, client_id));
CREATE VIEW appl_lock_live AS
SELECT object_type, object_id, operator_id, department_id, fence, appl_lock_time(acquired_ts) AS acquired_ts, appl_lock_time(lock_ts) AS lock_ts,
    appl_lock_time(expires_ts) AS expires_ts, (expires_ts - 1000 * appl_lock_ms() + 999999) / 1000000 AS seconds_left, ttl_seconds, note
FROM appl_lock
WHERE released_ts IS NULL AND expires_ts > 1000 * appl_lock_ms();
CREATE VIEW appl_lock_waiting AS
SELECT w.object_type, w.object_id, w.operator_id, w.department_id, w.client_id, appl_lock_time(w.since_ts) AS since_ts,
    appl_lock_time(w.until_ts) AS until_ts, (1000 * appl_lock_ms() - w.since_ts) / 1000000 AS waited_seconds,
    COALESCE(l.operator_id, '') AS holder_id, COALESCE(l.department_id, '') AS holder_department_id, COALESCE(l.seconds_left, 0) AS seconds_left
FROM appl_lock_waiter AS w
LEFT OUTER JOIN appl_lock_live AS l ON l.object_type = w.object_type AND l.object_id = w.object_id
WHERE w.expires_ts > 1000 * appl_lock_ms();
