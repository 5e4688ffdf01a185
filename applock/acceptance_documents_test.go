package applock_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/applock/applock/applock"
)

const (
	// documentsJobVariable holds the job, as JSON, of a process that TestAcceptanceDocuments starts.
	documentsJobVariable = "APPLOCK_REAL_DOCUMENTS_JOB"
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

// The two ways to have a document for oneself.
const (
	guardGet       = "Get"
	guardSerialize = "Serialize"
)

// Goal: three application servers register incoming documents, and nothing is lost: each document ends as its newest
// version, and each of the versions has been counted.
// Method: three processes with several workers each take the versions from queues of their own, in an order that has
// the same documents in all of them. A worker reads what is registered, computes in Go and writes in another statement,
// so that two workers on one document would overwrite each other (TestAcceptanceDocumentsWithoutALock shows it). They keep
// out of each other's way with a lock that they get and release, and then with serialize.
func TestAcceptanceDocuments(t *testing.T) {
	t.Parallel()
	onEachProduct(t, func(t *testing.T, product string) {
		for _, guard := range []string{guardGet, guardSerialize} {
			t.Run(guard, func(t *testing.T) {
				t.Parallel()
				place := newRealPlace(t, product)
				place.exec(t, createDocuments)
				job := documentsOn(product)
				job.DSN, job.Guard = place.dsn, guard
				start := time.Now()
				report := runDocumentsProcesses(t, job)
				t.Logf("%+v in %s", report, time.Since(start).Round(time.Millisecond))
				if report.Handled != job.Versions {
					t.Fatalf("the processes handled %d versions, want %d", report.Handled, job.Versions)
				}
				checkDocuments(t, place, incomingVersions(job.Documents, job.Versions))
				checkNothingIsLocked(t, place, job)
			})
		}
	})
}

// documentsOn is how much there is to do. SQLite's three processes have one writer at a time on their file.
func documentsOn(product string) documentsJob {
	if product == onSQLite {
		return documentsJob{Processes: 3, Workers: 3, Documents: 20, Versions: 200}
	}
	return documentsJob{Processes: 3, Workers: 6, Documents: 30, Versions: 400}
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
	ids := slices.Sorted(func(yield func(string) bool) {
		for id := range want {
			if !yield(id) {
				return
			}
		}
	})
	sum := 0
	for _, id := range ids {
		got, err := place.readDocument(t.Context(), place.handle, id)
		got.fence = 0 // another matter: register compares it
		if err != nil || got != want[id] {
			t.Errorf("%s: got %+v, want %+v (%v)", id, got, want[id], err)
		}
		sum += got.handled
	}
	if sum != len(all) {
		t.Errorf("the documents count %d versions, want %d", sum, len(all))
	}
	if n := place.count(t, "SELECT count(*) FROM document"); n != len(want) {
		t.Errorf("%d documents are registered, want %d", n, len(want))
	}
}

// checkNothingIsLocked looks at what is left in the table of the locks: free objects, and nothing at all of serialize.
func checkNothingIsLocked(t *testing.T, place realPlace, job documentsJob) {
	t.Helper()
	for lock, err := range place.client.List(t.Context(), applock.ListRequest{}) {
		if err != nil {
			t.Fatal(err)
		}
		t.Errorf("still locked: %+v", lock)
	}
	want := job.Documents
	if job.Guard == guardSerialize {
		want = 0
	}
	if n := place.count(t, "SELECT count(*) FROM "+place.locks); n != want {
		t.Errorf("%d rows in %s, want %d", n, place.locks, want)
	}
}

// Goal: the tests above would notice a lost update, and the two guards are what prevents it.
// Method: version 3 of a document comes in while version 2 is between its read and its write. Without a lock version 3
// and its count are lost, each time. Under Get the other worker is refused at that very moment, under Serialize it does
// not come in before its patience ends; each of them tries again afterwards, and then nothing is lost.
func TestAcceptanceDocumentsWithoutALock(t *testing.T) {
	t.Parallel()
	onEachProduct(t, func(t *testing.T, product string) {
		t.Parallel()
		place := newRealPlace(t, product)
		place.exec(t, createDocuments)
		// On SQLite a deadline is noticed only when the busy timeout of the connection has passed.
		impatient, err := openRealPlace(t.Context(), place.dsn, 20*time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(impatient.close)
		overtake := documentsOvertaking{place: impatient}
		for n := range 5 {
			overtake.check(t, documentID(n), overtake.withoutALock, 2, 2)
			overtake.check(t, documentID(10+n), overtake.withGet, 3, 3)
			overtake.check(t, documentID(20+n), overtake.withSerialize, 3, 3)
		}
	})
}

// documentsOvertaking lets a newer version of a document come in while an older one is being handled.
type documentsOvertaking struct{ place realPlace }

// check registers version 1 and compares what is registered after way has handled the versions 2 and 3.
func (o documentsOvertaking) check(t *testing.T, id string, way func(t *testing.T, older, newer incoming), version, handled int) {
	t.Helper()
	o.mustRegister(t, incoming{Document: id, Version: 1}, 0, nil)
	newest := incoming{Document: id, Version: version}
	way(t, incoming{Document: id, Version: 2}, incoming{Document: id, Version: 3})
	got, err := o.place.readDocument(t.Context(), o.place.handle, id)
	got.fence = 0
	if want := (document{version: version, content: newest.content(), handled: handled}); err != nil || got != want {
		t.Errorf("%s: got %+v, want %+v (%v)", id, got, want, err)
	}
}

func (o documentsOvertaking) withoutALock(t *testing.T, older, newer incoming) {
	t.Helper()
	o.mustRegister(t, older, 0, func() {
		o.mustRegister(t, newer, 0, nil)
	})
}

func (o documentsOvertaking) withGet(t *testing.T, older, newer incoming) {
	t.Helper()
	request := applock.GetRequest{Object: older.object(), Owner: applock.Owner{Operator: "older"}}
	grant, err := o.place.client.Get(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	request.Owner.Operator = "newer"
	o.mustRegister(t, older, grant.Fence, func() {
		var held *applock.HeldError
		if _, err := o.place.client.Get(t.Context(), request); !errors.As(err, &held) || held.Holder.Owner.Operator != "older" {
			t.Errorf("%s: got %v while the other worker has it", newer.Document, err)
		}
	})
	released, err := o.place.client.Release(t.Context(), applock.ReleaseRequest{Key: applock.Key{Object: older.object(), Operator: "older", Fence: grant.Fence}})
	if err != nil || released != applock.OutcomeReleased {
		t.Fatalf("%s: released %v, %v", older.Document, released, err)
	}
	if grant, err = o.place.client.Get(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	o.mustRegister(t, newer, grant.Fence, nil)
}

func (o documentsOvertaking) withSerialize(t *testing.T, older, newer incoming) {
	t.Helper()
	err := o.serialized(t.Context(), older, func() {
		patience, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if err := o.serialized(patience, newer, nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v while the other worker is inside, want a wait until the deadline", newer.Document, err)
		}
	})
	if err == nil {
		err = o.serialized(t.Context(), newer, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (o documentsOvertaking) serialized(ctx context.Context, in incoming, between func()) error {
	tx, err := o.place.handle.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after the commit there is nothing to roll back
	if err := o.place.client.WithSQLTx(tx).Serialize(ctx, in.object()); err != nil {
		return err
	}
	if err := o.place.register(ctx, tx, in, 0, between); err != nil {
		return err
	}
	return tx.Commit()
}

func (o documentsOvertaking) mustRegister(t *testing.T, in incoming, fence applock.Fence, between func()) {
	t.Helper()
	if err := o.place.register(t.Context(), o.place.handle, in, fence, between); err != nil {
		t.Fatal(err)
	}
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

// documentsJob is what a process has to do.
type documentsJob struct {
	DSN       string
	Guard     string
	Process   int
	Processes int
	Workers   int
	Documents int
	Versions  int
}

// documentsReport is what a process, or all of them, did.
type documentsReport struct {
	Handled int
	// Refused is how often somebody else had the document, RefusedByProcess how often another process.
	Refused          int
	RefusedByProcess int
	// TriedAgain is how often a call changed nothing because others were in its way, and Obstacle one of the errors.
	TriedAgain int
	Obstacle   string
}

func (r documentsReport) plus(other documentsReport) documentsReport {
	return documentsReport{
		Handled:          r.Handled + other.Handled,
		Refused:          r.Refused + other.Refused,
		RefusedByProcess: r.RefusedByProcess + other.RefusedByProcess,
		TriedAgain:       r.TriedAgain + other.TriedAgain,
		Obstacle:         cmp.Or(r.Obstacle, other.Obstacle),
	}
}

// jobProcess is a process of this program that has a job.
type jobProcess struct {
	cmd    *exec.Cmd
	stdin  io.Closer
	stdout *bufio.Reader
	stderr *bytes.Buffer
}

// runDocumentsProcesses starts all processes, lets them begin when all are ready, and returns what they did together.
func runDocumentsProcesses(t *testing.T, job documentsJob) documentsReport {
	t.Helper()
	processes := make([]jobProcess, job.Processes)
	for i := range processes {
		job.Process = i
		processes[i] = startJob(t, documentsJobVariable, job)
	}
	for i, process := range processes {
		if line, err := process.stdout.ReadString('\n'); line != "ready\n" {
			_ = process.cmd.Wait() // what it printed tells more
			t.Fatalf("process %d is not ready: %q, %v\n%s", i, line, err, process.stderr)
		}
	}
	for _, process := range processes {
		_ = process.stdin.Close() // go; a process that has ended meanwhile tells below
	}
	var total documentsReport
	for i, process := range processes {
		report, err := process.wait()
		if err != nil {
			t.Errorf("process %d: %v\n%s", i, err, process.stderr)
		}
		total = total.plus(report)
	}
	return total
}

// startJob starts this program once more, which finds the job in the variable.
func startJob(t *testing.T, variable string, job any) jobProcess {
	t.Helper()
	encoded, err := json.Marshal(job)
	if err != nil {
		t.Fatal(err)
	}
	process := jobProcess{cmd: exec.CommandContext(t.Context(), os.Args[0]), stderr: &bytes.Buffer{}}
	process.cmd.Env = append(os.Environ(), variable+"="+string(encoded))
	process.cmd.Stderr = process.stderr
	stdin, err := process.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := process.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	process.stdin, process.stdout = stdin, bufio.NewReader(stdout)
	if err := process.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = process.cmd.Wait() }) // only a failed test has not waited yet
	return process
}

// wait returns the report that the process prints at its end.
func (p jobProcess) wait() (documentsReport, error) {
	output, readErr := io.ReadAll(p.stdout)
	if err := errors.Join(p.cmd.Wait(), readErr); err != nil {
		return documentsReport{}, fmt.Errorf("%w, stdout: %s", err, output)
	}
	var report documentsReport
	if err := json.Unmarshal(output, &report); err != nil {
		return documentsReport{}, fmt.Errorf("%w, stdout: %s", err, output)
	}
	return report, nil
}

// documentsMain is the main function of a process that handles documents: it prints "ready", begins when its standard
// input ends, and prints its report. It returns the exit code.
func documentsMain(encoded string) int {
	ctx, cancel := context.WithTimeout(context.Background(), documentsLimit)
	defer cancel()
	if err := documentsWork(ctx, encoded); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func documentsWork(ctx context.Context, encoded string) error {
	var job documentsJob
	if err := json.Unmarshal([]byte(encoded), &job); err != nil {
		return err
	}
	place, err := openRealPlace(ctx, job.DSN, patientWriter)
	if err != nil {
		return err
	}
	defer place.close()
	place.handle.SetMaxOpenConns(job.Workers)
	if _, err := place.client.Version(ctx); err != nil {
		return err
	}
	fmt.Fprintln(os.Stdout, "ready")
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	report, err := runDocumentsWorkers(ctx, place, job)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(report)
}

// runDocumentsWorkers handles this process's share of the versions.
func runDocumentsWorkers(ctx context.Context, place realPlace, job documentsJob) (documentsReport, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	queue := &documentsQueue{}
	for i, in := range incomingVersions(job.Documents, job.Versions) {
		if i%job.Processes == job.Process {
			queue.put(in)
		}
	}
	workers := make([]documentsWorker, job.Workers)
	errs := make([]error, job.Workers)
	var running sync.WaitGroup
	for i := range workers {
		// Each worker is an operator of its own: a second get of the same operator would renew and let it in.
		process := strconv.Itoa(os.Getpid())
		workers[i] = documentsWorker{place: place, queue: queue, guard: job.Guard, owner: applock.Owner{
			Operator: fmt.Sprintf("process %s worker %d", process, i), Department: process,
		}}
		running.Go(func() {
			if errs[i] = workers[i].run(ctx); errs[i] != nil {
				cancel()
			}
		})
	}
	running.Wait()
	var total documentsReport
	for _, worker := range workers {
		total = total.plus(worker.report)
	}
	return total, errors.Join(errs...)
}

// documentsQueue is the versions that a process has still to handle.
type documentsQueue struct {
	mutex    sync.Mutex
	versions []incoming
}

func (q *documentsQueue) put(in incoming) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	q.versions = append(q.versions, in)
}

// take returns the next version, or false when there is none: whoever puts one back will take it again.
func (q *documentsQueue) take() (incoming, bool) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if len(q.versions) == 0 {
		return incoming{}, false
	}
	next := q.versions[0]
	q.versions = q.versions[1:]
	return next, true
}

// documentsWorker handles one version after the other.
type documentsWorker struct {
	place  realPlace
	queue  *documentsQueue
	guard  string
	owner  applock.Owner
	report documentsReport
}

func (w *documentsWorker) run(ctx context.Context) error {
	handle := w.handleWithGet
	if w.guard == guardSerialize {
		handle = w.handleWithSerialize
	}
	for {
		in, found := w.queue.take()
		if !found {
			return nil
		}
		done, err := handle(ctx, in)
		if err != nil {
			return fmt.Errorf("%s: %s version %d: %w", w.owner, in.Document, in.Version, err)
		}
		if done {
			w.report.Handled++
			continue
		}
		w.queue.put(in)
		backOff(ctx)
	}
}

// backOff waits before another attempt, or until ctx ends.
func backOff(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(time.Millisecond):
	}
}

// handleWithGet reports false when somebody else has the document.
func (w *documentsWorker) handleWithGet(ctx context.Context, in incoming) (bool, error) {
	grant, err := w.place.client.Get(ctx, applock.GetRequest{Object: in.object(), Owner: w.owner, TTL: 10 * time.Minute})
	var held *applock.HeldError
	switch {
	case errors.As(err, &held):
		w.report.Refused++
		if held.Holder.Owner.Department != w.owner.Department {
			w.report.RefusedByProcess++
		}
		return false, nil
	case tryAgain(err):
		w.tryingAgain(err)
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

func (w *documentsWorker) tryingAgain(err error) {
	w.report.TriedAgain++
	w.report.Obstacle = err.Error()
}

func (w *documentsWorker) release(ctx context.Context, grant applock.Grant) error {
	for {
		released, err := w.place.client.Release(ctx, applock.ReleaseRequest{Key: grant.Key()})
		if tryAgain(err) && ctx.Err() == nil {
			w.tryingAgain(err)
			continue
		}
		if err == nil && released != applock.OutcomeReleased {
			return fmt.Errorf("the grant ended before its release: %+v", grant)
		}
		return err
	}
}

// handleWithSerialize waits for its turn: it never reports false without an error.
func (w *documentsWorker) handleWithSerialize(ctx context.Context, in incoming) (bool, error) {
	tx, err := w.place.handle.BeginTx(ctx, nil)
	if err != nil {
		return false, err
	}
	defer func() { _ = tx.Rollback() }() // after the commit there is nothing to roll back
	if err := w.place.client.WithSQLTx(tx).Serialize(ctx, in.object()); err != nil {
		return false, err
	}
	if err := w.place.register(ctx, tx, in, 0, nil); err != nil {
		return false, err
	}
	return true, tx.Commit()
}
