//go:build linux

package faults_test

import (
	"context"
	"database/sql"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/applock/applock/applock/migrate"
	"github.com/applock/applock/internal/build/render"
	"github.com/applock/applock/internal/testing/testclient"
	"github.com/applock/applock/internal/testing/testdb"
	"github.com/applock/applock/internal/testing/worker"
)

// hangLimit is for hangs.
const hangLimit = 5 * time.Minute

// edit replaces a piece of a procedure's text, wherever it is.
type edit struct{ stem, old, with string }

// variant is a lock with a mistake, and the calls that show it.
type variant struct {
	name  string
	edits []edit
	play  func(s *stage)
}

// stage is where a variant is played: sessions with bare SQL, and what they have done.
type stage struct {
	t       *testing.T
	ctx     context.Context
	admin   *sql.DB
	a, b    *bare
	offset  int64
	history []operation
}

const (
	get, release, inquire = kindGet, kindRelease, kindInquire
	object                = "1"
)

// do makes a call that has an answer, and returns it with the operation.
func (s *stage) do(on calls, o operation) operation {
	s.t.Helper()
	o.Object = object
	counts, err := observe(s.ctx, postgres, s.offset, on, &o)
	if err != nil || !counts || o.Fate != fateDone {
		s.t.Fatalf("%s has no answer: %v", o, err)
	}
	s.history = append(s.history, o)
	return o
}

// begun makes calls in a transaction, commits it after what happens meanwhile, and notes that they were seen from then on.
func (s *stage) begun(on *bare, meanwhile func(), before ...operation) {
	s.t.Helper()
	tx, end, err := on.begin(s.ctx)
	if err != nil {
		s.t.Fatal(err)
	}
	from := len(s.history)
	for _, o := range before {
		s.do(tx, o)
	}
	made := len(before)
	meanwhile()
	if err := end(true); err != nil {
		s.t.Fatal(err)
	}
	for i := range made {
		s.history[from+i].Return = monotonic() + s.offset + 1
	}
}

// later makes a call that waits, and returns when it does. The function that it returns waits for the answer.
func (s *stage) later(on calls, o operation) func() {
	s.t.Helper()
	o.Object = object
	done := make(chan error, 1)
	go func() {
		_, err := observe(s.ctx, postgres, s.offset, on, &o)
		done <- err
	}()
	for waiting := false; !waiting; {
		row := s.admin.QueryRowContext(s.ctx, "SELECT count(*) > 0 FROM pg_locks AS l JOIN pg_stat_activity AS a USING (pid) "+
			"WHERE NOT l.granted AND a.datname = current_database()")
		if err := row.Scan(&waiting); err != nil {
			s.t.Fatal(err)
		}
		if len(done) > 0 {
			s.t.Fatalf("%s does not wait", o)
		}
	}
	return func() {
		s.t.Helper()
		if err := <-done; err != nil || o.Fate != fateDone {
			s.t.Fatalf("%s has no answer: %v", o, err)
		}
		s.history = append(s.history, o)
	}
}

func getBy(operator string, seconds int64) operation {
	return operation{Kind: get, Operator: operator, TTL: seconds * 1e6}
}

func releaseBy(operator string, fence int64) operation {
	return operation{Kind: release, Operator: operator, Fence: fence}
}

// free leaves an object that has been held once.
func (s *stage) free() operation {
	granted := s.do(s.a, getBy("X", 60))
	s.do(s.a, releaseBy("X", 0))
	return granted
}

// waitsForGet has a call of X's wait for a transaction in which Y gets the free object.
func waitsForGet(s *stage) {
	s.free()
	var answer func()
	s.begun(s.b, func() { answer = s.later(s.a, getBy("X", 60)) }, getBy("Y", 60))
	answer()
}

// waitsInLine has a call of X's wait for a transaction in which Y gets, hands over and releases.
func waitsInLine(s *stage) {
	s.free()
	tx, end, err := s.b.begin(s.ctx)
	if err != nil {
		s.t.Fatal(err)
	}
	from := len(s.history)
	s.do(tx, getBy("Y", 60))
	answer := s.later(s.a, getBy("X", 60))
	s.do(tx, operation{Kind: kindTransfer, Operator: "Y", To: "Z", TTL: 60e6})
	s.do(tx, releaseBy("Z", 0))
	if err := end(true); err != nil {
		s.t.Fatal(err)
	}
	for i := from; i < len(s.history); i++ {
		s.history[i].Return = monotonic() + s.offset + 1
	}
	answer()
}

// inOldTransaction gets in a transaction that has begun some time before.
func inOldTransaction(s *stage) {
	tx, end, err := s.a.begin(s.ctx)
	if err != nil {
		s.t.Fatal(err)
	}
	s.do(tx, operation{Kind: inquire})
	worker.Rest(s.ctx, 10*time.Millisecond) // nothing is waited for: the transaction has to be old
	s.do(tx, getBy("X", 60))
	if err := end(true); err != nil {
		s.t.Fatal(err)
	}
	s.history[len(s.history)-1].Return = monotonic() + s.offset + 1
}

func twoTransfers(s *stage) {
	s.do(s.a, getBy("X", 60))
	var answer func()
	s.begun(s.b, func() { answer = s.later(s.a, operation{Kind: kindTransfer, Operator: "X", To: "Z", TTL: 60e6}) },
		operation{Kind: kindTransfer, Operator: "X", To: "Y", TTL: 60e6})
	answer()
}

// renewsBehind has a get of X's, which renews, wait for a transaction that ends the grant.
func renewsBehind(end operation) func(s *stage) {
	return func(s *stage) {
		s.do(s.a, getBy("X", 60))
		var answer func()
		s.begun(s.b, func() { answer = s.later(s.a, getBy("X", 60)) }, end)
		answer()
		s.do(s.b, operation{Kind: inquire})
	}
}

// atTheEnd has Y ask until it gets what X has had, for one second.
func atTheEnd(s *stage) {
	s.do(s.a, getBy("X", 1))
	for s.do(s.b, getBy("Y", 60)).Answer != answerAcquired {
	}
}

// purged has a purge remove the row between two grants.
func purged(s *stage) {
	s.free()
	for gone := int64(0); gone == 0; {
		if err := s.admin.QueryRowContext(s.ctx, "SELECT p_purged FROM applock.purge_appl_locks_row(1, 10)").Scan(&gone); err != nil {
			s.t.Fatal(err)
		}
	}
	s.do(s.a, getBy("X", 60))
}

func another(kind string, fence int64) func(s *stage) {
	return func(s *stage) {
		granted := s.do(s.a, getBy("X", 60))
		s.do(s.b, operation{Kind: kind, Operator: "X", Fence: granted.Granted + fence, TTL: 60e6})
		s.do(s.b, operation{Kind: inquire})
	}
}

func afterTheEnd(kind string) func(s *stage) {
	return func(s *stage) {
		granted := s.free()
		s.do(s.b, operation{Kind: kind, Operator: "X", Fence: granted.Granted, TTL: 60e6})
		s.do(s.b, operation{Kind: inquire})
	}
}

func byAnother(kind string) func(s *stage) {
	return func(s *stage) {
		s.do(s.a, getBy("X", 60))
		s.do(s.b, operation{Kind: kind, Operator: "Y", TTL: 60e6})
		s.do(s.b, operation{Kind: inquire})
	}
}

func twice(s *stage) {
	s.do(s.a, getBy("X", 60))
	s.do(s.b, getBy("X", 60))
	s.do(s.b, operation{Kind: inquire})
}

func renewForLess(s *stage) {
	granted := s.do(s.a, getBy("X", 60))
	s.do(s.b, operation{Kind: kindRenew, Operator: "X", Fence: granted.Granted, TTL: 1e6})
}

func releaseThenGet(s *stage) {
	s.free()
	s.do(s.b, getBy("Y", 60))
}

func transferred(s *stage) {
	s.do(s.a, getBy("X", 60))
	s.do(s.b, operation{Kind: kindTransfer, Operator: "X", To: "Y", TTL: 60e6})
}

const (
	stemGet      = "get_appl_lock"
	stemRelease  = "release_appl_lock"
	stemTransfer = "transfer_appl_lock"
	stemRenew    = "renew_appl_locks"
	stemAssert   = "assert_appl_lock"
	stemInquire  = "inquire_appl_lock"
	stemMove     = "appl_lock_move"

	samePlace = "l.ctid = v_version\n                AND "
	sameRow   = "                AND l.fence = v_old_fence\n                AND l.lock_ts = v_lock_ts\n" +
		"                AND l.released_ts IS NOT DISTINCT FROM v_released_ts\n"
	sameGrant  = "            AND l.fence = v_fence\n            AND l.lock_ts = v_lock_ts\n            AND l.expires_ts = p_expires_ts\n"
	fenceRule  = "appl_lock_next_fence(l.fence, v_now)"
	liveThen   = "l.released_ts IS NULL AND l.expires_ts > clock_timestamp()"
	liveNow    = "AND l.released_ts IS NULL\n        AND l.expires_ts > clock_timestamp()"
	ofOperator = "            AND l.operator_id::text = p_operator_id\n            AND l.fence = coalesce(p_fence, l.fence)\n"
	ofAnybody  = "            AND l.fence = coalesce(p_fence, l.fence)\n"
)

// notRaised leaves a fence alone that was computed before a long wait.
func notRaised() edit { return edit{stemGet, "interval '100 milliseconds'", "interval '5 minutes'"} }

// variants are the mistakes that lock libraries have made, and some more.
func variants() []variant {
	return slices.Concat(brokenGets(), []variant{
		{"another releases", []edit{{stemRelease, ofOperator, ofAnybody}}, byAnother(release)},
		{"another's is freed, and called free", []edit{
			{stemRelease, ofOperator, ofAnybody}, {stemRelease, "ROW('Y', 'RELEASED'", "ROW('Y', 'FREE'"},
		}, byAnother(release)},
		{"a release looks at no fence", []edit{{stemRelease, "            AND l.fence = coalesce(p_fence, l.fence)\n", ""}}, another(release, -1)},
		{"a release frees nothing", []edit{{stemRelease, "SET released_ts = clock_timestamp(), note = ''", "SET note = l.note"}}, releaseThenGet},
		{"a transfer does not look again", []edit{{stemMove, sameGrant, ""}}, twoTransfers},
		{"a transfer keeps the fence", []edit{{stemMove, "appl_lock_next_fence(l.fence, t.now_ts)", "l.fence"}}, transferred},
		{"a renewal revives", []edit{{stemRenew, "                    AND k.released_ts IS NULL\n                    AND k.expires_ts > clock_timestamp()\n", ""}}, afterTheEnd(kindRenew)},
		{"a renewal looks at no fence", []edit{{stemRenew, "                    AND k.fence = v_fence\n", ""}}, another(kindRenew, -1)},
		{"a renewal shortens", []edit{{stemRenew, "greatest(v_expires_ts, l.expires_ts)", "v_expires_ts"}}, renewForLess},
		{"an assert looks at no fence", []edit{{stemAssert, "        AND l.fence = p_fence\n", ""}}, another(kindAssert, -1)},
		{"an assert looks at no end", []edit{
			{stemAssert, "        " + liveNow + "\n    FOR SHARE", "    FOR SHARE"},
		}, afterTheEnd(kindAssert)},
		{"an inquiry looks at no end", []edit{{stemInquire, "            AND l.released_ts IS NULL\n            AND l.expires_ts > clock_timestamp()", ""}}, afterTheEnd(inquire)},
		{"a released grant lives", []edit{
			{stemInquire, "            AND l.released_ts IS NULL\n", ""},
		}, afterTheEnd(inquire)},
	})
}

func brokenGets() []variant {
	return []variant{
		{"the transaction's start is the time", []edit{{stemGet, "clock_timestamp()", "now()"}}, inOldTransaction},
		{"the client's clock is the time", []edit{{stemGet, "clock_timestamp()", "(clock_timestamp() - interval '1 day')"}}, twice},
		{"granted 2 ms too early", []edit{{stemGet, liveThen, liveThen + " + interval '2 milliseconds'"}}, atTheEnd},
		{"select, then update", []edit{{stemGet, samePlace, ""}, {stemGet, sameRow, ""}}, waitsForGet},
		{"a get that renews looks at no fence", []edit{{stemGet, samePlace, ""}, {stemGet, sameRow, "AND (v_renews OR l.fence = v_old_fence)\n"}},
			renewsBehind(operation{Kind: kindTransfer, Operator: "X", To: "Y", TTL: 60e6})},
		{"a get that renews looks at no release", []edit{{stemGet, samePlace, ""}, {stemGet, sameRow, "AND l.fence = v_old_fence\n"}},
			renewsBehind(releaseBy("X", 0))},
		{"the fence is from before the wait", []edit{
			{stemGet, "v_round integer;", "v_round integer; v_early bigint := (extract(epoch FROM clock_timestamp()) * 1000000)::bigint;"},
			{stemGet, samePlace, ""}, {stemGet, sameRow, "AND (l.released_ts IS NOT NULL OR l.expires_ts <= clock_timestamp())\n"},
			{stemGet, fenceRule, "v_early"}, notRaised(),
		}, waitsInLine},
		{"the fence counts what a purge resets", []edit{
			{stemGet, "appl_lock_next_fence(0::bigint, v_now),\n", "1,\n"}, {stemGet, fenceRule, "l.fence + 1"},
			{stemGet, "AND f.fence >= v_fence", "AND false"}, notRaised(),
		}, purged},
		{"the fence does not grow", []edit{{stemGet, fenceRule, "l.fence"}, notRaised()}, releaseThenGet},
		{"a renewal has a new fence", []edit{{stemGet, "END, '', '', v_fence,", "END, '', '', v_fence + v_renews::int,"}}, twice},
		{"another renews", []edit{{stemGet, "(v_holder_id <> p_operator_id OR p_new_fl = 'Y')", "p_new_fl = 'Y'"}}, byAnother(get)},
		{"HELD names somebody else", []edit{{stemGet, "'HELD', v_holder_id,", "'HELD', 'Z',"}}, byAnother(get)},
		{"HELD tells another end", []edit{
			{stemGet, "v_expires_ts, appl_lock_seconds_left(v_expires_ts), v_note", "v_expires_ts + interval '1 second', 1, v_note"},
		}, byAnother(get)},
	}
}

// patient has calls wait as long as a busy machine takes to end what they wait for.
func patient() []edit {
	const limit, long = "SET lock_timeout = '1s'", "SET lock_timeout = '5min'"
	return []edit{{stemGet, limit, long}, {stemTransfer, limit, long}}
}

// newStage makes a database with the procedures as they are, or with the edits.
func newStage(t *testing.T, edits []edit) *stage {
	t.Helper()
	dsn := testdb.Postgres(t)
	if _, err := migrate.Up(t.Context(), testclient.Open(t, dsn, "", nil), migrate.UpRequest{}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), hangLimit)
	t.Cleanup(cancel)
	pool := func() *sql.DB {
		pool, err := sql.Open("pgx", dsn)
		if err != nil {
			t.Fatal(err)
		}
		pool.SetMaxOpenConns(1)
		t.Cleanup(func() { _ = pool.Close() })
		return pool
	}
	s := &stage{t: t, ctx: ctx, admin: pool(), a: &bare{pool(), postgres}, b: &bare{pool(), postgres}, offset: clocks()}
	texts := map[string]string{}
	for _, e := range append(patient(), edits...) {
		if texts[e.stem] == "" {
			content, err := render.File("postgres/" + e.stem + ".sql")
			if err != nil {
				t.Fatal(err)
			}
			texts[e.stem] = content
		}
		if !strings.Contains(texts[e.stem], e.old) {
			t.Fatalf("%s does not have what is to be replaced any more: %s", e.stem, e.old)
		}
		texts[e.stem] = strings.ReplaceAll(texts[e.stem], e.old, e.with)
	}
	for _, text := range texts {
		if _, err := s.admin.ExecContext(ctx, "SET search_path = applock, pg_temp;\n"+text); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// rulesOfAll are those by which the products' histories are judged; drift is what two looks at the clocks differ by.
func rulesOfAll(drift int64) map[string]rules {
	slack := 100 + max(drift, -drift)
	return map[string]rules{
		"PostgreSQL":        {slack: slack},
		"MariaDB and MySQL": {slack: slack, split: true},
		"SQLite":            {slack: slack + 1000},
	}
}

// passed plays a variant, and returns by which rules its history is not a violation.
func (v variant) passed(t *testing.T, edits []edit) []string {
	t.Helper()
	s := newStage(t, edits)
	v.play(s)
	var passed []string
	for name, r := range rulesOfAll(clocks() - s.offset) {
		switch result := r.check(s.history, 0); {
		case result != porcupine.Illegal:
			passed = append(passed, name)
		case len(edits) == 0:
			for _, o := range s.history {
				t.Logf("%s: %s", name, o)
			}
		}
	}
	slices.Sort(passed)
	return passed
}

// Goal: the checker finds what it is for, by the rules of each product. Method: PostgreSQL's procedures with one mistake each, and calls
// that show it. The same calls on the procedures as they are must be found to be well. A grant that comes 2 ms too early shows only where
// its answer comes within those: that is tried until it does.
func TestBrokenVariantsAreCaught(t *testing.T) {
	t.Parallel()
	for _, v := range variants() {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			if passed := v.passed(t, nil); len(passed) < len(rulesOfAll(0)) {
				t.Errorf("the procedures as they are: no violation by the rules of %q alone", passed)
			}
			tries := 1
			if strings.HasPrefix(v.name, "granted 2 ms") {
				tries = 60
			}
			var passed []string
			for range tries {
				if passed = v.passed(t, v.edits); len(passed) == 0 {
					return
				}
			}
			t.Errorf("it was not caught by the rules of %q", passed)
		})
	}
}
