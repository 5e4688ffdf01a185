package conditions_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/applock/applock/applock/migrate"
	"github.com/applock/applock/internal/clients"
	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/scenario"
	"github.com/applock/applock/internal/testing/contract"
	"github.com/applock/applock/internal/testing/testclient"
	"github.com/applock/applock/internal/testing/testdb"
)

// day is a short day of calls. LETTERS are what the condition's database can have.
const day = `
get object_type=customer object_id=1 operator_id=JDOE department_id=CS ttl_seconds=3600 -> Y ACQUIRED fence=$first
get object_type=customer object_id=1 operator_id=ASMITH -> N HELD old_operator_id=JDOE
get object_type=customer object_id=1 operator_id=jdoe -> N HELD old_operator_id=JDOE
get object_type=customer object_id=1 operator_id="JDOE " -> Y RENEWED fence=$first
get object_type=customer object_id=LETTERS operator_id=LETTERS ttl_seconds=3600 -> Y ACQUIRED
release object_type=customer object_id=LETTERS operator_id=LETTERS -> Y RELEASED
get object_type=customer object_id=2 operator_id=JDOE ttl_seconds=3600 -> Y ACQUIRED
renew object_type=customer object_id=1 operator_id=JDOE fence=$first ttl_seconds=7200 -> RENEWED
permit object_type=gate object_id=desk permits=2 operator_id=JDOE ttl_seconds=3600 -> ACQUIRED
note object_type=customer object_id=1 operator_id=JDOE note=LETTERS -> Y NOTED
inquire object_type=customer object_id=1 -> Y operator_id=JDOE note=LETTERS ttl_seconds=7200
inquire object_type=customer object_id=3 -> N fence=0
assert object_type=customer object_id=1 operator_id=JDOE fence=$first -> ok
assert object_type=customer object_id=1 operator_id=JDOE fence=1 -> LK002
get object_type=customer object_id="" operator_id=JDOE -> LK001 object_id
ask object_type=customer object_id=1 operator_id=KIM client_id=q message=LETTERS -> Y ASKED
inbox operator_id=JDOE -> AWAITED/customer:1/KIM message=LETTERS
announce object_type=customer object_id=1 operator_id=ASMITH client_id=p -> ok
poll client_id=p -> customer:1
answer object_type=customer object_id=1 operator_id=JDOE fence=$first asker_id=KIM answer=LATER reason=LETTERS -> Y TOLD
see object_type=customer object_id=1 operator_id=KIM client_id=tab state=VIEWING -> HOLDER/JDOE/
answer object_type=customer object_id=1 operator_id=JDOE fence=$first asker_id=KIM client_id=q answer=GIVE -> Y GIVEN
transfer object_type=customer object_id=1 from_operator_id=KIM to_operator_id=ASMITH actor_id=BOSS reason=ill -> Y TRANSFERRED fence>$first
take object_type=customer object_id=1 operator_id=BOSS reason=LETTERS -> Y TAKEN
inbox operator_id=ASMITH -> HANDED/customer:1/KIM TAKEN/customer:1/BOSS reason_2=LETTERS
retract object_type=customer object_id=1 operator_id=ASMITH client_id=p -> ok
transfers from_operator_id=JDOE object_type=customer to_operator_id=ASMITH -> TRANSFERRED
releases operator_id=ASMITH object_type=customer -> RELEASED
set object_type=customer default_ttl_seconds=3600 actor_id=BOSS reason=LETTERS -> Y SET
get object_type=customer object_id=2 operator_id=BOSS -> Y ACQUIRED seconds_left=3600
release object_type=customer object_id=1 operator_id=BOSS -> Y RELEASED
list object_type=customer -> customer:2 operator_id=BOSS
purge older_than_seconds=3600 max_rows=1000 -> 0
purge_history older_than_seconds=3600 -> 0
`

// written is what a day leaves: the rows of appl_lock, and of appl_lock_event.
const written = "4 5"

// changes are calls that change something. JDOE has customer 1, ASMITH asks for it.
const changes = `
get object_type=customer object_id=1 operator_id=JDOE -> none
get object_type=customer object_id=2 operator_id=JDOE -> none
release object_type=customer object_id=1 operator_id=JDOE -> none
release object_type=customer object_id=1 operator_id=JDOE actor_id=BOSS reason=why -> none
note object_type=customer object_id=1 operator_id=JDOE note=why -> none
take object_type=customer object_id=1 operator_id=BOSS reason=why -> none
transfer object_type=customer object_id=1 from_operator_id=JDOE to_operator_id=BOSS -> none
transfers from_operator_id=JDOE to_operator_id=BOSS -> none
releases operator_id=JDOE -> none
announce object_type=customer object_id=1 operator_id=BOSS client_id=p -> none
set object_type=customer default_ttl_seconds=60 actor_id=BOSS -> none
ask object_type=customer object_id=1 operator_id=BOSS client_id=p -> none
answer object_type=customer object_id=1 operator_id=JDOE fence=$first asker_id=ASMITH answer=LATER -> none
answer object_type=customer object_id=1 operator_id=JDOE fence=$first asker_id=ASMITH answer=GIVE -> none
`

// Goal: the promise of each row of the table holds. Method: make the condition; play a day of calls by the row form, by CALL and by the
// façade; look at what is left by an ordinary connection.
func TestConditions(t *testing.T) {
	t.Parallel()
	play(t, func(row condition) bool { return !row.isHeavy() && len(row.of("global")) == 0 })
}

// TestHeavyConditions plays the rows that take long.
func TestHeavyConditions(t *testing.T) {
	t.Parallel()
	play(t, func(row condition) bool { return row.isHeavy() && len(row.of("global")) == 0 })
}

func play(t *testing.T, choose func(row condition) bool) {
	t.Helper()
	rows := slices.DeleteFunc(read(t), func(row condition) bool { return row.promise == "documented" || !choose(row) })
	program := sync.OnceValue(func() string { return testdb.Applockctl(t) }) // which outlives the first that needs it
	testdb.EachProduct(t, testdb.Products(), func(t *testing.T, product string) {
		ordinary := newSite(t, product, testclient.Lent(t, product))
		for _, row := range rows {
			if !slices.Contains(strings.Split(row.products, ", "), product) {
				continue
			}
			t.Run(row.name+"/"+row.shown(), func(t *testing.T) {
				s := ordinary
				if own := len(row.of("create")) + len(row.of("before")) + len(row.of("after")); own > 0 {
					t.Parallel()
					s = siteOf(t, row, product)
				}
				s = s.in(row)
				s.program = program
				if len(row.of("pooler")) > 0 {
					s.dsn = testdb.PgBouncer(t, s.dsn)
				}
				s.keeps(t)
			})
		}
	})
}

// site is a database in a condition.
type site struct {
	product, letters string
	// plain is the DSN without the condition.
	dsn, plain string
	admin      *sql.DB // without the condition
	row        condition
	// program is the path of applockctl.
	program func() string
}

// emptied are the tables of an ordinary database after a day.
var emptied = []string{"appl_lock", "appl_lock_waiter", "appl_lock_ask", "appl_lock_viewer", "appl_lock_event", "appl_lock_policy"}

func (s *site) prefix() string {
	if s.product == "postgres" {
		return "applock."
	}
	return ""
}

func newSite(t testing.TB, product, dsn string) *site {
	t.Helper()
	s := &site{product: product, dsn: dsn, plain: dsn}
	switch product {
	case "postgres":
		handle := stdlib.OpenDBFromPool(postgresPool(t, dsn, ""))
		s.admin = handle
	case "sqlite":
		handle, err := sql.Open("sqlite", strings.TrimPrefix(dsn, "sqlite:"))
		if err != nil {
			t.Fatal(err)
		}
		s.admin = handle
	default:
		s.admin = testdb.OpenMySQL(t, dsn, nil)
	}
	t.Cleanup(func() { _ = s.admin.Close() })
	return s
}

func postgresPool(t testing.TB, dsn, setting string) *pgxpool.Pool {
	t.Helper()
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	if encoding := config.ConnConfig.RuntimeParams; encoding["client_encoding"] == "" {
		encoding["client_encoding"] = "UTF8"
	}
	config.ConnConfig.OnNotice = func(_ *pgconn.PgConn, notice *pgconn.Notice) {
		if notice.Severity == "WARNING" && notice.Code != "25P01" { // COMMIT outside a transaction
			t.Errorf("the server warns: %s", notice.Message)
		}
	}
	if setting != "" {
		config.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
			_, err := conn.Exec(ctx, "SET "+setting)
			return err
		}
	}
	pool, err := pgxpool.NewWithConfig(context.WithoutCancel(t.Context()), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

// siteOf makes a condition of a database.
func siteOf(t *testing.T, row condition, product string) *site {
	t.Helper()
	var s *site
	if before := row.of("before"); len(before)+len(row.of("create")) == 0 {
		s = newSite(t, product, testclient.Installed(t, product))
	} else {
		s = newSite(t, product, testdb.New(t, product, row.of("create")...))
		for _, statement := range before {
			s.execute(t, statement)
		}
		s.install(t)
	}
	for _, statement := range row.of("after") {
		s.execute(t, statement)
	}
	return s
}

func (s *site) install(t *testing.T) {
	t.Helper()
	if _, err := migrate.Up(t.Context(), testclient.Open(t, s.plain, "", nil), migrate.UpRequest{}); err != nil {
		t.Fatal(err)
	}
}

// in is the site in a condition.
func (s site) in(row condition) *site {
	s.row, s.letters = row, "é"
	if letters := row.of("letters"); len(letters) > 0 {
		s.letters = letters[0]
	}
	for _, option := range row.of("dsn") {
		s.dsn += map[bool]string{true: "&", false: "?"}[strings.Contains(s.dsn, "?")] + option
	}
	return &s
}

var databaseOf = regexp.MustCompile(`/(applock_\w+)`)

func (s *site) execute(t *testing.T, statement string) {
	t.Helper()
	if found := databaseOf.FindStringSubmatch(s.dsn); found != nil {
		statement = strings.ReplaceAll(statement, "DATABASE shop", "DATABASE "+found[1])
	}
	statement = strings.ReplaceAll(statement, " appl_lock", " "+s.prefix()+"appl_lock")
	if _, err := s.admin.ExecContext(t.Context(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// way is a way to call.
type way struct {
	name string
	scenario.Executor
	// conn is its only connection; nil where it has a pool.
	conn *sql.DB
}

// ways are the ways to call in the condition.
func (s *site) ways(t *testing.T) []way {
	t.Helper()
	setting := strings.Join(s.row.of("session"), "")
	var place contract.Place
	switch s.product {
	case "sqlite":
		place.Client = testclient.Open(t, s.dsn, "", nil)
		return []way{{name: "facade", Executor: place.Executor("facade")}}
	case "postgres":
		pool := postgresPool(t, s.dsn, setting)
		place.Client, place.SQL, place.Table = testclient.Postgres(t, postgresPool(t, s.dsn, setting)), stdlib.OpenDBFromPool(pool), "applock.appl_lock"
		t.Cleanup(func() { _ = place.SQL.Close() })
		place.Executors = map[string]scenario.Executor{
			"row": contract.Postgres(pool, pgx.QueryExecModeDescribeExec, s.form(contract.PostgresRow)), "call": contract.Postgres(pool, pgx.QueryExecModeDescribeExec, s.form(contract.PostgresCall)),
		}
	default:
		change := func(config *driver.Config) {
			config.ParseTime, config.Loc = true, time.UTC
			if name, value, found := strings.Cut(setting, " = "); found {
				config.Params = map[string]string{name: value}
			}
		}
		place.Client = testclient.Open(t, s.dsn, "", nil)
		if setting != "" {
			place.Client = testclient.MySQL(t, testdb.OpenMySQL(t, s.dsn, change))
		}
		place.SQL, place.Table = testdb.OpenMySQL(t, s.dsn, change), "appl_lock"
		place.Executors = map[string]scenario.Executor{"row": contract.MySQLRow(place.SQL), "call": contract.MySQLCall(place.SQL)}
	}
	place.Driver = clients.Driver(place.Client)
	place.SQL.SetMaxOpenConns(1)
	return []way{
		{"row", place.Executor("row"), place.SQL}, {"call", place.Executor("call"), place.SQL}, {"facade", place.Executor("facade"), nil},
	}
}

// form has the texts of a call come from columns with a collation, where the condition is one.
func (s *site) form(form func(db.Operation, string) string) func(db.Operation, string) string {
	collations := s.row.of("column")
	if len(collations) == 0 {
		return form
	}
	return func(called db.Operation, _ string) string {
		var columns, arguments []string
		for i, in := range called.InParameters() {
			name := fmt.Sprint("a", i)
			value := fmt.Sprintf("$%d::bigint", i+1)
			if in.Type != db.Number {
				value = fmt.Sprintf("$%d::text %s", i+1, collations[i%len(collations)])
			}
			columns, arguments = append(columns, value+" AS "+name), append(arguments, "q."+name)
		}
		call := strings.TrimPrefix(contract.PostgresRow(called, strings.Join(arguments, ", ")), "SELECT * FROM ")
		return "SELECT f.* FROM (SELECT " + strings.Join(columns, ", ") + ") AS q CROSS JOIN LATERAL " + call + " AS f"
	}
}

// keeps fails where the promise does not hold.
func (s *site) keeps(t *testing.T) {
	t.Helper()
	if len(s.row.of("key")) > 0 {
		s.joins(t)
		return
	}
	refused, isRefused := strings.CutPrefix(s.row.promise, "refused: ")
	if note, is := strings.CutPrefix(s.row.promise, "NOTE: "); is {
		if _, found := s.verify(t, "NOTE", note); !found {
			t.Errorf("verify does not say it")
		}
	}
	if failed, is := strings.CutPrefix(s.row.promise, "FAILED: "); is && !s.mends(t, failed) {
		return
	}
	for _, way := range s.ways(t) {
		if slices.Contains(s.row.how, made{"", "by the façade"}) && way.conn != nil {
			continue
		}
		t.Run(way.name, func(t *testing.T) {
			if isRefused {
				s.refuses(t, way, refused)
			} else {
				s.works(t, way)
			}
		})
	}
}

// verify is what applockctl verify --look-only prints, and whether one of its lines has both texts.
func (s *site) verify(t *testing.T, outcome, text string) (output string, found bool) {
	t.Helper()
	output, _ = s.applockctl(t, "verify", "--look-only")
	for line := range strings.Lines(output) {
		found = found || strings.Contains(line, outcome) && strings.Contains(line, text)
	}
	return output, found
}

// mends shows that verify says what has gone wrong, and that a command mends it, or says why it cannot: TEXT, then COMMAND or COMMAND: MESSAGE.
func (s *site) mends(t *testing.T, promise string) bool {
	t.Helper()
	text, command, _ := strings.Cut(promise, ", until ")
	command, message, refuses := strings.Cut(command, ": ")
	if output, found := s.verify(t, "FAILED", text); !found {
		t.Errorf("verify says\n%s", output)
	}
	if strings.HasPrefix(command, "DELETE ") {
		s.execute(t, command)
		command = "verify --look-only" // of which the answer counts below
	}
	output, err := s.applockctl(t, strings.Fields(command)...)
	if refuses {
		if err == nil || !strings.Contains(output, message) {
			t.Errorf("%v: %s", err, output)
		}
		return false
	}
	if output, found := s.verify(t, "FAILED", text); found {
		t.Errorf("verify says still\n%s", output)
	}
	return true
}

// applockctl runs the program on the site.
func (s *site) applockctl(t *testing.T, arguments ...string) (output string, err error) {
	t.Helper()
	command := exec.CommandContext(t.Context(), s.program(), arguments...)
	command.Env = append(os.Environ(), "APPLOCK_DSN="+s.dsn)
	bytes, err := command.CombinedOutput()
	return string(bytes), err
}

// steps of a scenario in this site's letters.
func (s *site) steps(t *testing.T, text string) []scenario.Step {
	t.Helper()
	parsed, err := scenario.Parse(strings.ReplaceAll(text, "LETTERS", s.letters))
	if err != nil {
		t.Fatal(err)
	}
	return parsed.Steps
}

// works plays the day, and looks at what is left of it, and at the setting.
func (s *site) works(t *testing.T, way way) {
	t.Helper()
	s.clear(t)
	before := s.setting(t, way)
	variables := map[string]string{}
	for _, step := range s.steps(t, day) {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute) // a call that has lost its handlers goes on for ever
		answer, err := way.Executor(ctx, step.Operation, scenario.Bind(step.Args, variables))
		cancel()
		if err != nil {
			t.Fatalf("%s: %v", step.Text, err)
		}
		if problem := scenario.Compare(answer, step.Words, step.Terms, variables); problem != "" {
			t.Errorf("%s\n%s", step.Text, problem)
		}
	}
	if after := s.setting(t, way); after != before {
		t.Errorf("the setting is %s after the calls, was %s", after, before)
	}
	if way.conn != nil {
		_, _ = way.conn.ExecContext(t.Context(), "COMMIT") // without autocommit
	}
	if left := s.value(t, "SELECT CONCAT((SELECT COUNT(*) FROM "+s.prefix()+"appl_lock), ' ', (SELECT COUNT(*) FROM "+s.prefix()+"appl_lock_event))"); left != written {
		t.Errorf("rows of appl_lock and appl_lock_event: %s, want %s", left, written)
	}
}

// clear empties the tables.
func (s *site) clear(t *testing.T) {
	t.Helper()
	for _, name := range emptied {
		s.execute(t, "DELETE FROM "+s.prefix()+name)
	}
}

// refuses plays the changes, of which none may change anything.
func (s *site) refuses(t *testing.T, way way, message string) {
	t.Helper()
	s.clear(t)
	ordinary := s.ordinary(t)
	variables := map[string]string{}
	for _, step := range s.steps(t, `
get object_type=customer object_id=1 operator_id=JDOE -> Y ACQUIRED fence=$first
ask object_type=customer object_id=1 operator_id=ASMITH client_id=p -> Y ASKED`) {
		answer, err := ordinary(t.Context(), step.Operation, step.Args)
		if err != nil {
			t.Fatal(err)
		}
		_ = scenario.Compare(answer, step.Words, step.Terms, variables)
	}
	all := "SELECT CONCAT((SELECT MAX(lock_ts) FROM appl_lock)"
	for _, name := range emptied {
		all += ", ' ', (SELECT COUNT(*) FROM " + name + ")"
	}
	all = strings.ReplaceAll(all, "FROM ", "FROM "+s.prefix()) + ")"
	before := s.value(t, all)
	for _, step := range s.steps(t, changes) {
		answer, err := way.Executor(t.Context(), step.Operation, scenario.Bind(step.Args, variables))
		if err == nil || !strings.Contains(err.Error(), message) {
			t.Errorf("%s: %v, %v, want an error with %q", step.Text, answer.Words, err, message)
		}
	}
	if after := s.value(t, all); after != before {
		t.Errorf("the tables are %s, were %s", after, before)
	}
}

// ordinary calls without the condition.
func (s *site) ordinary(t *testing.T) scenario.Executor {
	t.Helper()
	dsn := s.plain
	if s.product == "postgres" {
		dsn += "&default_transaction_read_only=off"
	}
	return clients.Through[scenario.Executor](testclient.Open(t, dsn, "", nil))
}

// setting is the value of the condition's setting in the only session of a way.
func (s *site) setting(t *testing.T, way way) (value string) {
	t.Helper()
	name, _, found := strings.Cut(strings.Join(s.row.of("session"), ""), " = ")
	if !found || way.conn == nil {
		return ""
	}
	query := map[bool]string{true: "SHOW " + name, false: "SELECT @@SESSION." + name + " LIMIT 1"}[s.product == "postgres"]
	if err := way.conn.QueryRowContext(t.Context(), query).Scan(&value); err != nil {
		t.Fatal(err)
	}
	return value
}

func (s *site) value(t *testing.T, query string) (value string) {
	t.Helper()
	if err := s.admin.QueryRowContext(t.Context(), query).Scan(&value); err != nil {
		t.Fatal(err)
	}
	return value
}
