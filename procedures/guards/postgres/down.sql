-- Removes a guard of applock for PostgreSQL. Run it with: psql -v ON_ERROR_STOP=1 -f FILE

BEGIN;
DROP TRIGGER IF EXISTS appl_lock_guard ON GUARD_TABLE;
DROP FUNCTION IF EXISTS GUARD_FUNCTION();
COMMIT;
