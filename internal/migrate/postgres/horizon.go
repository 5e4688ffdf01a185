package postgres

import (
	"context"
	"database/sql"
	"errors"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/migrate"
)

// holders returns what delays the removal of dead rows in this database: the snapshot or transaction of a session or of a replica, a
// prepared transaction, or a slot whose replica has sent its oldest snapshot: the server drops no slot that is in use. Sessions of other databases delay nothing here, and
// autovacuum ignores its own.
const holders = `SELECT h.kind, h.name, h.username, h.application, h.state, coalesce(extract(epoch FROM h.lasts), 0)::bigint AS seconds,
		h.transactions::bigint, h.ending
	FROM (
		SELECT CASE a.backend_type WHEN 'walsender' THEN 'replica, by session' ELSE 'session' END AS kind, a.pid::text AS name,
			coalesce(a.usename, '') AS username, coalesce(a.application_name, '') AS application, coalesce(a.state, '') AS state,
			clock_timestamp() - coalesce(a.xact_start, a.backend_start) AS lasts,
			greatest(age(a.backend_xmin), age(a.backend_xid)) AS transactions, format('SELECT pg_terminate_backend(%s)', a.pid) AS ending
		FROM pg_stat_activity AS a
		WHERE a.pid <> pg_backend_pid()
			AND (a.datname = current_database() OR a.backend_type = 'walsender')
			AND a.backend_type <> 'autovacuum worker'
			AND (a.backend_xmin IS NOT NULL OR a.backend_xid IS NOT NULL)
		UNION ALL
		SELECT 'prepared transaction', p.gid, p.owner, '', 'prepared', clock_timestamp() - p.prepared, age(p.transaction),
			format('ROLLBACK PREPARED %L', p.gid)
		FROM pg_prepared_xacts AS p
		WHERE p.database = current_database()
		UNION ALL
		SELECT 'replication slot', s.slot_name, '', '', CASE WHEN s.active THEN 'active: end the session on its replica' ELSE 'not in use' END,
			NULL, age(s.xmin), CASE WHEN s.active THEN '' ELSE format('SELECT pg_drop_replication_slot(%L)', s.slot_name) END
		FROM pg_replication_slots AS s
		WHERE s.xmin IS NOT NULL
	) AS h
	ORDER BY h.transactions DESC, seconds DESC, h.kind, h.name`

// horizon needs the right to see others' sessions.
func (s site) horizon(ctx context.Context, conn *sql.Conn) (migrate.Horizon, error) {
	found := migrate.Horizon{KeptAre: "dead rows in appl_lock"}
	maySee, err := migrate.Value[bool](ctx, conn, "SELECT pg_has_role(current_user, 'pg_read_all_stats', 'USAGE')")
	if err != nil {
		return found, err
	}
	if !maySee {
		return found, &db.Error{Kind: db.KindPrivilege, Err: errors.New("this account is not in pg_monitor")}
	}
	if found.Holders, err = migrate.ReadHolders(ctx, conn, holders); err != nil {
		return found, err
	}
	found.Kept, err = migrate.Value[int64](ctx, conn,
		"SELECT coalesce(max(n_dead_tup), 0) FROM pg_stat_all_tables WHERE relid = to_regclass($1)", s.Qualify("appl_lock"))
	return found, err
}
