package applock_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/testing/testdb"
	"github.com/applock/applock/internal/testing/worker"
)

const (
	// documentsJob is that of a process that TestHeavyAcceptanceDocuments starts.
	documentsJob = "documents"
	// documentsLimit ends a process that does not come to an end by itself.
	documentsLimit = 5 * time.Minute
	// documentsNewest is how many versions of a document there are.
	documentsNewest = 40

	createDocuments = `CREATE TABLE document (
		document_id VARCHAR(255) NOT NULL PRIMARY KEY,
		version INTEGER NOT NULL,
		content VARCHAR(255) NOT NULL,
		handled INTEGER NOT NULL,
		fence BIGINT NOT NULL
	)`
)

// Goal: three application servers register incoming documents, and nothing is lost: each document ends as its newest
// version, and each of the versions has been counted.
// Method: three processes with several workers each take the versions from queues of their own, in an order that has
// the same documents in all of them. A worker reads what is registered, computes in Go and writes in another statement,
// so that two workers on one document would overwrite each other (TestHeavyAcceptanceDocumentsWithoutALock shows it). They keep
// out of each other's way with a lock that they get and release. TestHeavyAcceptanceMillion does it with serialize.
func TestHeavyAcceptanceDocuments(t *testing.T) {
	t.Parallel()
	testdb.EachProduct(t, testdb.Products(), func(t *testing.T, product string) {
		place := newRealPlace(t, product)
		place.exec(t, createDocuments)
		job := documentsOn(product)
		job.DSN = place.dsn
		start := time.Now()
		total := runDocumentsProcesses(t, job)
		t.Logf("%+v in %s", total, time.Since(start).Round(time.Millisecond))
		if total.Handled != job.Versions {
			t.Fatalf("the processes handled %d versions, want %d", total.Handled, job.Versions)
		}
		checkDocuments(t, place, incomingVersions(job.Documents, job.Versions))
		checkNothingIsLocked(t, place, job.Documents)
	})
}

// documentsOn is how much there is to do. SQLite's three processes have one writer at a time on their file.
func documentsOn(product string) documentsOrders {
	if product == onSQLite {
		return documentsOrders{Processes: 3, Workers: 3, Documents: 20, Versions: 200}
	}
	return documentsOrders{Processes: 3, Workers: 6, Documents: 30, Versions: 400}
}

// checkDocuments compares the table with the newest version and the number of versions of each document.
func checkDocuments(t *testing.T, place realPlace, all []incoming) {
	t.Helper()
	want := map[string]document{}
	for _, in := range all {
		expected := want[in.Document]
		if in.Version > expected.version {
			expected.version, expected.content = in.Version, in.content()
		}
		expected.handled++
		want[in.Document] = expected
	}
	for _, id := range slices.Sorted(maps.Keys(want)) {
		got, err := place.readDocument(t.Context(), place.handle, id)
		got.fence = 0 // another matter: register compares it
		if err != nil || got != want[id] {
			t.Errorf("%s: got %+v, want %+v (%v)", id, got, want[id], err)
		}
	}
	if n := place.count(t, "SELECT count(*) FROM document"); n != len(want) {
		t.Errorf("%d documents are registered, want %d", n, len(want))
	}
}

// checkNothingIsLocked looks at what is left in the table of the locks: so many free objects.
func checkNothingIsLocked(t *testing.T, place realPlace, want int) {
	t.Helper()
	for lock, err := range place.client.List(t.Context(), applock.ListRequest{}) {
		if err != nil {
			t.Fatal(err)
		}
		t.Errorf("still locked: %+v", lock)
	}
	if n := place.count(t, "SELECT count(*) FROM "+place.locks); n != want {
		t.Errorf("%d rows in %s, want %d", n, place.locks, want)
	}
}

// Goal: the tests above would notice a lost update.
// Method: version 3 of a document comes in while version 2 is between its read and its write. Version 3 and its count are lost, each time.
func TestHeavyAcceptanceDocumentsWithoutALock(t *testing.T) {
	t.Parallel()
	testdb.EachProduct(t, testdb.Products(), func(t *testing.T, product string) {
		place := newRealPlace(t, product)
		place.exec(t, createDocuments)
		register := func(in incoming, between func()) {
			if err := place.register(t.Context(), place.handle, in, 0, between); err != nil {
				t.Fatal(err)
			}
		}
		for n := range 5 {
			id := documentID(n)
			older := incoming{Document: id, Version: 2}
			register(incoming{Document: id, Version: 1}, nil)
			register(older, func() { register(incoming{Document: id, Version: 3}, nil) })
			got, err := place.readDocument(t.Context(), place.handle, id)
			if want := (document{version: 2, content: older.content(), handled: 2}); err != nil || got != want {
				t.Errorf("%s: got %+v, want %+v (%v)", id, got, want, err)
			}
		}
	})
}

// incoming is a version of a document as it comes in.
type incoming struct {
	Document string
	Version  int
}

func (in incoming) object() applock.Object {
	return applock.Object{Type: "BondBO", ID: in.Document}
}

func (in incoming) content() string {
	return fmt.Sprintf("terms of %s, version %d", in.Document, in.Version)
}

// incomingVersions returns the same versions in the same random order at each call. Half of them are of a few documents
// that come often, and many come more than once.
func incomingVersions(documents, versions int) []incoming {
	random := rand.New(rand.NewPCG(2011_08_15, 18_24))
	all := make([]incoming, versions)
	for i := range all {
		n := i // each document comes at least once
		if i >= documents {
			n = random.IntN(documents)
		}
		if i >= documents && i%2 == 0 {
			n = random.IntN(max(documents/25, 1))
		}
		all[i] = incoming{Document: documentID(n), Version: 1 + random.IntN(documentsNewest)}
	}
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// documentID looks like an ISIN: DK0015966592.
func documentID(n int) string {
	countries := []string{"DK", "SE", "NO", "FI"}
	return fmt.Sprintf("%s%010d", countries[n%len(countries)], 15_966_592+7_919*n)
}

// document is what is registered of a document.
type document struct {
	version int
	content string
	handled int
	fence   applock.Fence
}

// queryer is a *sql.DB or a *sql.Tx.
type queryer interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

func (p realPlace) readDocument(ctx context.Context, q queryer, id string) (document, error) {
	var d document
	row := q.QueryRowContext(ctx, p.bound("SELECT version, content, handled, fence FROM document WHERE document_id = $1"), id)
	err := row.Scan(&d.version, &d.content, &d.handled, &d.fence)
	return d, err
}

// register is the work that only one may do at a time on a document: it reads, computes and writes in another
// statement. between, if set, is called between the two. A fence that is not 0 must be greater than any before.
func (p realPlace) register(ctx context.Context, q queryer, in incoming, fence applock.Fence, between func()) error {
	registered, err := p.readDocument(ctx, q, in.Document)
	missing := errors.Is(err, sql.ErrNoRows)
	if err != nil && !missing {
		return fmt.Errorf("read: %w", err)
	}
	if between != nil {
		between()
	}
	if fence != 0 && fence <= registered.fence {
		return fmt.Errorf("fence %d comes after %d", fence, registered.fence)
	}
	registered.fence = max(registered.fence, fence)
	registered.handled++
	if in.Version > registered.version {
		registered.version, registered.content = in.Version, in.content()
	}
	statement := "UPDATE document SET version = $1, content = $2, handled = $3, fence = $4 WHERE document_id = $5"
	if missing {
		statement = "INSERT INTO document (version, content, handled, fence, document_id) VALUES ($1, $2, $3, $4, $5)"
	}
	_, err = q.ExecContext(ctx, p.bound(statement),
		registered.version, registered.content, registered.handled, registered.fence, in.Document)
	if err != nil {
		return fmt.Errorf("write: %w", err)
	}
	return nil
}

// documentsOrders are those of a process.
type documentsOrders struct {
	DSN       string
	Process   int
	Processes int
	Workers   int
	Documents int
	Versions  int
}

// documentsReport is what a process, or all of them, did, and how often others were in the way.
type documentsReport struct{ Handled, Refused, TriedAgain int }

func (r *documentsReport) add(other documentsReport) {
	r.Handled += other.Handled
	r.Refused += other.Refused
	r.TriedAgain += other.TriedAgain
}

// runDocumentsProcesses starts all processes, lets them begin when all are ready, and returns what they did together.
func runDocumentsProcesses(t *testing.T, told documentsOrders) (total documentsReport) {
	t.Helper()
	processes := make([]*worker.Process, told.Processes)
	for i := range processes {
		told.Process = i
		processes[i] = worker.Start(t, documentsJob, told)
	}
	for _, process := range processes {
		process.Await(t, "ready")
	}
	for _, process := range processes {
		_ = process.In.Close() // go
	}
	for i, process := range processes {
		var report documentsReport
		if err := process.Answer(&report); err != nil {
			t.Errorf("process %d: %v", i, err)
		}
		total.add(report)
	}
	return total
}

// documentsWork is the job of a process that handles documents: it prints "ready", begins when its standard input ends, and prints its report.
func documentsWork(ctx context.Context, orders []byte) error {
	ctx, cancel := context.WithTimeout(ctx, documentsLimit)
	defer cancel()
	var told documentsOrders
	if err := json.Unmarshal(orders, &told); err != nil {
		return err
	}
	place, err := openRealPlace(ctx, told.DSN, patientWriter)
	if err != nil {
		return err
	}
	defer place.close()
	place.handle.SetMaxOpenConns(told.Workers)
	if _, err := place.client.Version(ctx); err != nil {
		return err
	}
	fmt.Fprintln(os.Stdout, "ready")
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	report, err := runDocumentsWorkers(ctx, place, told)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(report)
}

// runDocumentsWorkers handles this process's share of the versions.
func runDocumentsWorkers(ctx context.Context, place realPlace, told documentsOrders) (total documentsReport, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	queue := make(chan incoming, told.Versions)
	for i, in := range incomingVersions(told.Documents, told.Versions) {
		if i%told.Processes == told.Process {
			queue <- in
		}
	}
	close(queue)
	workers := make([]documentsWorker, told.Workers)
	errs := make([]error, told.Workers)
	var running sync.WaitGroup
	for i := range workers {
		// Each worker is an operator of its own: a second get of the same operator would renew and let it in.
		owner := applock.Owner{Operator: fmt.Sprintf("process %d worker %d", os.Getpid(), i)}
		workers[i] = documentsWorker{place: place, owner: owner}
		running.Go(func() {
			if errs[i] = workers[i].run(ctx, queue); errs[i] != nil {
				cancel()
			}
		})
	}
	running.Wait()
	for _, one := range workers {
		total.add(one.report)
	}
	return total, errors.Join(errs...)
}

// documentsWorker handles one version after the other.
type documentsWorker struct {
	place  realPlace
	owner  applock.Owner
	report documentsReport
}

func (w *documentsWorker) run(ctx context.Context, queue chan incoming) error {
	for in := range queue {
		done, err := w.handle(ctx, in)
		for ; !done && err == nil; done, err = w.handle(ctx, in) {
			backOff(ctx)
		}
		if err != nil {
			return fmt.Errorf("%s: %s version %d: %w", w.owner, in.Document, in.Version, err)
		}
		w.report.Handled++
	}
	return nil
}

// backOff waits before another attempt, or until ctx ends.
func backOff(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(time.Millisecond):
	}
}

// handle reports false when somebody else has the document.
func (w *documentsWorker) handle(ctx context.Context, in incoming) (bool, error) {
	grant, err := w.place.client.Get(ctx, applock.GetRequest{Object: in.object(), Owner: w.owner, TTL: 10 * time.Minute})
	var held *applock.HeldError
	switch {
	case errors.As(err, &held):
		w.report.Refused++
		return false, nil
	case tryAgain(err):
		w.report.TriedAgain++
		return false, nil
	case err != nil:
		return false, err
	case grant.Outcome == applock.OutcomeRenewed:
		return false, fmt.Errorf("renewed a grant that nobody has released: %+v", grant)
	}
	if err := w.place.register(ctx, w.place.handle, in, grant.Fence, nil); err != nil {
		return false, err
	}
	return true, w.release(ctx, grant)
}

func (w *documentsWorker) release(ctx context.Context, grant applock.Grant) error {
	for {
		released, err := w.place.client.Release(ctx, applock.ReleaseRequest{Key: grant.Key()})
		if tryAgain(err) && ctx.Err() == nil {
			w.report.TriedAgain++
			continue
		}
		if err == nil && released != applock.OutcomeReleased {
			return fmt.Errorf("the grant ended before its release: %+v", grant)
		}
		return err
	}
}
