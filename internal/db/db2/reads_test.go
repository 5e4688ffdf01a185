package db2_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/applock/applock/internal/clients"
	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/testing/testclient"
)

// viewRead is one read of a view.
type viewRead struct {
	name, view string
	read       func(ctx context.Context, driver db.Driver) (any, error)
	// rest is the SELECT behind the columns.
	rest string
	args []driver.Value
}

func viewReads() []viewRead {
	const (
		clock     = "CURRENT TIMESTAMP - CURRENT TIMEZONE "
		live      = "FROM applock.appl_lock_live AS l "
		liveKey   = "l.object_type >= ? AND (l.object_type > ? OR l.object_id > ?) "
		liveOrder = "ORDER BY l.object_type, l.object_id FETCH FIRST 5 ROWS ONLY"
		waiting   = "FROM applock.appl_lock_waiting "
		waitKey   = "object_type >= ? AND (object_type > ? OR object_id > ? OR object_id = ? AND (operator_id > ? OR operator_id = ? AND client_id > ?)) " +
			"ORDER BY object_type, object_id, operator_id, client_id FETCH FIRST 5 ROWS ONLY"
		history = "FROM applock.appl_lock_history "
		page    = " ORDER BY event_id FETCH FIRST 5 ROWS ONLY"
		newest  = " ORDER BY event_id DESC FETCH FIRST 5 ROWS ONLY"
	)
	locks := func(name string, params db.ApplLockLiveParams, rest string, args ...driver.Value) viewRead {
		params.MaxRows = 5
		return viewRead{name, "appl_lock_live", func(ctx context.Context, driver db.Driver) (any, error) {
			return driver.ApplLockLive(ctx, params)
		}, live + rest, args}
	}
	waiters := func(name string, params db.ApplLockWaitingParams, rest string, args ...driver.Value) viewRead {
		params.MaxRows = 5
		return viewRead{name, "appl_lock_waiting", func(ctx context.Context, driver db.Driver) (any, error) {
			return driver.ApplLockWaiting(ctx, params)
		}, waiting + "WHERE " + rest + waitKey, args}
	}
	askers := func(name string, params db.ApplLockAskingParams, rest string, args ...driver.Value) viewRead {
		params.MaxRows = 5
		return viewRead{name, "appl_lock_asking", func(ctx context.Context, driver db.Driver) (any, error) {
			return driver.ApplLockAsking(ctx, params)
		}, "FROM applock.appl_lock_asking WHERE " + rest + waitKey, args}
	}
	events := func(name string, params db.ApplLockHistoryParams, rest string, args ...driver.Value) viewRead {
		params.MaxRows = 5
		return viewRead{name, "appl_lock_history", func(ctx context.Context, driver db.Driver) (any, error) {
			return driver.ApplLockHistory(ctx, params)
		}, history + rest, args}
	}
	policies := func(name string, params db.ApplLockPoliciesParams, rest string, args ...driver.Value) viewRead {
		return viewRead{name, "appl_lock_policies", func(ctx context.Context, driver db.Driver) (any, error) {
			return driver.ApplLockPolicies(ctx, params)
		}, "FROM applock.appl_lock_policies " + rest + "ORDER BY object_type", args}
	}
	stats := func(name string, params db.ApplLockStatsParams, rest string, args ...driver.Value) viewRead {
		return viewRead{name, "appl_lock_stats", func(ctx context.Context, driver db.Driver) (any, error) {
			return driver.ApplLockStats(ctx, params)
		}, "FROM applock.appl_lock_stats " + rest + "ORDER BY object_type, department_id", args}
	}
	return []viewRead{
		locks("All", db.ApplLockLiveParams{}, "WHERE "+liveKey+liveOrder, "", "", ""),
		locks("Page", db.ApplLockLiveParams{ObjectType: "t", AfterType: "t", AfterID: "i"},
			"WHERE l.object_type = ? AND "+liveKey+liveOrder, "t", "t", "t", "i"),
		locks("Owner", db.ApplLockLiveParams{OperatorID: "o", DepartmentID: new("")},
			"WHERE l.operator_id = ? AND l.department_id = ? AND "+liveKey+liveOrder, "o", "", "", "", ""),
		locks("Times", db.ApplLockLiveParams{OlderThanSeconds: 60, ExpiresWithinSeconds: 7, Order: db.LiveOldest},
			"WHERE l.acquired_ts <= "+clock+"- (60) SECOND AND l.expires_ts <= "+clock+"+ (7) SECOND "+
				strings.Replace(liveOrder, "BY", "BY l.acquired_ts,", 1)),
		locks("Soonest", db.ApplLockLiveParams{Order: db.LiveEndsSoonest, AfterType: "t"}, strings.Replace(liveOrder, "BY", "BY l.expires_ts,", 1)),
		locks("WaitedFor", db.ApplLockLiveParams{ObjectType: "t", Order: db.LiveWaitedFor},
			"INNER JOIN (SELECT w.object_type, w.object_id, MIN(w.since_ts) AS since_ts FROM applock.appl_lock_waiting AS w "+
				"GROUP BY w.object_type, w.object_id) AS w ON w.object_type = l.object_type AND w.object_id = l.object_id "+
				"WHERE l.object_type = ? "+strings.Replace(liveOrder, "BY", "BY w.since_ts,", 1), "t"),
		waiters("Waiters", db.ApplLockWaitingParams{}, "", "", "", "", "", "", "", ""),
		waiters("WaitersPage", db.ApplLockWaitingParams{
			ObjectType: "t", ObjectID: "i", OperatorID: "o", DepartmentID: new("d"),
			AfterType: "at", AfterID: "ai", AfterOperatorID: "ao", AfterClientID: "ac",
		}, "object_type = ? AND object_id = ? AND operator_id = ? AND department_id = ? AND ", "t", "i", "o", "d",
			"at", "at", "ai", "ai", "ao", "ao", "ac"),
		askers("Askers", db.ApplLockAskingParams{}, "", "", "", "", "", "", "", ""),
		askers("AskersPage", db.ApplLockAskingParams{
			ObjectType: "t", DepartmentID: new("d"), AfterType: "at", AfterID: "ai", AfterOperatorID: "ao", AfterClientID: "ac",
		}, "object_type = ? AND department_id = ? AND ", "t", "d", "at", "at", "ai", "ai", "ao", "ao", "ac"),
		events("Events", db.ApplLockHistoryParams{}, "WHERE event_id > ?"+page, int64(0)),
		events("EventsOfObject", db.ApplLockHistoryParams{ObjectType: "t", ObjectID: "i", SinceSeconds: 60, AfterEventID: 9},
			"WHERE object_type = ? AND object_id = ? AND event_ts >= "+clock+"- (60) SECOND AND event_id > ?"+page, "t", "i", int64(9)),
		events("Newest", db.ApplLockHistoryParams{NewestFirst: true}, strings.TrimPrefix(newest, " ")),
		events("EventsOfOperator", db.ApplLockHistoryParams{OperatorID: "o", NewestFirst: true, AfterEventID: 9},
			"WHERE event_id IN ("+
				"SELECT event_id FROM (SELECT event_id "+history+"WHERE event_id < ? AND actor_id = ?"+newest+") AS a UNION "+
				"SELECT event_id FROM (SELECT event_id "+history+"WHERE event_id < ? AND from_operator_id = ?"+newest+") AS f UNION "+
				"SELECT event_id FROM (SELECT event_id "+history+"WHERE event_id < ? AND to_operator_id = ?"+newest+") AS t)"+newest,
			int64(9), "o", int64(9), "o", int64(9), "o"),
		policies("Policies", db.ApplLockPoliciesParams{}, ""),
		policies("Policy", db.ApplLockPoliciesParams{ObjectType: "t"}, "WHERE object_type = ? ", "t"),
		stats("Stats", db.ApplLockStatsParams{}, ""),
		stats("StatsOfNoDepartment", db.ApplLockStatsParams{ObjectType: "t", DepartmentID: new("")}, "WHERE object_type = ? AND department_id = ? ", "t", ""),
	}
}

func viewOf(t *testing.T, name string) db.View {
	t.Helper()
	i := slices.IndexFunc(db.Views(), func(view db.View) bool { return view.Name == name })
	if i < 0 {
		t.Fatalf("no view %s", name)
	}
	return db.Views()[i]
}

// fieldOf returns the field of Go for a column.
func fieldOf(row reflect.Value, column string) reflect.Value {
	return row.FieldByName(goName(column))
}

// Goal: a read sends one SELECT with its filters, its page and the columns of the view in their order, and takes each column of the
// answer for what it is. Method: a value of its own for each column.
func TestReads(t *testing.T) {
	t.Parallel()
	for _, test := range viewReads() {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			view := viewOf(t, test.view)
			prefix := ""
			if test.view == "appl_lock_live" {
				prefix = "l."
			}
			var answer fakeAnswer
			var row []driver.Value
			var columns []string
			for _, column := range view.Columns {
				columns = append(columns, prefix+column.Name)
				answer.columns = append(answer.columns, strings.ToUpper(column.Name))
				row = append(row, asBytes(valueOfParameter(column)))
			}
			answer.rows = [][]driver.Value{row, row}
			server, pool := newFake(t, onlyAnswer(answer))
			caller := clients.Driver(testclient.DB2(t, pool))
			result, err := test.read(t.Context(), caller)
			rows := reflect.ValueOf(result)
			if err != nil || rows.Len() != len(answer.rows) {
				t.Fatalf("result %v, %v, want two rows", result, err)
			}
			for _, column := range view.Columns {
				got, want := fieldOf(rows.Index(1), column.Name), valueOfParameter(column)
				if !got.IsValid() || !reflect.DeepEqual(got.Interface(), reflect.ValueOf(want).Convert(got.Type()).Interface()) {
					t.Errorf("%s is %v, want %v", column.Name, got, want)
				}
			}
			wantText := "SELECT " + strings.Join(columns, ", ") + " " + test.rest
			got := server.statements()
			if len(got) != 1 || got[0].text != wantText || !slices.Equal(got[0].args, test.args) || got[0].inTx {
				t.Errorf("sent %v\nwant %q %q", got, wantText, test.args)
			}

			server.answer = onlyAnswer(fakeAnswer{columns: answer.columns})
			if result, err := test.read(t.Context(), caller); err != nil || !reflect.ValueOf(result).IsNil() {
				t.Errorf("result %v, %v, want none", result, err)
			}
			cause := &db2Error{"42501", -551, "SQL0551N"}
			server.answer = onlyAnswer(fakeAnswer{err: cause})
			if result, err := test.read(t.Context(), caller); !errors.Is(err, cause) || !reflect.ValueOf(result).IsNil() {
				t.Errorf("result %v, %v, want %v", result, err, cause)
			}
		})
	}
}

// Goal: a NULL in a view is read as zero.
func TestReadsOfNull(t *testing.T) {
	t.Parallel()
	none := []byte{}
	_, pool := newFake(t, onlyAnswer(fakeAnswer{columns: make([]string, 7), rows: [][]driver.Value{{[]byte("t"), nil, nil, []byte("Y"), []byte("ALL"), []byte("N"), nil}}}))
	policies, err := clients.Driver(testclient.DB2(t, pool)).ApplLockPolicies(t.Context(), db.ApplLockPoliciesParams{})
	if want := (db.Policy{ObjectType: "t", TakeReasonFL: db.Yes, HistoryLevel: db.HistoryAll, PresenceFL: db.No}); err != nil || len(policies) != 1 || policies[0] != want {
		t.Errorf("policies %v, %v, want %v", policies, err, want)
	}
	_, pool = newFake(t, onlyAnswer(fakeAnswer{columns: make([]string, 11), rows: [][]driver.Value{{
		[]byte("t"), []byte("i"), []byte("o"), none, []byte("p"), moment("since_ts"), nil, int64(3), none, none, int64(0),
	}}}))
	waiters, err := clients.Driver(testclient.DB2(t, pool)).ApplLockWaiting(t.Context(), db.ApplLockWaitingParams{})
	want := db.Waiter{ObjectType: "t", ObjectID: "i", OperatorID: "o", ClientID: "p", SinceTS: moment("since_ts"), WaitedSeconds: 3}
	if err != nil || len(waiters) != 1 || waiters[0] != want {
		t.Errorf("waiters %v, %v, want %v", waiters, err, want)
	}
}
