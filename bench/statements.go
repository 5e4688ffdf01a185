//go:build unix

package main

// statements are the plain SQL for one product.
type statements struct {
	version        string
	settings       string // that affect the cost of a commit
	createDatabase string // %s is its name
	dropDatabase   string
	// tables makes bench_row, whose row 1 is passed between sessions, and bench_plain, which has a row for each lock.
	tables    []string
	insertRow string // into bench_row, by its number
	clear     []string

	free   string // releases row 1
	isFree string
	take   string
	update string // by the row's number

	insertPlain string // by the lock's name
	deletePlain string
	holder      string // of an object, by primary key
	// least makes the smallest procedures: leastTake and leastGive have one UPDATE by primary key, leastLook one SELECT.
	least                           []string
	leastTake, leastGive, leastLook string // of an object

	// hold makes the objects bench:N, bench:N+1 and so on held. Its parameters are the first number, the hours until they end, which may be
	// negative, and their number, at most 100,000.
	hold    string
	waiters string // counts the listed waiters
	waiting string // the program of one of them
	// connections counts the connections to the database, and questions the statements of all clients of the server.
	connections string
	questions   string
	// sizes returns the bytes of a table's rows and of its indexes, after analyze.
	analyze string
	sizes   string
	// ours is our table's name for sizes.
	ours string
	// threads returns the server's processes or threads that serve a pool, separated by blanks. dead counts what a held snapshot keeps, and
	// deadAre names that.
	threads, dead, deadAre string
	// shedLock takes ShedLock's lock of one name, and shedUnlock releases it.
	shedLockTable        []string
	shedLock, shedUnlock string
}

const (
	// lockColumns are the columns that hold fills.
	lockColumns = "(object_type, object_id, operator_id, department_id, fence, acquired_ts, lock_ts, ttl_seconds, expires_ts)"
)

func statementsOf(product string) statements {
	var s statements
	switch product {
	case productPostgres:
		s = postgresStatements()
	case productSQLite:
		s = sqliteStatements()
	default:
		s = mysqlStatements()
		s.threads = "SELECT thread_os_id FROM performance_schema.threads WHERE processlist_id = connection_id()"
		if product == productMariaDB {
			s.threads = "SELECT tid FROM information_schema.processlist WHERE id = connection_id()"
		}
	}
	s.free = "UPDATE bench_row SET holder = 0 WHERE id = 1"
	s.isFree = "SELECT holder = 0 FROM bench_row WHERE id = 1"
	s.take = "UPDATE bench_row SET holder = 1 WHERE id = 1 AND holder = 0"
	return s
}

func postgresStatements() statements {
	return statements{
		version: "SELECT current_setting('server_version')",
		settings: `SELECT string_agg(name || ' = ' || current_setting(name), ', ' ORDER BY name) FROM pg_settings
			WHERE name IN ('fsync', 'synchronous_commit', 'full_page_writes', 'wal_sync_method', 'commit_delay',
				'shared_buffers', 'autovacuum')`,
		createDatabase: "CREATE DATABASE %s TEMPLATE template0",
		dropDatabase:   "DROP DATABASE IF EXISTS %s WITH (FORCE)",
		tables: []string{
			"CREATE TABLE bench_row (id int PRIMARY KEY, holder int NOT NULL) WITH (fillfactor = 70)",
			"CREATE TABLE bench_plain (object_type text, object_id text, PRIMARY KEY (object_type, object_id))",
		},
		insertRow:   "INSERT INTO bench_row VALUES ($1, 0)",
		clear:       []string{"TRUNCATE applock.appl_lock, applock.appl_lock_waiter, applock.appl_lock_event, bench_plain"},
		update:      "UPDATE bench_row SET holder = holder + 1 WHERE id = $1",
		insertPlain: "INSERT INTO bench_plain VALUES ('bench', $1)",
		deletePlain: "DELETE FROM bench_plain WHERE object_type = 'bench' AND object_id = $1",
		holder:      "SELECT operator_id FROM applock.appl_lock WHERE object_type = $1 AND object_id = $2",
		least: []string{
			leastFunction("bench_take", `UPDATE appl_lock
				SET operator_id = 'JDOE', fence = fence + 1, acquired_ts = clock_timestamp(), lock_ts = clock_timestamp(),
					expires_ts = clock_timestamp() + interval '7 days', released_ts = NULL
				WHERE object_type = p_type AND object_id = p_id AND (released_ts IS NOT NULL OR expires_ts <= clock_timestamp());
				RETURN 'Y';`),
			leastFunction("bench_give", `UPDATE appl_lock SET released_ts = clock_timestamp()
				WHERE object_type = p_type AND object_id = p_id AND operator_id = 'JDOE' AND released_ts IS NULL;
				RETURN 'Y';`),
			leastFunction("bench_look", "RETURN (SELECT operator_id FROM appl_lock WHERE object_type = p_type AND object_id = p_id);"),
		},
		leastTake: "SELECT bench_take($1, $2)",
		leastGive: "SELECT bench_give($1, $2)",
		leastLook: "SELECT bench_look($1, $2)",
		hold: `INSERT INTO applock.appl_lock ` + lockColumns + `
			SELECT 'bench', n::text, 'JDOE', '', 1, t.taken_ts, t.taken_ts, greatest($2::int, 1) * 3600, t.now_ts + $2::int * interval '1 hour'
			FROM generate_series($1::int, $1::int + $3::int - 1) AS n,
				(SELECT clock_timestamp() AS now_ts, clock_timestamp() + least($2::int, 0) * interval '1 hour' AS taken_ts) AS t`,
		waiters:     "SELECT count(*) FROM applock.appl_lock_waiter",
		waiting:     "SELECT client_id FROM applock.appl_lock_waiter LIMIT 1",
		connections: "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend'",
		sizes:       "SELECT pg_table_size($1::text::regclass), pg_indexes_size($1::text::regclass)",
		ours:        "applock.appl_lock",
		threads: `SELECT coalesce(string_agg(pid::text, ' ' ORDER BY pid), '') FROM pg_stat_activity
			WHERE datname = current_database() AND application_name = current_setting('application_name')`,
		dead:    "SELECT n_dead_tup FROM pg_stat_all_tables WHERE relid = 'applock.appl_lock'::regclass",
		deadAre: "dead rows",
		shedLockTable: []string{`CREATE TABLE shedlock (name varchar(64) PRIMARY KEY, lock_until timestamp NOT NULL, locked_at timestamp NOT NULL,
			locked_by varchar(255) NOT NULL)`},
		shedLock: `INSERT INTO shedlock (name, lock_until, locked_at, locked_by)
			VALUES ('hot', timezone('utc', CURRENT_TIMESTAMP) + interval '1 minute', timezone('utc', CURRENT_TIMESTAMP), 'bench')
			ON CONFLICT (name) DO UPDATE SET lock_until = timezone('utc', CURRENT_TIMESTAMP) + interval '1 minute',
				locked_at = timezone('utc', CURRENT_TIMESTAMP), locked_by = 'bench'
			WHERE shedlock.name = 'hot' AND shedlock.lock_until <= timezone('utc', CURRENT_TIMESTAMP)`,
		shedUnlock: "UPDATE shedlock SET lock_until = timezone('utc', CURRENT_TIMESTAMP) WHERE name = 'hot' AND locked_by = 'bench'",
	}
}

// leastFunction makes a function with the rights and the settings of ours.
func leastFunction(name, body string) string {
	return "CREATE FUNCTION " + name + "(p_type text, p_id text) RETURNS text LANGUAGE plpgsql SECURITY DEFINER" +
		" SET search_path = applock, pg_temp SET lock_timeout = '1s' AS $$ BEGIN " + body + " END $$"
}

func leastProcedure(name, body string) string {
	const asStored = " CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"
	return "CREATE PROCEDURE " + name + "(p_type VARCHAR(64)" + asStored + ", p_id VARCHAR(255)" + asStored + ") BEGIN " + body + " END"
}

func mysqlStatements() statements {
	return statements{
		version: "SELECT version()",
		settings: `SELECT CONCAT('innodb_flush_log_at_trx_commit = ', @@innodb_flush_log_at_trx_commit,
			', log_bin = ', @@log_bin, ', sync_binlog = ', @@sync_binlog, ', innodb_flush_method = ', @@innodb_flush_method,
			', innodb_buffer_pool_size = ', @@innodb_buffer_pool_size DIV 1048576, ' MB')`,
		createDatabase: "CREATE DATABASE %s",
		dropDatabase:   "DROP DATABASE IF EXISTS %s",
		tables: []string{
			"CREATE TABLE bench_row (id INT PRIMARY KEY, holder INT NOT NULL)",
			"CREATE TABLE bench_plain (object_type VARCHAR(64), object_id VARCHAR(255), PRIMARY KEY (object_type, object_id))" +
				" CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
			"CREATE TABLE bench_digit (d INT PRIMARY KEY)",
			"INSERT INTO bench_digit VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)",
		},
		insertRow:   "INSERT INTO bench_row VALUES (?, 0)",
		clear:       []string{"TRUNCATE appl_lock", "TRUNCATE appl_lock_waiter", "TRUNCATE appl_lock_event", "TRUNCATE bench_plain"},
		update:      "UPDATE bench_row SET holder = holder + 1 WHERE id = ?",
		insertPlain: "INSERT INTO bench_plain VALUES ('bench', ?)",
		deletePlain: "DELETE FROM bench_plain WHERE object_type = 'bench' AND object_id = ?",
		holder:      "SELECT operator_id FROM appl_lock WHERE object_type = ? AND object_id = ?",
		least: []string{
			leastProcedure("bench_take", `UPDATE appl_lock
				SET operator_id = 'JDOE', fence = fence + 1, acquired_ts = UTC_TIMESTAMP(6), lock_ts = UTC_TIMESTAMP(6),
					expires_ts = UTC_TIMESTAMP(6) + INTERVAL 7 DAY, released_ts = NULL
				WHERE object_type = p_type AND object_id = p_id AND (released_ts IS NOT NULL OR expires_ts <= UTC_TIMESTAMP(6));
				SELECT 'Y';`),
			leastProcedure("bench_give", `UPDATE appl_lock SET released_ts = UTC_TIMESTAMP(6)
				WHERE object_type = p_type AND object_id = p_id AND operator_id = 'JDOE' AND released_ts IS NULL;
				SELECT 'Y';`),
			leastProcedure("bench_look", "SELECT operator_id FROM appl_lock WHERE object_type = p_type AND object_id = p_id;"),
		},
		leastTake: "CALL bench_take(?, ?)",
		leastGive: "CALL bench_give(?, ?)",
		leastLook: "CALL bench_look(?, ?)",
		hold: `INSERT INTO appl_lock ` + lockColumns + `
			SELECT 'bench', ? + n.id, 'JDOE', '', 1, LEAST(t.now_ts, t.expires_ts), LEAST(t.now_ts, t.expires_ts),
				GREATEST(TIMESTAMPDIFF(SECOND, t.now_ts, t.expires_ts), 3600), t.expires_ts
			FROM (SELECT UTC_TIMESTAMP(6) AS now_ts, UTC_TIMESTAMP(6) + INTERVAL ? HOUR AS expires_ts) AS t, (
				SELECT 10000 * e.d + 1000 * a.d + 100 * b.d + 10 * c.d + f.d AS id
				FROM bench_digit AS a, bench_digit AS b, bench_digit AS c, bench_digit AS f, bench_digit AS e
			) AS n
			WHERE n.id < ?`,
		waiters:     "SELECT count(*) FROM appl_lock_waiter",
		waiting:     "SELECT client_id FROM appl_lock_waiter LIMIT 1",
		connections: "SELECT count(*) FROM information_schema.processlist WHERE db = database()",
		questions:   "SHOW GLOBAL STATUS LIKE 'Questions'",
		analyze:     "ANALYZE TABLE appl_lock, bench_plain",
		sizes: "SELECT data_length, index_length FROM information_schema.tables" +
			" WHERE table_schema = database() AND table_name = ?",
		ours:    "appl_lock",
		dead:    "SELECT count FROM information_schema.innodb_metrics WHERE name = 'trx_rseg_history_len'",
		deadAre: "history list length",
		shedLockTable: []string{`CREATE TABLE shedlock (name VARCHAR(64) PRIMARY KEY, lock_until TIMESTAMP(3) NOT NULL, locked_at TIMESTAMP(3) NOT NULL,
			locked_by VARCHAR(255) NOT NULL)`, `INSERT INTO shedlock VALUES ('hot', UTC_TIMESTAMP(3), UTC_TIMESTAMP(3), 'bench')`},
		shedLock: `UPDATE shedlock SET lock_until = TIMESTAMPADD(MICROSECOND, 60000000, UTC_TIMESTAMP(3)), locked_at = UTC_TIMESTAMP(3),
			locked_by = 'bench' WHERE name = 'hot' AND lock_until <= UTC_TIMESTAMP(3)`,
		shedUnlock: "UPDATE shedlock SET lock_until = UTC_TIMESTAMP(3) WHERE name = 'hot' AND locked_by = 'bench'",
	}
}

func sqliteStatements() statements {
	return statements{
		version: "SELECT sqlite_version()",
		settings: `SELECT 'journal_mode = ' || j.journal_mode || ', synchronous = ' || s.synchronous
			FROM pragma_journal_mode AS j, pragma_synchronous AS s`,
		tables: []string{
			"CREATE TABLE bench_row (id INTEGER PRIMARY KEY, holder INTEGER NOT NULL)",
			"CREATE TABLE bench_plain (object_type TEXT, object_id TEXT, PRIMARY KEY (object_type, object_id)) WITHOUT ROWID",
		},
		insertRow:   "INSERT INTO bench_row VALUES (?, 0)",
		clear:       []string{"DELETE FROM appl_lock", "DELETE FROM appl_lock_waiter", "DELETE FROM appl_lock_event", "DELETE FROM bench_plain", "VACUUM"},
		update:      "UPDATE bench_row SET holder = holder + 1 WHERE id = ?",
		insertPlain: "INSERT INTO bench_plain VALUES ('bench', ?)",
		deletePlain: "DELETE FROM bench_plain WHERE object_type = 'bench' AND object_id = ?",
		holder:      "SELECT operator_id FROM appl_lock WHERE object_type = ? AND object_id = ?",
		hold: `WITH RECURSIVE n (id) AS (SELECT ?1 UNION ALL SELECT id + 1 FROM n WHERE id + 1 < ?1 + ?3)
			INSERT INTO appl_lock ` + lockColumns + `
			SELECT 'bench', CAST(n.id AS TEXT), 'JDOE', '', 1, t.taken_ts, t.taken_ts, max(?2, 1) * 3600, t.now_ts + ?2 * 3600000000
			FROM n, (SELECT unixepoch() * 1000000 AS now_ts, unixepoch() * 1000000 + min(?2, 0) * 3600000000 AS taken_ts) AS t`,
		waiters: "SELECT count(*) FROM appl_lock_waiter",
		waiting: "SELECT client_id FROM appl_lock_waiter LIMIT 1",
		sizes:   "SELECT sum(pgsize), 0 FROM dbstat WHERE name = ?",
		ours:    "appl_lock",
	}
}
