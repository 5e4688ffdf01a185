//go:build linux && scale

package scale

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/testing/testdb"
	"github.com/applock/applock/internal/testing/testfile"
)

const (
	// fewRows are in each table unless APPLOCK_TEST_ROWS says more, and statistics are of so many.
	fewRows, analyzedRows = 40_000, 100
	// millionVariable is the file for what TestMillion measures.
	millionVariable = "APPLOCK_SCALE_MILLION"
	timedCalls      = 200
	// scans is how often a call that reads a table is made.
	scans = 5
	// warmCalls come first: a server looks up what it keeps, and PostgreSQL makes a plan for all arguments after five.
	warmCalls = 7
	// countedCalls is how many calls are counted. The least of them is what an operation reads.
	countedCalls = 3
)

// Goal: among a million locks, waiters, requests, viewers and events, and 10,000 policies, each operation on one object and each page
// reads a few rows, with statistics of a time when each table had a hundred. Method: what the server says it has read, in rows by index
// and by scan; pages on SQLite. Times are told, not judged.
func TestMillion(t *testing.T) {
	for _, product := range products() {
		t.Run(product, func(t *testing.T) {
			p := newPlace(t, product)
			rows := testdb.Rows(t, fewRows)
			p.fill(t, 1, analyzedRows)
			p.analyze(t)
			p.fill(t, analyzedRows+1, rows)
			result := p.describe(t, rows)
			requireAll(t, operations(rows))
			for block, o := range operations(rows) {
				result.Operations = append(result.Operations, p.measure(t, o, block, rows))
			}
			p.age(t)
			result.Operations = append(result.Operations, p.measure(t, fullPurge(), 0, rows))
			addToRun(t, func(r *millions) {
				r.Products = slices.DeleteFunc(r.Products, func(m million) bool { return m.Product == product })
				r.Products = append(r.Products, result)
			})
		})
	}
}

// measure counts what the first calls of an operation read, and times the others.
func (p place) measure(t *testing.T, o operation, block, rows int) operationFigure {
	t.Helper()
	calls, warm := timedCalls, warmCalls
	if o.scans {
		calls, warm = scans, 1
	}
	number := 0
	call := func() {
		t.Helper()
		c := called{driver: p.driver, rows: rows, number: number, id: objectOf(block, number, rows)}
		if err := o.call(t.Context(), c); err != nil {
			t.Fatalf("%s: call %d: %v", o.name, number, err)
		}
		number++
	}
	for range warm {
		call()
	}
	least := counts{}
	for i := range countedCalls {
		if now := p.countedRead(t, call); i == 0 || now.sum() < least.sum() {
			least = now
		}
	}
	f := operationFigure{Name: o.name, Reads: least.sum(), Ways: least, Scans: o.scans, AtMost: o.atMost}
	var times []time.Duration
	for range calls {
		began := time.Now()
		call()
		times = append(times, time.Since(began))
	}
	slices.Sort(times)
	f.Milliseconds = float64(times[len(times)/2].Microseconds()) / 1000
	t.Logf("%s: %d reads %v, %.2f ms", o.name, f.Reads, f.Ways, f.Milliseconds)
	if f.Reads > o.atMost || least[pages] > o.atMost {
		t.Errorf("%s reads %d, want at most %d: %v", o.name, f.Reads, o.atMost, f.Ways)
	}
	return f
}

// objectOf is the object of a call: each has one of its own, and a block is an operation's.
func objectOf(block, number, rows int) int {
	const blocks, calls = 64, timedCalls + countedCalls + warmCalls
	return 1 + (block*calls+number)*(rows/(blocks*calls))
}

// requireAll fails if an operation or a view of the contract is not measured.
func requireAll(t *testing.T, measured []operation) {
	t.Helper()
	var names []string
	for _, o := range db.Contract() {
		names = append(names, o.Name)
	}
	for _, v := range db.Views() {
		names = append(names, v.Name)
	}
	for _, name := range names {
		if !slices.ContainsFunc(measured, func(o operation) bool { return o.of == name }) {
			t.Errorf("%s is not measured", name)
		}
	}
}

// counts is what a server has read, by the way to it.
type counts map[string]int

// pages are what SQLite counts, and what PostgreSQL counts besides: an index that is read on to its end has no more rows for that.
const pages = "pages"

func (c counts) sum() (total int) {
	for way, n := range c {
		if way != pages || len(c) == 1 {
			total += n
		}
	}
	return total
}

func (c counts) minus(other counts) counts {
	less := counts{}
	for way, n := range c {
		if n -= other[way]; n > 0 {
			less[way] = n
		}
	}
	return less
}

// addToRun changes the file of the run.
func addToRun(t *testing.T, change func(r *millions)) {
	t.Helper()
	path := os.Getenv(millionVariable)
	if path == "" {
		return
	}
	var r millions
	content, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(content, &r)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	change(&r)
	if content, err = json.Marshal(r); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(content, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (p place) describe(t *testing.T, rows int) million {
	t.Helper()
	return million{
		Product: p.product, Server: p.server(t), Rows: rows, Time: time.Now().UTC().Format("2006-01-02 15:04 MST"), Cores: runtime.NumCPU(), Load: load(t),
	}
}

func load(t *testing.T) string {
	t.Helper()
	first, _, _ := strings.Cut(testfile.Read(t, "/proc/loadavg"), " ")
	return first
}

// called is what a call of an operation is told.
type called struct {
	driver       db.Driver
	rows, number int
	// id is the number of an object that no other call has.
	id int
}

func (c called) object() string { return fmt.Sprint(c.id) }

// holder, asker and waiter of an object are those that fill has written.
func (c called) holder() string { return operatorOf("JDOE", c.id, c.rows) }
func (c called) asker() string  { return operatorOf("BROWN", c.id, c.rows) }

// perOperator is how many rows of each table an operator has.
const perOperator = 20

func operatorOf(name string, id, rows int) string {
	return fmt.Sprintf("%s%d", name, id%(rows/perOperator))
}

// operation is a call that is measured.
type operation struct {
	// of is its name in the contract.
	of, name string
	atMost   int
	// scans says that it reads a table, and why that is so is on the page.
	scans bool
	call  func(ctx context.Context, c called) error
}

// want fails unless the outcome is the one that the call is made for.
func want(got, wanted db.Outcome, err error) error {
	if err == nil && got != wanted {
		return fmt.Errorf("the outcome is %s, want %s", got, wanted)
	}
	return err
}

// wantRows fails unless there are so many answers at least.
func wantRows[T any](got []T, least int, err error) error {
	if err == nil && len(got) < least {
		return fmt.Errorf("%d rows are answered, want %d", len(got), least)
	}
	return err
}

// age has every second lock expire and the first half of the events happen long ago.
func (p place) age(t *testing.T) {
	t.Helper()
	schema, old, second := "", "expires_ts - 90 * 86400000000", "CAST(fence AS INTEGER) % 2 = 0"
	oldEvent := "event_ts - 450 * 86400000000"
	switch p.product {
	case "postgres":
		schema, old, second, oldEvent = "applock.", "expires_ts - interval '90 days'", "fence % 2 = 0", "event_ts - interval '450 days'"
	case "mariadb", "mysql":
		old, second, oldEvent = "expires_ts - INTERVAL 90 DAY", "fence MOD 2 = 0", "event_ts - INTERVAL 450 DAY"
	}
	p.do(t, fmt.Sprintf("UPDATE %sappl_lock SET expires_ts = %s WHERE %s AND object_id < '9'", schema, old, second))
	p.do(t, fmt.Sprintf("UPDATE %[1]sappl_lock_event SET event_ts = %[2]s WHERE event_id < (SELECT half FROM (SELECT avg(event_id) AS half FROM %[1]sappl_lock_event) AS h)",
		schema, oldEvent))
}
