package contract

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/applock/applock/internal/clients"
	"github.com/applock/applock/internal/scenario"
	"github.com/applock/applock/testdata"
)

// stepLimit ends the wait for a step that hangs. A busy machine answers within it.
const stepLimit = time.Minute

// Interleavings runs all files of testdata/interleavings at each isolation level of the backend.
func Interleavings(t *testing.T, backend Backend) {
	t.Helper()
	if len(backend.Levels) == 0 {
		t.Log("this dialect runs no interleavings")
		return
	}
	played := map[string]bool{}
	eachFile(t, testdata.Interleavings, parseInterleaving, func(name string, moments []moment) {
		played[name] = true
		if reason, excluded := backend.Excluded[name]; excluded {
			t.Logf("%s is not played: %s", name, reason)
			return
		}
		for _, level := range backend.Levels {
			t.Run(name+"/"+level.String(), func(t *testing.T) {
				t.Parallel()
				playInterleaving(t, backend, level, moments)
			})
		}
	})
	for name := range backend.Excluded {
		if !played[name] {
			t.Errorf("there is no interleaving %s to exclude", name)
		}
	}
}

// moment is one line of an interleaving: a session does something, or its pending answer arrives.
type moment struct {
	line    int
	text    string
	session string
	// step is empty if the line only gives the answer of a waiting call.
	step scenario.Step
	// waits is true if the call must be waiting for another session.
	waits bool
	// others are the answers of places with certain traits.
	others []other
	// only limits the line to places with that trait; empty is all places.
	only trait
}

// trait is a difference between dialects or levels in what their transactions see and lock; see testdata/interleavings/README.md.
type trait string

// other is the answer of places with a trait.
type other struct {
	trait trait
	words []string
	waits bool
}

func traits() []trait {
	return []trait{"snapshot", "view", "checked", "locking", "queueing", "lingering", "patient"}
}

// has reports whether the place has a trait at the isolation level of this run.
func (p *interleaving) has(t trait) bool {
	switch t {
	case "snapshot":
		return p.place.SnapshotConflicts(p.level)
	case "view":
		return p.place.KeepsView(p.level)
	case "checked":
		return p.place.ChecksView(p.level)
	case "locking":
		return p.place.RefusalsLock
	case "queueing":
		return p.place.RenewalsWait
	case "lingering":
		return p.place.PollsWait || p.place.RenewalsWait
	case "patient":
		return p.place.PurgesWait
	}
	return false
}

func parseInterleaving(text string) ([]moment, error) {
	var moments []moment
	for number, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		parsed, err := parseMoment(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number+1, err)
		}
		parsed.line, parsed.text = number+1, line
		moments = append(moments, parsed)
	}
	return moments, nil
}

func parseMoment(line string) (moment, error) {
	var parsed moment
	for _, trait := range traits() {
		if rest, found := strings.CutPrefix(line, string(trait)+": "); found {
			parsed.only, line = trait, rest
		}
	}
	session, rest, found := strings.Cut(line, " ")
	if !found {
		return moment{}, fmt.Errorf("no step in %q", line)
	}
	parsed.session = session
	parts := strings.Split(rest, " | ")
	for _, part := range parts[1:] {
		name, answer, _ := strings.Cut(part, ": ")
		if !slices.Contains(traits(), trait(name)) {
			return moment{}, fmt.Errorf("no trait %q", name)
		}
		parsed.others = append(parsed.others, other{trait: trait(name), words: strings.Fields(answer), waits: answer == "waits"})
	}
	rest = parts[0]
	if answer, found := strings.CutPrefix(rest, "-> "); found {
		rest = " -> " + answer
	}
	var err error
	parsed.step, err = scenario.ParseStep(rest)
	if slices.Equal(parsed.step.Words, []string{"waits"}) {
		parsed.waits, parsed.step.Words = true, nil
	}
	return parsed, err
}

// replays bounds the replays of a file because of needless retries.
const replays = 50

// playInterleaving plays the moments over one session for each name. At snapshot levels the contract lets the database answer RETRY
// needlessly, because of an unrelated transaction. The file is then played again, as a client would retry. A needless yes never passes.
func playInterleaving(t *testing.T, backend Backend, level sql.IsolationLevel, moments []moment) {
	t.Helper()
	for range replays {
		place := backend.New(t)
		if place.Driver == nil {
			t.Fatal("the place has no Driver")
		}
		createProtected(t, place)
		play := interleaving{
			place:     place,
			level:     level,
			sessions:  map[string]*session{},
			variables: map[string]string{},
		}
		play.all(t, moments)
		if !play.needlessRetry {
			return
		}
	}
	t.Errorf("%d needless retries", replays)
}

// createProtected makes the table of the data that the locks protect.
func createProtected(t *testing.T, place Place) {
	t.Helper()
	for _, statement := range []string{"CREATE TABLE protected (value INTEGER NOT NULL)", "INSERT INTO protected VALUES (0)"} {
		if _, err := place.SQL.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
}

type interleaving struct {
	place     Place
	level     sql.IsolationLevel
	sessions  map[string]*session
	variables map[string]string
	// needlessRetry is set when the database answered RETRY instead of the expected answer.
	needlessRetry bool
}

func (p *interleaving) all(t *testing.T, moments []moment) {
	t.Helper()
	defer p.end()
	for _, moment := range moments {
		if !p.moment(t, moment) {
			return
		}
	}
}

// session is one caller, with at most one call in flight.
type session struct {
	tx      *sql.Tx
	pending chan reply
}

type reply struct {
	answer scenario.Answer
	err    error
}

func (p *interleaving) moment(t *testing.T, moment moment) bool {
	t.Helper()
	if moment.only != "" && !p.has(moment.only) {
		return true
	}
	for _, other := range moment.others {
		if p.has(other.trait) {
			moment.waits, moment.step.Words, moment.step.Terms = other.waits, other.words, nil
		}
	}
	current := p.sessions[moment.session]
	if current == nil {
		current = &session{}
		p.sessions[moment.session] = current
	}
	if moment.step.Operation != "" {
		if current.pending != nil {
			t.Errorf("line %d: %s: the session's last call has not been answered", moment.line, moment.text)
			return false
		}
		current.pending = p.start(t.Context(), current, moment.step)
	}
	if moment.waits {
		return p.expectWait(t, current, moment)
	}
	return p.expectAnswer(t, current, moment)
}

func (p *interleaving) start(ctx context.Context, current *session, step scenario.Step) chan reply {
	pending := make(chan reply, 1)
	args := scenario.Bind(step.Args, p.variables)
	go func() {
		answer, err := p.call(ctx, current, step, args)
		pending <- reply{answer: answer, err: err}
	}()
	return pending
}

func (p *interleaving) call(ctx context.Context, current *session, step scenario.Step, args scenario.Args) (scenario.Answer, error) {
	ok := scenario.Answer{}
	switch step.Operation {
	case "begin":
		tx, err := p.place.SQL.BeginTx(context.WithoutCancel(ctx), &sql.TxOptions{Isolation: p.level})
		current.tx = tx
		return ok, err
	case "commit":
		return scenario.AnswerOrError(ok, p.explain(current.tx.Commit()))
	case "rollback":
		return ok, current.tx.Rollback()
	case "advance":
		return ok, p.place.Advance(ctx, step.Advance)
	case "read":
		var value int
		err := current.tx.QueryRowContext(ctx, "SELECT value FROM protected").Scan(&value)
		return scenario.AnswerOrError(scenario.Answer{Words: []string{strconv.Itoa(value)}}, p.explain(err))
	case "write":
		_, err := current.tx.ExecContext(ctx, "UPDATE protected SET value = value + 1")
		return scenario.AnswerOrError(ok, p.explain(err))
	}
	client := p.place.Client
	if current.tx != nil {
		client = client.WithSQLTx(current.tx)
	}
	return clients.Through[scenario.Executor](client)(ctx, step.Operation, args)
}

// explain gives a bare database error the kind that the driver would give it.
func (p *interleaving) explain(err error) error {
	if err == nil {
		return nil
	}
	return p.place.Interpret(err)
}

// expectWait returns when the database says that the call waits.
func (p *interleaving) expectWait(t *testing.T, current *session, moment moment) bool {
	t.Helper()
	for {
		select {
		case reply := <-current.pending:
			if slices.Equal(reply.answer.Words, []string{"BUSY"}) { // on a busy machine it waited to its limit before the test saw it
				current.pending, p.needlessRetry = nil, true
				return false
			}
			t.Errorf("line %d: %s: did not wait but answered %v %v", moment.line, moment.text, reply.answer.Words, reply.err)
			current.pending = nil
			return false
		case <-time.After(5 * time.Millisecond):
		}
		waiting, err := p.place.Waiting(t.Context())
		if err != nil {
			t.Errorf("line %d: %s: %v", moment.line, moment.text, err)
			return false
		}
		if waiting == p.pending() {
			return true
		}
	}
}

// pending counts the sessions with an unanswered call.
func (p *interleaving) pending() int {
	count := 0
	for _, session := range p.sessions {
		if session.pending != nil {
			count++
		}
	}
	return count
}

func (p *interleaving) expectAnswer(t *testing.T, current *session, moment moment) bool {
	t.Helper()
	select {
	case reply := <-current.pending:
		current.pending = nil
		if reply.err != nil {
			t.Errorf("line %d: %s: %v", moment.line, moment.text, reply.err)
			return false
		}
		if problem := scenario.Compare(reply.answer, moment.step.Words, moment.step.Terms, p.variables); problem != "" {
			if slices.Equal(reply.answer.Words, []string{"RETRY"}) && p.place.SnapshotConflicts(p.level) {
				p.needlessRetry = true
				return false
			}
			t.Errorf("line %d: %s\n%s", moment.line, moment.text, problem)
			return false
		}
		return true
	case <-time.After(stepLimit):
		t.Errorf("line %d: %s: no answer within %s", moment.line, moment.text, stepLimit)
		return false
	}
}

// end rolls back all open transactions and waits for all calls, so that none outlives the test. It does so concurrently, because a
// session may wait for another one that is idle in its transaction.
func (p *interleaving) end() {
	var group sync.WaitGroup
	for _, session := range p.sessions {
		group.Go(func() {
			if session.pending != nil {
				<-session.pending
			}
			if session.tx != nil {
				_ = session.tx.Rollback() // a committed transaction returns an error here
			}
		})
	}
	group.Wait()
}
