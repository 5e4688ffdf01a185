package testdb

import (
	"context"
	"database/sql"
	"regexp"
	"slices"
	"strings"
)

// MySQLWaiting counts the sessions of handle's database that wait for another session's row. It does not read
// information_schema.innodb_trx: InnoDB does not refresh that copy while it is read repeatedly.
func MySQLWaiting(ctx context.Context, handle *sql.DB) (int, error) {
	var version string
	if err := handle.QueryRowContext(ctx, "SELECT version()").Scan(&version); err != nil {
		return 0, err
	}
	if strings.Contains(version, "MariaDB") {
		return waitingOnMariaDB(ctx, handle)
	}
	var waiting int
	err := handle.QueryRowContext(ctx, `SELECT COUNT(DISTINCT w.requesting_thread_id)
		FROM performance_schema.data_lock_waits AS w
		JOIN performance_schema.threads AS t ON t.thread_id = w.requesting_thread_id
		WHERE t.processlist_db = DATABASE()`).Scan(&waiting)
	return waiting, err
}

// waitingOnMariaDB reads InnoDB's report, which has the thread of each waiting transaction. (MySQL's report omits transactions that only
// read.)
func waitingOnMariaDB(ctx context.Context, handle *sql.DB) (int, error) {
	waitingThread := regexp.MustCompile(`(?s)^.*\nLOCK WAIT .*\nMariaDB thread id (\d+),`)
	var kind, name, report, ours string
	if err := handle.QueryRowContext(ctx, "SHOW ENGINE INNODB STATUS").Scan(&kind, &name, &report); err != nil {
		return 0, err
	}
	row := handle.QueryRowContext(ctx, "SELECT group_concat(id) FROM information_schema.processlist WHERE db = DATABASE()")
	if err := row.Scan(&ours); err != nil {
		return 0, err
	}
	waiting := 0
	for _, transaction := range strings.Split(report, "\n---TRANSACTION ")[1:] { // the first part is another section
		thread := waitingThread.FindStringSubmatch(transaction)
		if thread != nil && slices.Contains(strings.Split(ours, ","), thread[1]) {
			waiting++
		}
	}
	return waiting, nil
}
