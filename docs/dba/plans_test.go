package dba_test

import (
	"database/sql"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/migrate"
	"github.com/applock/applock/internal/testing/readme"
	"github.com/applock/applock/internal/testing/testclient"
	"github.com/applock/applock/internal/testing/testdb"
)

// locked is how many objects are locked when the plans are looked at.
const locked = 3000

// looker is a product as the page's chapter on plans has it.
type looker struct {
	title string
	dsn   string
	// setUp fills the table and has the server gather statistics.
	setUp []string
	// withoutKey are statements after which there is no key to go by.
	withoutKey []string
	open       func(dsn string) *sql.DB
	// run gives lines to the product's own client.
	run func(t *testing.T, lines string) string
	// faults tells what is wrong with the answer.
	faults func(answer string) string
}

// Goal: the page's statements show a DBA that a call goes by the primary key, and would show it if it did not. Method: the product's own
// client runs them on a table of some thousand locks; then the key is taken away.
func TestPlans(t *testing.T) {
	t.Parallel()
	lookers := map[string]func(t *testing.T) looker{"postgres": onPostgres, "sqlite": onSQLite}
	for _, product := range testdb.MySQLProducts() {
		lookers[product] = func(t *testing.T) looker { t.Helper(); return onMySQL(t, product) }
	}
	for name, open := range lookers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := open(t)
			client := testclient.Open(t, l.dsn, "", nil)
			if _, err := migrate.Up(t.Context(), client, migrate.UpRequest{}); err != nil {
				t.Fatal(err)
			}
			_, err := client.Get(t.Context(), applock.GetRequest{
				Object: applock.Object{Type: "customer", ID: "42"}, Owner: applock.Owner{Operator: "JDOE"},
			})
			if err != nil {
				t.Fatal(err)
			}
			execute(t, l.open(l.dsn), l.setUp...)
			block := sqlBlock.FindStringSubmatch(readme.Under(page(t), l.title))
			if block == nil {
				t.Fatalf("the page has no statements under %q", l.title)
			}
			answer := l.run(t, block[1])
			if fault := l.faults(answer); fault != "" {
				t.Errorf("%s:\n%s", fault, answer)
			}
			execute(t, l.open(l.dsn), l.withoutKey...)
			if answer := l.run(t, block[1]); l.faults(answer) == "" {
				t.Errorf("nothing is wrong without a key:\n%s", answer)
			}
		})
	}
}

var scanned = regexp.MustCompile(`Seq Scan on appl_lock( |\n)`)

func onPostgres(t *testing.T) looker {
	t.Helper()
	dsn := testdb.Postgres(t)
	return looker{
		title: "Plans on PostgreSQL",
		dsn:   dsn,
		setUp: []string{
			fmt.Sprintf(`INSERT INTO applock.appl_lock (object_type, object_id, operator_id, department_id, fence, acquired_ts, lock_ts, ttl_seconds, expires_ts)
				SELECT 'customer', 'n' || n, 'JDOE', '', n, now(), now(), 3600, now() + interval '1 hour' FROM generate_series(1, %d) AS n`, locked),
			"ANALYZE applock.appl_lock",
		},
		withoutKey: []string{"ALTER TABLE applock.appl_lock DROP CONSTRAINT appl_lock_pk"},
		open:       func(dsn string) *sql.DB { return openSQL(t, "pgx", dsn) },
		run: func(t *testing.T, lines string) string {
			t.Helper()
			command := exec.CommandContext(t.Context(), testdb.Psql(t), "--no-psqlrc", "-v", "ON_ERROR_STOP=1", dsn)
			command.Stdin = strings.NewReader(lines)
			output, err := command.CombinedOutput()
			if err != nil {
				t.Fatalf("psql: %v\n%s", err, output)
			}
			return string(output)
		},
		faults: func(answer string) string {
			const readByKey, readInside, changedInside = "Index Scan using appl_lock_pk", "Index Scan Backward using appl_lock_pk", "Tid Scan on appl_lock"
			for _, plan := range []string{readByKey, readInside, changedInside} {
				if !strings.Contains(answer, plan) {
					return "there is no " + plan
				}
			}
			return scanned.FindString(answer)
		},
	}
}

func onMySQL(t *testing.T, product string) looker {
	t.Helper()
	dsn := testdb.MySQL(t, product)
	return looker{
		title: "Plans on MySQL and MariaDB",
		dsn:   dsn,
		setUp: []string{
			fmt.Sprintf(`INSERT INTO appl_lock (object_type, object_id, operator_id, department_id, fence, acquired_ts, lock_ts, ttl_seconds, expires_ts)
				SELECT 'customer', CONCAT('n', s.slot), 'JDOE', '', 1, UTC_TIMESTAMP(6), UTC_TIMESTAMP(6), 3600, UTC_TIMESTAMP(6) + INTERVAL 1 HOUR
				FROM appl_lock_serialize AS s WHERE s.slot < %d`, locked),
			"ANALYZE TABLE appl_lock",
		},
		withoutKey: []string{"ALTER TABLE appl_lock DROP PRIMARY KEY"},
		open:       func(dsn string) *sql.DB { return testdb.OpenMySQL(t, dsn, nil) },
		run: func(t *testing.T, lines string) string {
			t.Helper()
			return testdb.RunMySQLClient(t, product, dsn, lines)
		},
		faults: func(answer string) string {
			const fewDozens = 100
			reads := 0
			for _, counter := range handlerRead.FindAllStringSubmatch(answer, -1) {
				n, err := strconv.Atoi(counter[1])
				if err != nil {
					return err.Error()
				}
				reads += n
			}
			plan, _, _ := strings.Cut(answer, "\n")
			switch {
			case !strings.Contains(plan, "\tPRIMARY\t") || strings.Contains(plan, "\tALL\t"):
				return "EXPLAIN does not name the key"
			case reads == 0 || reads > fewDozens:
				return fmt.Sprintf("%d rows were read", reads)
			}
			return ""
		},
	}
}

var handlerRead = regexp.MustCompile(`Handler_read_\w+\t(\d+)`)

func onSQLite(t *testing.T) looker {
	t.Helper()
	dsn := "sqlite:" + t.TempDir() + "/shop.db"
	path := strings.TrimPrefix(dsn, "sqlite:")
	return looker{
		title: "Plans on SQLite",
		dsn:   dsn,
		setUp: []string{
			fmt.Sprintf(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
				INSERT INTO appl_lock (object_type, object_id, operator_id, department_id, fence, acquired_ts, lock_ts, ttl_seconds, expires_ts)
				SELECT 'customer', 'n' || i, 'JDOE', '', 1, 1, 1, 3600, unixepoch() * 1000000 + 3600000000 FROM n`, locked),
			"ANALYZE",
		},
		withoutKey: []string{"CREATE TABLE keyless AS SELECT * FROM appl_lock_live", "DROP VIEW appl_lock_live", "CREATE VIEW appl_lock_live AS SELECT * FROM keyless"},
		open:       func(string) *sql.DB { return openSQL(t, "sqlite", path) },
		run: func(t *testing.T, lines string) string {
			t.Helper()
			command := exec.CommandContext(t.Context(), testdb.SQLite3(t), path)
			command.Stdin = strings.NewReader(lines)
			output, err := command.CombinedOutput()
			if err != nil {
				t.Fatalf("sqlite3: %v\n%s", err, output)
			}
			return string(output)
		},
		faults: func(answer string) string {
			if !strings.Contains(answer, "SEARCH appl_lock USING PRIMARY KEY (object_type=? AND object_id=?)") {
				return "the key is not used"
			}
			return ""
		},
	}
}

func openSQL(t *testing.T, driver, dsn string) *sql.DB {
	t.Helper()
	handle, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal("the DSN cannot be parsed")
	}
	return handle
}
