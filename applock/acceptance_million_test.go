package applock_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/applock/applock/internal/testing/worker"
)

const (
	// millionJob is that of a process that TestHeavyAcceptanceMillion starts.
	millionJob = "million"
	// millionVersionsVariable is how many versions of documents come in.
	millionVersionsVariable = "APPLOCK_MILLION_DOCUMENTS"
	millionShort            = 300

	millionProcesses = 3
	millionWorkers   = 8 // in each process

	// seedsRate is that of the article: a million documents in a couple of hours.
	seedsRate = 1_000_000.0 / (2 * 60 * 60)
	// millionTick is how often the progress is told.
	millionTick = 10 * time.Second

	createProgress = `CREATE TABLE progress (worker INTEGER NOT NULL PRIMARY KEY, handled INTEGER NOT NULL)`
)

// Goal: the second article's load: a million documents come into three servers, in versions without any order, and are
// registered at its rate or better; nothing is lost or counted twice, also when all servers crash.
// Method: three processes of 8 workers; each transaction serializes on its document, registers it as in TestHeavyAcceptanceDocuments, and
// notes the worker's progress. Each process kills itself once, in the middle of a transaction, when a third is done; new ones go on.
// make test-million has a million come in, other runs a few hundred. Without Serialize, counts are missing or a document is inserted twice.
func TestHeavyAcceptanceMillion(t *testing.T) {
	t.Parallel()
	versions := millionShort
	if text := os.Getenv(millionVersionsVariable); text != "" {
		var err error
		if versions, err = strconv.Atoi(text); err != nil || versions < millionShort {
			t.Fatalf("%s is not a number from %d on: %s", millionVersionsVariable, millionShort, text)
		}
	}
	for _, product := range []string{onPostgres, onMariaDB, onMySQL} {
		t.Run(product, func(t *testing.T) {
			if versions == millionShort {
				t.Parallel() // the long runs take turns
			}
			m := million{realPlace: newRealPlace(t, product), versions: versions}
			m.exec(t, createDocuments, createProgress)
			for number := range millionProcesses * millionWorkers {
				m.exec(t, fmt.Sprintf("INSERT INTO progress (worker, handled) VALUES (%d, 0)", number))
			}
			began := time.Now()
			m.run(t, true)
			m.run(t, false)
			m.check(t, time.Since(began))
		})
	}
}

// million is a database that takes all documents in.
type million struct {
	realPlace
	versions int
}

func (m million) handled(t *testing.T) int {
	t.Helper()
	return m.count(t, "SELECT sum(handled) FROM progress")
}

// run starts the processes and tells their progress until all have ended.
func (m million) run(t *testing.T, crash bool) {
	t.Helper()
	ended := make(chan error, millionProcesses)
	for process := range millionProcesses {
		started := worker.Start(t, millionJob, millionOrders{DSN: m.dsn, Versions: m.versions, Process: process, Crash: crash})
		go func() {
			err := started.Wait()
			if crashed := started.ProcessState.ExitCode() == -1; crash && crashed {
				err = nil
			} else if crash || err != nil {
				err = fmt.Errorf("process %d: %w, crashed: %t", process, err, crashed)
			}
			ended <- err
		}()
	}
	tick := time.NewTicker(millionTick)
	defer tick.Stop()
	for running := millionProcesses; running > 0; {
		select {
		case <-tick.C:
		case err := <-ended:
			running--
			if err != nil {
				t.Error(err)
			}
		}
		t.Logf("%d of %d documents", m.handled(t), m.versions)
	}
	if t.Failed() {
		t.FailNow()
	}
}

// check compares what is registered with what came in, and the rate with that of the article.
func (m million) check(t *testing.T, elapsed time.Duration) {
	t.Helper()
	all := make([]incoming, m.versions)
	for i := range all {
		all[i] = millionth(i, m.versions)
	}
	checkDocuments(t, m.realPlace, all)
	checkNothingIsLocked(t, m.realPlace, 0)
	rate := float64(m.versions) / elapsed.Seconds()
	t.Logf("%d documents in %s: %.0f /s, %.1f times the rate of the article", m.versions, elapsed, rate, rate/seedsRate)
	if m.versions >= 1_000_000 && rate < seedsRate {
		t.Errorf("the article's system took %.0f documents /s", seedsRate)
	}
}

// millionth returns which version of which document comes in at place i, always the same. A document comes in nearly two versions
// on average; a tenth of what comes in is of a few documents that many have at the same time.
func millionth(i, versions int) incoming {
	random := rand.New(rand.NewPCG(2011_08_15, uint64(i)))
	documents := versions * 3 / 5
	if random.IntN(10) == 0 {
		documents = 1 + documents/100_000
	}
	return incoming{Document: documentID(random.IntN(documents)), Version: 1 + random.IntN(documentsNewest)}
}

// millionOrders are those of a process.
type millionOrders struct {
	DSN      string
	Versions int
	Process  int
	// Crash has the process kill itself when it has done a third.
	Crash bool
}

// millionWork is the job of a process.
func millionWork(ctx context.Context, orders []byte) error {
	var job millionOrders
	if err := json.Unmarshal(orders, &job); err != nil {
		return err
	}
	place, err := openRealPlace(ctx, job.DSN, patientWriter)
	if err != nil {
		return err
	}
	defer place.close()
	place.handle.SetMaxOpenConns(millionWorkers)
	go func() {
		<-worker.UntilTold(ctx).Done() // the test is gone, and may begin again
		os.Exit(1)
	}()
	errs := make([]error, millionWorkers)
	var running sync.WaitGroup
	for i := range errs {
		one := millionWorker{realPlace: place, versions: job.Versions, number: job.Process*millionWorkers + i}
		if job.Crash && i == 0 {
			one.crashAt = job.Versions / (3 * millionProcesses * millionWorkers)
		}
		running.Go(func() { errs[i] = one.run(ctx) })
	}
	running.Wait()
	return errors.Join(errs...)
}

// millionWorker handles every 24th of what comes in.
type millionWorker struct {
	realPlace
	versions int
	number   int
	// crashAt, if set, is after how many documents the process kills itself.
	crashAt int
}

func (w millionWorker) run(ctx context.Context) error {
	var handled int
	row := w.handle.QueryRowContext(ctx, w.bound("SELECT handled FROM progress WHERE worker = $1"), w.number)
	if err := row.Scan(&handled); err != nil {
		return err
	}
	for {
		i := handled*millionProcesses*millionWorkers + w.number
		if i >= w.versions {
			return nil
		}
		if err := w.handleOne(ctx, millionth(i, w.versions), handled); err != nil {
			return fmt.Errorf("worker %d, document %d: %w", w.number, i, err)
		}
		handled++
	}
}

var errElsewhere = errors.New("a predecessor that was killed has committed after all: start again")

// handleOne registers a document and notes the progress, in one transaction.
func (w millionWorker) handleOne(ctx context.Context, in incoming, handled int) error {
	tx, err := w.handle.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after the commit there is nothing to roll back
	if err := w.client.WithSQLTx(tx).Serialize(ctx, in.object()); err != nil {
		return err
	}
	if err := w.register(ctx, tx, in, 0, nil); err != nil {
		return err
	}
	const progress = "UPDATE progress SET handled = handled + 1 WHERE worker = $1 AND handled = $2"
	result, err := tx.ExecContext(ctx, w.bound(progress), w.number, handled)
	if err != nil {
		return err
	}
	if noted, err := result.RowsAffected(); err != nil || noted != 1 {
		return errors.Join(errElsewhere, err)
	}
	if w.crashAt > 0 && handled == w.crashAt {
		return killMyself()
	}
	return tx.Commit()
}

// killMyself ends this process as a crash does. It returns only if that fails.
func killMyself() error {
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Kill()
	}
	if err == nil {
		select {}
	}
	return err
}
