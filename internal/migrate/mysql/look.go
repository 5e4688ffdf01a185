package mysql

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/applock/applock/internal/migrate"
)

// look queries one session. Older versions of MariaDB have other names for two variables.
func look(ctx context.Context, conn *sql.Conn) (migrate.Surroundings, error) {
	type setting struct{ name, value string }
	settings := map[string]string{}
	for _, query := range []string{
		`SHOW VARIABLES WHERE Variable_name IN ('tx_isolation', 'transaction_isolation', 'tx_read_only', 'transaction_read_only',
			'read_only', 'innodb_read_only', 'wsrep_on', 'innodb_flush_log_at_trx_commit')`,
		"SHOW STATUS WHERE Variable_name IN ('wsrep_cluster_size', 'wsrep_cluster_status')",
	} {
		read, err := migrate.Read(ctx, conn, func(s *setting) []any { return []any{&s.name, &s.value} }, query)
		if err != nil {
			return migrate.Surroundings{}, err
		}
		for _, setting := range read {
			settings[setting.name] = setting.value
		}
	}
	found := migrate.Surroundings{Isolation: strings.ToLower(cmp.Or(settings["transaction_isolation"], settings["tx_isolation"]))}
	on := func(name string) bool { return settings[name] != "" && settings[name] != "OFF" }
	cluster := on("wsrep_on")
	switch {
	case cluster && settings["wsrep_cluster_status"] != "Primary":
		found.ReadOnly = "the node is not in the primary component of its cluster (wsrep_cluster_status): name another in the DSN"
	case on("read_only"), on("innodb_read_only"):
		found.ReadOnly = "the server is read only, as a replica is (read_only, innodb_read_only): name the primary in the DSN"
	case on("tx_read_only"), on("transaction_read_only"):
		found.ReadOnly = "the session's transactions are read only (transaction_read_only): look for it in the DSN, in init_connect " +
			"and among the server's options"
	}
	if level := settings["innodb_flush_log_at_trx_commit"]; level != "1" {
		found.Loses = "innodb_flush_log_at_trx_commit = " + level
	}
	if cluster {
		found.Between = "a Galera cluster, size " + settings["wsrep_cluster_size"]
	}
	return found, nil
}

// stale is [migrate.Target.Stale]. It ignores rows that a purge keeps because of their fence.
func (s site) stale() string {
	return fmt.Sprintf(`SELECT COUNT(*), COALESCE(SUM(l.stale), 0), COALESCE(MAX(CASE WHEN l.stale THEN l.free_for END), 0)
		FROM (
			SELECT COALESCE(r.released_ts, r.expires_ts) < UTC_TIMESTAMP(6) - INTERVAL ? SECOND
					AND r.fence < TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) AS stale,
				TIMESTAMPDIFF(SECOND, COALESCE(r.released_ts, r.expires_ts), UTC_TIMESTAMP(6)) AS free_for
			FROM %s AS r
			LIMIT %d
		) AS l`, s.Qualify("appl_lock"), migrate.StaleRows)
}
