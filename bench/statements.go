//go:build unix

package main

// statements are what is done by hand on one product.
type statements struct {
	version        string
	createDatabase string // of the name %s
	dropDatabase   string
	// tables makes bench_row, whose row 1 is handed from hand to hand, and bench_plain, which has a row for each lock.
	tables []string

	free   string // hands the row back
	isFree string
	take   string

	insertPlain string // of the number of who competes
	deletePlain string
	holder      string // of an object, by primary key

	// holdMany has somebody hold the objects bench:0, bench:1 and so on, so many.
	holdMany string
	waiters  string // how many are listed
	waiting  string // the program that one of them belongs to
	// connections counts those to the database, and questions the statements of all clients of the server.
	connections string
	questions   string
}

func statementsOf(product string) statements {
	switch product {
	case productPostgres:
		return postgresStatements()
	case productSQLite:
		return sqliteStatements()
	default:
		return mysqlStatements()
	}
}

func postgresStatements() statements {
	return statements{
		version:        "SELECT current_setting('server_version')",
		createDatabase: "CREATE DATABASE %s TEMPLATE template0",
		dropDatabase:   "DROP DATABASE IF EXISTS %s WITH (FORCE)",
		tables: []string{
			"CREATE TABLE bench_row (id int PRIMARY KEY, holder int NOT NULL) WITH (fillfactor = 70)",
			"INSERT INTO bench_row VALUES (1, 0)",
			"CREATE TABLE bench_plain (object_type text, object_id text, PRIMARY KEY (object_type, object_id))",
		},
		free:        "UPDATE bench_row SET holder = 0 WHERE id = 1",
		isFree:      "SELECT holder = 0 FROM bench_row WHERE id = 1",
		take:        "UPDATE bench_row SET holder = 1 WHERE id = 1 AND holder = 0",
		insertPlain: "INSERT INTO bench_plain VALUES ('bench', $1)",
		deletePlain: "DELETE FROM bench_plain WHERE object_type = 'bench' AND object_id = $1",
		holder:      "SELECT operator_id FROM applock.appl_lock WHERE object_type = $1 AND object_id = $2",
		holdMany: `INSERT INTO applock.appl_lock
			SELECT 'bench', n::text, 'JDOE', '', 1, t.now_ts, t.now_ts, t.now_ts + interval '1 hour'
			FROM generate_series(0, $1 - 1) AS n, (SELECT clock_timestamp() AS now_ts) AS t`,
		waiters:     "SELECT count(*) FROM applock.appl_lock_waiter",
		waiting:     "SELECT client_id FROM applock.appl_lock_waiter LIMIT 1",
		connections: "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend'",
	}
}

func mysqlStatements() statements {
	return statements{
		version:        "SELECT version()",
		createDatabase: "CREATE DATABASE %s",
		dropDatabase:   "DROP DATABASE IF EXISTS %s",
		tables: []string{
			"CREATE TABLE bench_row (id INT PRIMARY KEY, holder INT NOT NULL)",
			"INSERT INTO bench_row VALUES (1, 0)",
			"CREATE TABLE bench_plain (object_type VARCHAR(64), object_id VARCHAR(255), PRIMARY KEY (object_type, object_id))" +
				" CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
			"CREATE TABLE bench_digit (d INT PRIMARY KEY)",
			"INSERT INTO bench_digit VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)",
		},
		free:        "UPDATE bench_row SET holder = 0 WHERE id = 1",
		isFree:      "SELECT holder = 0 FROM bench_row WHERE id = 1",
		take:        "UPDATE bench_row SET holder = 1 WHERE id = 1 AND holder = 0",
		insertPlain: "INSERT INTO bench_plain VALUES ('bench', ?)",
		deletePlain: "DELETE FROM bench_plain WHERE object_type = 'bench' AND object_id = ?",
		holder:      "SELECT operator_id FROM appl_lock WHERE object_type = ? AND object_id = ?",
		holdMany: `INSERT INTO appl_lock
			SELECT 'bench', n.id, 'JDOE', '', 1, UTC_TIMESTAMP(6), UTC_TIMESTAMP(6), UTC_TIMESTAMP(6) + INTERVAL 1 HOUR
			FROM (
				SELECT 10000 * e.d + 1000 * a.d + 100 * b.d + 10 * c.d + f.d AS id
				FROM bench_digit AS a, bench_digit AS b, bench_digit AS c, bench_digit AS f, bench_digit AS e
			) AS n
			WHERE n.id < ?`,
		waiters:     "SELECT count(*) FROM appl_lock_waiter",
		waiting:     "SELECT client_id FROM appl_lock_waiter LIMIT 1",
		connections: "SELECT count(*) FROM information_schema.processlist WHERE db = database()",
		questions:   "SHOW GLOBAL STATUS LIKE 'Questions'",
	}
}

func sqliteStatements() statements {
	return statements{
		version: "SELECT sqlite_version()",
		tables: []string{
			"CREATE TABLE bench_row (id INTEGER PRIMARY KEY, holder INTEGER NOT NULL)",
			"INSERT INTO bench_row VALUES (1, 0)",
			"CREATE TABLE bench_plain (object_type TEXT, object_id TEXT, PRIMARY KEY (object_type, object_id)) WITHOUT ROWID",
		},
		free:        "UPDATE bench_row SET holder = 0 WHERE id = 1",
		isFree:      "SELECT holder = 0 FROM bench_row WHERE id = 1",
		take:        "UPDATE bench_row SET holder = 1 WHERE id = 1 AND holder = 0",
		insertPlain: "INSERT INTO bench_plain VALUES ('bench', ?)",
		deletePlain: "DELETE FROM bench_plain WHERE object_type = 'bench' AND object_id = ?",
		holder:      "SELECT operator_id FROM appl_lock WHERE object_type = ? AND object_id = ?",
		holdMany: `WITH RECURSIVE n (id) AS (SELECT 0 UNION ALL SELECT id + 1 FROM n WHERE id + 1 < ?)
			INSERT INTO appl_lock
			SELECT 'bench', CAST(n.id AS TEXT), 'JDOE', '', 1, t.now_ts, t.now_ts, t.now_ts + 3600000000
			FROM n, (SELECT unixepoch() * 1000000 AS now_ts) AS t`,
		waiters: "SELECT count(*) FROM appl_lock_waiter",
		waiting: "SELECT client_id FROM appl_lock_waiter LIMIT 1",
	}
}
