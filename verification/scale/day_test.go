//go:build linux && scale

package scale

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/applock/applock/internal/clients"
	"github.com/applock/applock/internal/db"
)

const (
	// minutesVariable is how many minutes of the department are played, 60 unless it says otherwise.
	minutesVariable = "APPLOCK_SCALE_MINUTES"
	// agents have a case open for caseBeats heartbeats each, one every beatSeconds, and so 40 cases in 8 hours.
	agents, beatSeconds, caseBeats = 1000, 15, 48
	// workers make calls at the same time.
	workers = 8
	// renewBeats is how often a case's lock is renewed; each askEvery-th case is asked for.
	renewBeats, askEvery = 20, 50
	caseType             = "case"
)

// department plays people who open cases, edit them, and are seen there.
type department struct {
	driver db.Driver
	calls  atomic.Int64
}

// Goal: how large the tables are after an hour of a department of 1,000. Method: as many calls as in an hour, as fast as the server answers,
// in rounds of one heartbeat of everybody; history ALL; what vacuums by itself does so. Then the rows and bytes of each table.
func TestDay(t *testing.T) {
	for _, product := range products() {
		t.Run(product, func(t *testing.T) {
			p := newPlace(t, product)
			d := &department{driver: clients.Driver(p.client)}
			_, err := d.driver.SetApplLockPolicy(t.Context(), db.SetApplLockPolicyParams{
				ObjectType: caseType, DefaultTTLSeconds: 1200, TakeReasonFL: db.Yes, ActorID: "BOSS", HistoryLevel: "ALL", PresenceFL: db.Yes,
			})
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			rounds := minutes(t) * 60 / beatSeconds
			for round := range rounds {
				if err := each(agents, func(_, person int) error { return d.beat(t, round, person) }); err != nil {
					t.Fatal(err)
				}
			}
			result := day{
				Product: product, Server: p.server(t), Minutes: minutes(t), Calls: int(d.calls.Load()), Seconds: time.Since(began).Seconds(),
				Tables: p.sizes(t),
			}
			t.Logf("%+v", result)
			addToRun(t, func(r *millions) {
				r.Days = slices.DeleteFunc(r.Days, func(d day) bool { return d.Product == product })
				r.Days = append(r.Days, result)
			})
		})
	}
}

func minutes(t *testing.T) int {
	t.Helper()
	text := os.Getenv(minutesVariable)
	if text == "" {
		return 60
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s is no number from 1 on: %s", minutesVariable, text)
	}
	return n
}

// beat is what a person does every beatSeconds: be seen, now and then renew, and after a while go on to the next case.
func (d *department) beat(t *testing.T, round, person int) error {
	t.Helper()
	at := round + person // agents do not change cases all at once
	number := at / caseBeats
	who := fmt.Sprintf("AGENT%04d", person)
	id := fmt.Sprintf("%04d-%06d", person, number)
	if at%caseBeats == 0 && round > 0 {
		if err := d.closeCase(t, who, fmt.Sprintf("%04d-%06d", person, number-1)); err != nil {
			return err
		}
	}
	if at%caseBeats == 0 || round == 0 || at%renewBeats == 0 {
		d.calls.Add(1)
		if _, err := d.driver.GetApplLock(t.Context(), db.GetApplLockParams{ObjectType: caseType, ObjectID: id, OperatorID: who, DepartmentID: "SUPPORT"}); err != nil {
			return err
		}
	}
	if at%caseBeats == caseBeats/2 && (person+number)%askEvery == 0 {
		if err := d.ask(t, who, id); err != nil {
			return err
		}
	}
	return d.see(t, who, id, db.StateEditing)
}

func (d *department) see(t *testing.T, who, id string, state db.PresenceState) error {
	t.Helper()
	d.calls.Add(1)
	_, err := d.driver.SeeApplLock(t.Context(), db.SeeApplLockParams{
		ObjectType: caseType, ObjectID: id, OperatorID: who, DepartmentID: "SUPPORT", ClientID: "tab-" + who, State: state,
	})
	return err
}

func (d *department) closeCase(t *testing.T, who, id string) error {
	t.Helper()
	d.calls.Add(1)
	if _, err := d.driver.ReleaseApplLock(t.Context(), db.ReleaseApplLockParams{ObjectType: caseType, ObjectID: id, OperatorID: who}); err != nil {
		return err
	}
	return d.see(t, who, id, "")
}

// ask has a colleague look at the case and ask for it, and the holder answer.
func (d *department) ask(t *testing.T, who, id string) error {
	t.Helper()
	const colleague = "COLLEAGUE"
	if err := d.see(t, colleague, id, db.StateViewing); err != nil {
		return err
	}
	d.calls.Add(3)
	if _, err := d.driver.AskApplLock(t.Context(), db.AskApplLockParams{
		ObjectType: caseType, ObjectID: id, OperatorID: colleague, ClientID: "tab", Message: "May I?",
	}); err != nil {
		return err
	}
	held, err := d.driver.InquireApplLock(t.Context(), db.InquireApplLockParams{ObjectType: caseType, ObjectID: id})
	if err != nil {
		return err
	}
	_, err = d.driver.AnswerApplLock(t.Context(), db.AnswerApplLockParams{
		ObjectType: caseType, ObjectID: id, OperatorID: who, Fence: held.Lock.Fence, AskerID: colleague, Answer: "LATER", Reason: "in ten minutes",
	})
	return err
}

// sizes are those of the tables with their indexes.
func (p place) sizes(t *testing.T) []size {
	t.Helper()
	var sizes []size
	for _, table := range tables() {
		schema := ""
		if p.product == "postgres" {
			schema = "applock."
		}
		s := size{Table: table, Rows: p.number(t, "SELECT 'rows', count(*) FROM "+schema+table)}
		switch p.product {
		case "postgres":
			s.Bytes = p.number(t, "SELECT 'bytes', pg_total_relation_size('applock."+table+"')")
		case "sqlite":
			s.Bytes = p.number(t, `SELECT 'bytes', sum(pgsize) FROM dbstat WHERE name IN (SELECT name FROM sqlite_schema WHERE tbl_name = '`+table+`')`)
		default:
			p.do(t, "ANALYZE TABLE "+table)
			s.Bytes = p.number(t, `SELECT 'bytes', MAX(data_length) + MAX(index_length) FROM information_schema.tables
				WHERE table_schema = DATABASE() AND table_name = '`+table+"'")
		}
		sizes = append(sizes, s)
	}
	return sizes
}

func (p place) number(t *testing.T, query string) int {
	t.Helper()
	if p.product == "postgres" {
		query = "SELECT a, b::text FROM (" + query + ") AS q (a, b)"
	}
	pairs, err := p.query(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(pairs[0][1])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// each makes so many calls by all workers.
func each(count int, one func(worker, i int) error) error {
	var next atomic.Int64
	failed := make([]error, workers)
	var all sync.WaitGroup
	for worker := range workers {
		all.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= count {
					return
				}
				if failed[worker] = one(worker, i); failed[worker] != nil {
					return
				}
			}
		})
	}
	all.Wait()
	return errors.Join(failed...)
}
