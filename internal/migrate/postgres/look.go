package postgres

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/jackc/pgx/v5/stdlib"

	"github.com/applock/applock/internal/migrate"
)

// look queries one session. A server sends its clients the process id of their session, for cancelling. A pooler sends a number of its own,
// which reveals it.
func look(ctx context.Context, conn *sql.Conn) (migrate.Surroundings, error) {
	const query = `SELECT pg_backend_pid(), pg_is_in_recovery(), current_setting('transaction_isolation'),
			current_setting('transaction_read_only')::boolean,
			CASE source
				WHEN 'database' THEN
					format('BEGIN READ WRITE; ALTER DATABASE %I RESET default_transaction_read_only; COMMIT', current_database())
				WHEN 'user' THEN
					format('BEGIN READ WRITE; ALTER ROLE %I RESET default_transaction_read_only; COMMIT', session_user)
				ELSE ''
			END,
			(
				SELECT coalesce(string_agg(s.name || ' = off', ', ' ORDER BY s.name), '')
				FROM pg_settings AS s
				WHERE s.name IN ('fsync', 'full_page_writes', 'synchronous_commit') AND s.setting = 'off'
			)
		FROM pg_settings
		WHERE name = 'default_transaction_read_only'`
	var found migrate.Surroundings
	var process uint32
	var replica, readOnly bool
	var end string
	if err := conn.QueryRowContext(ctx, query).Scan(&process, &replica, &found.Isolation, &readOnly, &end, &found.Loses); err != nil {
		return found, err
	}
	switch {
	case replica:
		found.ReadOnly = "the server is a replica, which is in recovery: name the primary in the DSN"
	case readOnly:
		found.ReadOnly = "transactions are read only (default_transaction_read_only)"
		found.EndReadOnly = end
	}
	err := conn.Raw(func(client any) error {
		opened, ok := client.(*stdlib.Conn) // other clients do not report their address
		if ok && opened.Conn().PgConn().PID() != process {
			found.Between = "a connection pooler, such as PgBouncer"
		}
		return nil
	})
	return found, err
}

// stale is [migrate.Target.Stale]. It ignores rows that a purge keeps because of their fence.
func (s site) stale() string {
	return fmt.Sprintf(`SELECT count(*), count(*) FILTER (WHERE l.stale), coalesce(max(l.free_for) FILTER (WHERE l.stale), 0)::bigint
		FROM (
			SELECT now() - coalesce(r.released_ts, r.expires_ts) > make_interval(secs => $1::bigint)
					AND r.fence < (extract(epoch FROM now()) * 1000000)::bigint AS stale,
				extract(epoch FROM now() - coalesce(r.released_ts, r.expires_ts)) AS free_for
			FROM %s AS r
			LIMIT %d
		) AS l`, s.Qualify("appl_lock"), migrate.StaleRows)
}
