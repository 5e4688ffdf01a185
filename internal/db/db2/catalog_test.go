package db2_test

import (
	"database/sql/driver"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/testing/testclient"
	"github.com/applock/applock/migrations"
)

// turn is the row of the migrator whose turn it is.
type turn struct {
	owner   string
	expires time.Time
}

// hook may answer in place of the catalog; what it lets the catalog do it does before or after.
type hook func(statement fakeStatement, do func() fakeAnswer) fakeAnswer

// catalog is a server that knows the tables of the migrators. A transaction is rolled back as a whole.
type catalog struct {
	hook   hook
	server *fake
	mu     sync.Mutex
	catalogState
	// registers are those of each connection.
	registers map[int][2]string
	// locks is how many are live.
	locks int64
	// owners are those whose turn it was.
	owners []string
	// before is what a rollback brings back, by connection.
	before map[int]catalogState
}

type catalogState struct {
	tables   map[string]bool
	versions map[int64]driver.Value
	turns    []turn
}

func newCatalog(t *testing.T) (*catalog, *fake, *applock.Client) {
	t.Helper()
	c := &catalog{
		catalogState: catalogState{tables: map[string]bool{}, versions: map[int64]driver.Value{}},
		registers:    map[int][2]string{},
		before:       map[int]catalogState{},
	}
	server, pool := newFake(t, c.answer)
	server.lenient = true
	c.server = server
	return c, server, testclient.DB2(t, pool)
}

func (c *catalog) answer(statement fakeStatement) fakeAnswer {
	do := func() fakeAnswer { return c.plainly(statement) }
	if c.hook != nil {
		return c.hook(statement, do)
	}
	return do()
}

// plainly answers without the hook.
func (c *catalog) plainly(statement fakeStatement) fakeAnswer {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.do(statement)
}

func (s catalogState) clone() catalogState {
	return catalogState{maps.Clone(s.tables), maps.Clone(s.versions), slices.Clone(s.turns)}
}

func row(values ...driver.Value) fakeAnswer {
	return fakeAnswer{columns: make([]string, len(values)), rows: [][]driver.Value{values}}
}

var tableName = regexp.MustCompile(`applock\.\w+`)

func (c *catalog) do(statement fakeStatement) fakeAnswer {
	text := statement.text
	if end := strings.TrimSpace(text); end == "" || strings.ContainsAny(end[len(end)-1:], ";@") || strings.Contains(text, "+goose") || strings.Contains(text, "--#SET") {
		return unexpected()
	}
	switch text {
	case "BEGIN":
		c.before[statement.conn] = c.clone()
		return fakeAnswer{}
	case "ROLLBACK":
		if state, begun := c.before[statement.conn]; begun {
			c.catalogState = state
		}
		return fakeAnswer{}
	case "COMMIT":
		return fakeAnswer{}
	}
	if table := tableName.FindString(text); table != "" {
		return c.doTable(table, statement)
	}
	registers, known := c.registers[statement.conn]
	if !known {
		registers = [2]string{theirSchema, theirPath}
	}
	if strings.HasPrefix(text, "SELECT CURRENT SCHEMA, CURRENT PATH FROM") {
		return row([]byte(registers[0]+"    "), []byte(registers[1]))
	}
	for i, set := range []string{"SET CURRENT SCHEMA = ", "SET CURRENT PATH = "} {
		if value, found := strings.CutPrefix(text, set); found {
			registers[i] = strings.Trim(value, map[int]string{0: `"`}[i])
			c.registers[statement.conn] = registers
		}
	}
	if !strings.HasPrefix(text, "SE") && (!statement.inTx || len(c.turns) != 1 || registers != [2]string{"applock", "SYSTEM PATH, applock"}) {
		return fakeAnswer{err: answer(-551, "42501", "A migration is not in a transaction, a turn and its schema.")}
	}
	return fakeAnswer{columns: []string{"1"}} // a migration's, or of the names of routines
}

func (c *catalog) doTable(table string, statement fakeStatement) fakeAnswer {
	if strings.HasPrefix(statement.text, "SELECT COUNT(*) FROM applock.appl_lock WHERE released_ts IS NULL AND expires_ts >") {
		return row(c.locks)
	}
	if strings.HasSuffix(statement.text, " WHERE 1 = 0") { // what a migration has created
		return fakeAnswer{columns: []string{"1"}}
	}
	create := strings.HasPrefix(statement.text, "CREATE TABLE")
	if c.tables[table] == create {
		if create {
			return fakeAnswer{err: answer(-601, "42710", `The name of the object to be created is identical to the existing name.`)}
		}
		return fakeAnswer{err: answer(-204, "42704", `"`+strings.ToUpper(table)+`" is an undefined name.`)}
	}
	switch {
	case create, strings.HasPrefix(statement.text, "DROP TABLE"):
		c.tables[table] = create
		return fakeAnswer{}
	case strings.HasPrefix(statement.text, "SELECT COUNT(*)"):
		return row(int32(0)) // nobody wants to know how many
	case table == lockTable:
		return c.doTurn(statement)
	case table == versionTable:
		return c.doVersion(statement)
	}
	return unexpected()
}

func unexpected() fakeAnswer {
	return fakeAnswer{err: answer(-104, "42601", "An unexpected token was found.")}
}

func duplicate() fakeAnswer {
	return fakeAnswer{err: answer(-803, "23505", "One or more values in the INSERT statement are not valid because of a primary key.")}
}

func (c *catalog) doTurn(statement fakeStatement) fakeAnswer {
	switch {
	case strings.Contains(statement.text, "WHERE expires_ts < CURRENT TIMESTAMP - CURRENT TIMEZONE"):
		c.turns = slices.DeleteFunc(c.turns, func(t turn) bool { return t.expires.Before(time.Now()) })
	case strings.HasSuffix(statement.text, "WHERE owner = ?"):
		c.turns = slices.DeleteFunc(c.turns, func(t turn) bool { return t.owner == statement.args[0] })
	case len(c.turns) > 0:
		return duplicate()
	default:
		owner := statement.args[0].(string)
		c.turns, c.owners = append(c.turns, turn{owner, time.Now().Add(300 * time.Second)}), append(c.owners, owner)
	}
	return fakeAnswer{}
}

func (c *catalog) doVersion(statement fakeStatement) fakeAnswer {
	now := time.Date(2026, 7, 31, 12, 0, 0, 0, time.UTC)
	answer := fakeAnswer{columns: []string{"1", "2"}}
	switch {
	case strings.HasPrefix(statement.text, "SELECT MAX(version_id)"):
		if len(c.versions) == 0 {
			return row(nil)
		}
		return row(slices.Max(slices.Collect(maps.Keys(c.versions))))
	case strings.HasPrefix(statement.text, "SELECT tstamp, is_applied"):
		if _, found := c.versions[statement.args[0].(int64)]; found {
			answer.rows = [][]driver.Value{{now, int32(1)}}
		}
		return answer
	case strings.HasPrefix(statement.text, "SELECT version_id, is_applied"):
		for _, version := range slices.Backward(slices.Sorted(maps.Keys(c.versions))) {
			answer.rows = append(answer.rows, []driver.Value{version, int32(1)})
		}
		return answer
	case strings.HasPrefix(statement.text, "DELETE"):
		delete(c.versions, statement.args[0].(int64))
	default:
		version := statement.args[0].(int64)
		if _, found := c.versions[version]; found {
			return duplicate()
		}
		c.versions[version] = statement.args[1]
	}
	return fakeAnswer{}
}

// newestVersion is that of the newest migration.
func newestVersion() int {
	names, err := fs.Glob(migrations.Of("db2"), "*.sql")
	if err != nil {
		panic(err) // the pattern is wrong
	}
	return len(names)
}

// allVersions are those of the version table when everything is migrated.
func allVersions() []int64 {
	var versions []int64
	for version := range int64(newestVersion() + 1) {
		versions = append(versions, version)
	}
	return versions
}

// check requires these versions, and what checkTurn requires.
func (c *catalog) check(t *testing.T, versions ...int64) {
	t.Helper()
	c.checkTurn(t)
	c.mu.Lock()
	defer c.mu.Unlock()
	if got := slices.Sorted(maps.Keys(c.versions)); !slices.Equal(got, versions) {
		t.Errorf("versions %d, want %d", got, versions)
	}
	for version, applied := range c.versions {
		if applied != true { // which go_ibm_db sends as the number 1
			t.Errorf("version %d is applied: %v", version, applied)
		}
	}
}

// checkTurn requires that no migrator has the turn, and that each open connection is as it was lent.
func (c *catalog) checkTurn(t *testing.T) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.turns) != 0 {
		t.Errorf("it is still the turn of %v", c.turns)
	}
	for conn, registers := range c.registers {
		if registers != [2]string{theirSchema, theirPath} && !eventually(func() bool { return c.server.isClosed(conn) }) {
			t.Errorf("connection %d is left with %q", conn, registers)
		}
	}
}
