-- A routine keeps the sql_mode that it was created with: so it is ours, not the session's.
SET @applock_sql_mode = @@SESSION.sql_mode;
SET SESSION sql_mode = 'STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION';
