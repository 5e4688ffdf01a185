//go:build linux

package faults_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/migrate"
	"github.com/applock/applock/internal/testing/testclient"
	"github.com/applock/applock/internal/testing/testdb"
	"github.com/applock/applock/internal/testing/wire"
	"github.com/applock/applock/internal/testing/worker"
)

const (
	// secondsVariable is how long each product is tried, seedVariable repeats what a run has drawn.
	secondsVariable = "APPLOCK_FAULTS_SECONDS"
	seedVariable    = "APPLOCK_FAULTS_SEED"
	// keepVariable is the folder for histories with a violation, historyVariable one of them, to be checked again.
	keepVariable    = "APPLOCK_FAULTS_KEEP"
	historyVariable = "APPLOCK_FAULTS_HISTORY"
	// clocksVariable is no where no server's clock is to be set.
	clocksVariable = "APPLOCK_FAULTS_CLOCKS"
	// givenVariable is yes where the server is the one of the DSN itself, such as a cluster: whatever nobody else may feel is left out.
	givenVariable = "APPLOCK_FAULTS_GIVEN"
	// givenSlack is how far apart the clocks of a given cluster's nodes may be, in microseconds: YugabyteDB's max_clock_skew_usec.
	givenSlack = 500_000
	// tableVariable is the file for the table.
	tableVariable = "APPLOCK_FAULTS_TABLE"

	shortSeconds = 15
	processes    = 3
	// round is how long there is one history of each object.
	round = 3 * time.Second
	// checkLimit is how long porcupine looks at a history, which is undecided then.
	checkLimit = time.Minute
)

func TestMain(m *testing.M) {
	worker.Main(map[string]func(ctx context.Context, orders []byte) error{faultsJob: work})
	os.Exit(m.Run())
}

// openAdmin opens a pool for what is not in the history.
func openAdmin(product, dsn string) (*sql.DB, error) {
	if product == postgres {
		return sql.Open("pgx", dsn)
	}
	return place{Product: product, DSN: dsn}.poolOfMySQL()
}

// levels are those of isolation; empty is the product's own. SQLite has one.
func levels(product string) []string {
	switch product {
	case sqlite:
		return []string{""}
	case postgres:
		return []string{"read committed", "repeatable read", "serializable"}
	}
	return []string{"read committed", "repeatable read", "serializable"}
}

// Kinds of faults.
const (
	faultNone       = "none"
	faultKillServer = "kill server"
	faultStopServer = "stop server"
	faultKillClient = "kill client"
	faultStopClient = "stop client"
	faultTerminate  = "terminate sessions"
	faultCancel     = "cancel calls"
	faultReset      = "reset"
	faultSlow       = "slow"
	faultSilence    = "silence"
	faultCut        = "cut"
	faultHasty      = "timeouts of 1 ms"
	faultExhaust    = "no connection left"
	faultFull       = "disk full"
	faultAhead      = clockFault + "a day before the clients'"
	faultBack       = clockFault + "an hour back"
	faultForward    = clockFault + "a day forward"

	clockFault = "server's clock "
)

// The clock's faults: all the time by the first, or once by one of the others.
const (
	ahead   = 24 * time.Hour
	back    = -time.Hour
	forward = 24 * time.Hour
)

func faultsOf(product string) []string {
	if product == sqlite {
		return []string{faultNone, faultKillClient, faultStopClient, faultHasty, faultFull}
	}
	return []string{
		faultKillServer, faultNone, faultStopServer, faultTerminate, faultCancel, faultKillClient, faultReset, faultStopClient, faultCut, faultSlow,
		faultHasty, faultSilence, faultExhaust, faultFull, faultAhead, faultBack, faultForward,
	}
}

// tally is a row of the table.
type tally struct {
	began                                                               time.Time
	operations, answered, unknown, faults, histories, undecided, broken int
}

// laboratory is what the histories of a product have in common.
type laboratory struct {
	t      *testing.T
	place  place
	server *server // nil: SQLite has none, and a given one is not ours
	given  bool
	disk   *disk
	random *rand.Rand
	seed   uint64
	kinds  []string // of faults
	offset int64
	tally
}

// Goal: whatever happens to servers, clients and connections, the answers are those of one lock after the other, no acknowledged grant
// is lost, and none begins before the former one's end. Method: rounds of a few seconds, in which processes make all kinds of calls on
// four objects, by SQL and by the façade, in transactions and outside, at one level of isolation, while one fault happens. Then
// porcupine looks for an order of each object's calls that the model allows.
func TestFaults(t *testing.T) {
	t.Parallel()
	long := time.Duration(worker.Number(t, secondsVariable, shortSeconds)) * time.Second
	seed := uint64(worker.Number(t, seedVariable, int(time.Now().Unix())))
	var writing sync.Mutex
	table := []string{
		fmt.Sprintf("%s=%d", seedVariable, seed), "",
		"| product | minutes | operations | unknown | faults | histories | undecided | violations |",
		"|---|---|---|---|---|---|---|---|",
	}
	t.Cleanup(func() { tell(t, strings.Join(table, "\n")+"\n") })
	products := append([]string{postgres, sqlite}, testdb.MySQLProducts()...)
	if isGiven() {
		products = []string{postgres}
	}
	for _, product := range products {
		t.Run(product, func(t *testing.T) {
			t.Parallel()
			l := newLaboratory(t, product, seed)
			l.began = time.Now()
			for i := 0; time.Since(l.began) < long || i < len(l.kinds); i++ {
				l.round(i)
			}
			row := fmt.Sprintf("| %s | %.1f | %d | %d | %d | %d | %d | %d |", product, time.Since(l.began).Minutes(),
				l.operations, l.unknown, l.faults, l.histories, l.undecided, l.broken)
			writing.Lock()
			table = append(table, row)
			writing.Unlock()
			if l.answered == 0 {
				t.Error("nothing was answered")
			}
		})
	}
}

// tell writes the table into the file that is meant for it, too.
func tell(t *testing.T, table string) {
	t.Helper()
	t.Log("\n" + table)
	path := os.Getenv(tableVariable)
	if path == "" {
		return
	}
	if err := os.WriteFile(path, []byte(table), 0o600); err != nil {
		t.Error(err)
	}
}

func isGiven() bool { return os.Getenv(givenVariable) == "yes" }

// newLaboratory makes a server and installs.
func newLaboratory(t *testing.T, product string, seed uint64) *laboratory {
	t.Helper()
	l := &laboratory{t: t, place: place{Product: product}, seed: seed, random: rand.New(rand.NewPCG(seed, 0))}
	switch {
	case isGiven():
		l.given, l.disk = true, &disk{}
		l.place.DSN = testdb.Postgres(t)
	case product == sqlite:
		l.disk = &disk{folder: t.TempDir()}
		l.disk.confine(t, product)
		l.place.DSN = "sqlite:" + filepath.Join(l.disk.folder, "applock.db")
	default:
		l.server = newServer(t, product)
		l.place.DSN, l.disk = l.server.dsn, &l.server.disk
	}
	l.kinds = l.possible()
	client := testclient.Open(t, l.place.DSN, "", nil)
	if _, err := migrate.Up(t.Context(), client, migrate.UpRequest{}); err != nil {
		t.Fatal(err)
	}
	policy := applock.Policy{Type: objectType, DefaultTTL: givenSeconds * time.Second}
	if err := client.SetPolicy(t.Context(), applock.SetPolicyRequest{Policy: policy, Actor: "faults"}); err != nil {
		t.Fatal(err)
	}
	return l
}

// rules are those of the product: SQLite's clock has milliseconds, and rounds. Libfaketime was seen to be 0.4 ms behind the machine's clock
// until its server was started again. Of a clock that is set all that is known is that it ends no grant before its own time: now and then
// libfaketime answers by the former time. The rest is for looking at two clocks.
func (l *laboratory) rules(fault string) rules {
	drift := clocks() + offsetOf(fault) - l.offset
	slack := 100 + max(drift, -drift)
	switch {
	case strings.HasPrefix(fault, clockFault):
		slack += max(ahead, -back, forward).Microseconds()
	case l.given:
		slack += givenSlack
	case l.server == nil || l.server.faked:
		slack += 1000
	}
	return rules{slack: slack, split: l.server != nil && l.place.Product != postgres}
}

// offsetOf is what a server's clock is before the machine's, in microseconds.
func offsetOf(fault string) int64 {
	if fault == faultAhead {
		return ahead.Microseconds()
	}
	return 0
}

// worked is a process of a round.
type worked struct {
	*worker.Process

	killed bool
}

// round makes a history of each object.
func (l *laboratory) round(i int) {
	l.t.Helper()
	isolation := levels(l.place.Product)
	fault := l.kinds[i%len(l.kinds)]
	told := l.place
	told.Level = isolation[(i+i/len(l.kinds))%len(isolation)]
	told.Hasty, told.Killed = fault == faultHasty, fault == faultCancel
	if fault == faultAhead {
		l.server.set(l.t, ahead)
	}
	l.offset = clocks() + offsetOf(fault)
	folder := l.t.TempDir()
	var between *wire.Wire
	if l.server != nil || l.given {
		between, told.DSN = wire.Through(l.t, told.DSN)
		if !strings.Contains(told.DSN, "?") {
			told.DSN += "?timeout=5s"
		}
	}
	var crew []*worked
	for number := range processes {
		crew = append(crew, &worked{Process: worker.Start(l.t, faultsJob, orders{
			Place: told, Number: number, Offset: l.offset, Seed: l.seed + uint64(i), Prefix: fmt.Sprintf("round%d", i),
			Journal: filepath.Join(folder, fmt.Sprintf("%d.jsonl", number)), Long: round,
		})})
	}
	worker.Rest(l.t.Context(), time.Duration(l.random.Int64N(int64(round/2))))
	if fault != faultNone {
		l.faults++
	}
	l.disturb(fault, crew, between)
	for _, w := range crew {
		if err := w.Wait(); err != nil && !w.killed {
			l.t.Errorf("round %d, %s: a process: %v", i, fault, err)
		}
	}
	if l.server != nil {
		l.server.await(l.t)
	}
	if strings.HasPrefix(fault, clockFault) {
		defer l.server.set(l.t, 0)
	}
	l.judge(fmt.Sprintf("%s, round %d, %s, %s", l.place.Product, i, told.Level, fault), l.rules(fault), readJournals(l.t, folder))
}

// disturb returns when what it has done is over.
func (l *laboratory) disturb(fault string, crew []*worked, between *wire.Wire) {
	l.t.Helper()
	long := time.Duration(l.random.Int64N(int64(round/2))) + round/10
	victim := crew[l.random.IntN(len(crew))]
	switch fault {
	case faultKillServer:
		l.server.kill()
		l.server.start(l.t)
		l.server.await(l.t)
	case faultStopServer:
		l.server.signal(syscall.SIGSTOP)
		worker.Rest(l.t.Context(), long)
		l.server.signal(syscall.SIGCONT)
	case faultKillClient:
		victim.killed = true
		victim.Kill()
	case faultStopClient:
		_ = victim.Process.Process.Signal(syscall.SIGSTOP)
		worker.Rest(l.t.Context(), long)
		_ = victim.Process.Process.Signal(syscall.SIGCONT)
	case faultTerminate:
		for range 5 {
			l.terminate(true)
			worker.Rest(l.t.Context(), long/5)
		}
	case faultCancel:
		for range 50 {
			l.terminate(false)
			worker.Rest(l.t.Context(), long/50)
		}
	case faultReset:
		for range 5 {
			between.Reset()
			worker.Rest(l.t.Context(), long/5)
		}
	case faultSlow:
		between.Slow(time.Duration(l.random.IntN(200)) * time.Millisecond)
		worker.Rest(l.t.Context(), long)
		between.Slow(0)
	case faultSilence:
		between.Silence()
		worker.Rest(l.t.Context(), long)
		between.Speak()
	case faultCut:
		between.Silence()
		worker.Rest(l.t.Context(), long)
		between.Reset()
		between.Speak()
	case faultExhaust:
		l.exhaust(between, long)
	case faultFull:
		l.disk.fill(l.t)
		if l.place.Product == postgres {
			l.server.useLog(l.t)
		}
		worker.Rest(l.t.Context(), long)
		l.disk.spill(l.t)
	case faultBack:
		l.step(back)
	case faultForward:
		l.step(forward)
	}
}

// step steps the server's clock while clients call.
func (l *laboratory) step(by time.Duration) {
	l.t.Helper()
	l.server.step(l.t, by)
	if !l.server.isOff(l.t, by) {
		l.t.Log("the server has not noticed that its clock was stepped")
	}
}

// terminate ends all sessions but its own, or what they are just doing.
func (l *laboratory) terminate(sessions bool) {
	l.t.Helper()
	if err := l.sendTermination(sessions); err != nil {
		l.t.Fatalf("%v\n%s", err, l.server.lastWords())
	}
}

func (l *laboratory) sendTermination(sessions bool) error {
	postgresBy, mysqlBy := "pg_cancel_backend", "KILL QUERY "
	if sessions {
		postgresBy, mysqlBy = "pg_terminate_backend", "KILL "
	}
	admin, err := openAdmin(l.place.Product, l.place.DSN)
	if err != nil {
		return err
	}
	defer func() { _ = admin.Close() }()
	if l.place.Product == postgres {
		_, err = admin.ExecContext(l.t.Context(), "SELECT "+postgresBy+"(pid) FROM pg_stat_activity "+
			"WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'")
		return err
	}
	rows, err := admin.QueryContext(l.t.Context(), "SELECT id FROM information_schema.processlist WHERE db IS NOT NULL AND id <> connection_id()")
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	var ids []int64
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return err
		}
		ids = append(ids, id)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	for _, id := range ids {
		_, _ = admin.ExecContext(l.t.Context(), fmt.Sprint(mysqlBy, id)) // it may have gone
	}
	return nil
}

// exhaust takes all connections that the server has, after the clients have lost theirs.
func (l *laboratory) exhaust(between *wire.Wire, long time.Duration) {
	l.t.Helper()
	admin, err := openAdmin(l.place.Product, l.place.DSN)
	if err != nil {
		l.t.Fatal(err)
	}
	defer func() { _ = admin.Close() }()
	admin.SetMaxOpenConns(0)
	between.Reset()
	var taken []*sql.Conn
	for range 2 * few {
		conn, err := admin.Conn(l.t.Context())
		if err != nil {
			break
		}
		taken = append(taken, conn)
	}
	worker.Rest(l.t.Context(), long)
	for _, conn := range taken {
		_ = conn.Close()
	}
}

// readJournals returns the operations that were sent, of each object.
func readJournals(t *testing.T, folder string) map[string][]operation {
	t.Helper()
	of := map[string][]operation{}
	for _, journal := range worker.Read[entry](t, folder) {
		last := map[int]entry{}
		for _, e := range journal {
			last[e.ID] = e
		}
		for _, e := range last {
			if !e.Void {
				of[e.Op.Object] = append(of[e.Op.Object], e.Op)
			}
		}
	}
	return of
}

// judge checks the histories of a round.
func (l *laboratory) judge(title string, r rules, of map[string][]operation) {
	l.t.Helper()
	for object, history := range of {
		slices.SortFunc(history, func(a, b operation) int { return int(a.Call - b.Call) })
		l.histories++
		l.operations += len(history)
		for _, o := range history {
			switch o.Fate {
			case fateUnknown, fateUnsure:
				l.unknown++
			default:
				l.answered++
			}
		}
		switch r.check(history, checkLimit) {
		case porcupine.Ok:
		case porcupine.Unknown:
			l.undecided++
			l.t.Logf("undecided: %s, %s: %d operations", title, object, len(history))
		case porcupine.Illegal:
			l.broken++
			l.t.Errorf("violation: %s, %s, slack %d, kept as %s", title, object, r.slack, keep(l.t, l.place.Product+"-"+object, r, history))
		}
	}
}

// kept is a history as a file has it.
type kept struct {
	Slack   int64       `json:"slack"`
	Split   bool        `json:"split"`
	History []operation `json:"history"`
}

// keep writes a history into the folder that is meant for that, and returns its path.
func keep(t *testing.T, name string, r rules, history []operation) string {
	t.Helper()
	folder := os.Getenv(keepVariable)
	if folder == "" {
		folder = os.TempDir()
	}
	text, err := json.Marshal(kept{r.slack, r.split, history})
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.CreateTemp(folder, "applock-history-"+strings.ReplaceAll(name, "/", "-")+"-*.json")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	if _, err := file.Write(bytes.ReplaceAll(text, []byte("},{"), []byte("},\n{"))); err != nil { // an operation a line
		t.Fatal(err)
	}
	return file.Name()
}

// readKept reads what keep has written.
func readKept(t *testing.T, path string) (rules, []operation) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var k kept
	if err := json.Unmarshal(text, &k); err != nil {
		t.Fatal(err)
	}
	return rules{slack: k.Slack, split: k.Split}, k.History
}

// Goal: a history that was kept can be looked at again. Method: where a variable names one, it is checked, and the first operation
// that cannot be is shown, with those before it.
func TestHistory(t *testing.T) {
	t.Parallel()
	path := os.Getenv(historyVariable)
	if path == "" {
		return
	}
	r, history := readKept(t, path)
	longest, left := r.furthest(history)
	if len(left) == 0 {
		t.Logf("%d operations: no violation", len(history))
		return
	}
	for _, o := range longest[max(0, len(longest)-30):] {
		t.Log(o)
	}
	t.Errorf("after %d operations none of these can be:", len(longest))
	for _, o := range left[:min(len(left), 12)] {
		t.Log(o)
	}
}
