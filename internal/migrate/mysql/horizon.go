package mysql

import (
	"context"
	"database/sql"
	"errors"

	"github.com/applock/applock/internal/migrate"
)

// holders returns the server's transactions, since its purge keeps all versions that the oldest may read. Their times are in the server's
// time zone. A prepared XA transaction has no session.
const holders = `SELECT CASE WHEN t.trx_mysql_thread_id = 0 THEN 'prepared transaction' ELSE 'session' END,
		CASE WHEN t.trx_mysql_thread_id = 0 THEN CAST(t.trx_id AS CHAR) ELSE CAST(t.trx_mysql_thread_id AS CHAR) END,
		COALESCE(p.user, ''), COALESCE(p.host, ''),
		CASE WHEN p.command = 'Sleep' THEN 'idle in transaction' ELSE LOWER(COALESCE(p.command, t.trx_state)) END,
		GREATEST(TIMESTAMPDIFF(SECOND, t.trx_started, NOW()), 0) AS seconds, 0,
		CASE WHEN t.trx_mysql_thread_id = 0 THEN 'XA RECOVER, then XA ROLLBACK of what it names'
			ELSE CONCAT('KILL ', t.trx_mysql_thread_id) END
	FROM information_schema.innodb_trx AS t
	LEFT JOIN information_schema.processlist AS p ON p.id = t.trx_mysql_thread_id
	WHERE t.trx_mysql_thread_id <> CONNECTION_ID()
	ORDER BY seconds DESC, t.trx_id`

// horizon needs PROCESS. It restores the session's time zone.
func horizon(ctx context.Context, conn *sql.Conn) (_ migrate.Horizon, err error) {
	found := migrate.Horizon{KeptAre: "transactions whose old rows are not purged (history list length)"}
	zone, err := migrate.Value[string](ctx, conn, "SELECT @@session.time_zone")
	if err != nil {
		return found, err
	}
	if _, err := conn.ExecContext(ctx, "SET time_zone = 'SYSTEM'"); err != nil {
		return found, err
	}
	defer func() {
		_, backErr := conn.ExecContext(context.WithoutCancel(ctx), "SET time_zone = '"+zone+"'")
		err = errors.Join(err, backErr)
	}()
	if found.Holders, err = migrate.ReadHolders(ctx, conn, holders); err != nil {
		return found, err
	}
	found.Kept, err = migrate.Value[int64](ctx, conn,
		"SELECT count FROM information_schema.innodb_metrics WHERE name = 'trx_rseg_history_len'")
	return found, err
}
