package applock_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/applocktest"
)

// result is what an operation returns, and how it is written.
type result struct {
	value      any
	json, text string
}

// results are one of each type, without a zero field but for those that the JSON has as null or empty.
func results() []result {
	object := applock.Object{Type: "customer", ID: "42"}
	jdoe, asmith := applock.Owner{Operator: "jdoe", Department: "sales"}, applock.Owner{Operator: "asmith"}
	began := time.Date(2026, 11, 27, 13, 14, 16, 5000, time.UTC)
	ends := began.Add(time.Hour)
	holder := applock.Holder{Owner: jdoe, Fence: 7, AcquiredAt: began, ExpiresAt: ends, Left: time.Hour, Note: "a < b"}
	return []result{
		{object, `{"object_type":"customer","object_id":"42"}`, "customer:42"},
		{jdoe, `{"operator_id":"jdoe","department_id":"sales"}`, "jdoe (sales)"},
		{
			applock.Key{Object: object, Operator: "jdoe", Fence: 7},
			`{"object_type":"customer","object_id":"42","operator_id":"jdoe","fence":7}`,
			"{Object:customer:42 Operator:jdoe Fence:7}",
		},
		{
			applock.Grant{
				Object: object, Owner: jdoe, Fence: 7, AcquiredAt: began, ExpiresAt: ends, Left: time.Hour, Outcome: applock.OutcomeTaken, From: asmith,
			},
			`{"outcome":"TAKEN","object_type":"customer","object_id":"42","operator_id":"jdoe","department_id":"sales",` +
				`"holder_id":"jdoe","holder_department_id":"sales","fence":7,"acquired_ts":"2026-11-27T13:14:16.000005Z",` +
				`"expires_ts":"2026-11-27T14:14:16.000005Z","seconds_left":3600,"note":"","former_holder_id":"asmith","former_holder_department_id":""}`,
			"{Object:customer:42 Owner:jdoe (sales) Fence:7 AcquiredAt:2026-11-27 13:14:16.000005 +0000 UTC " +
				"ExpiresAt:2026-11-27 14:14:16.000005 +0000 UTC Left:1h0m0s Outcome:TAKEN Note: From:asmith}",
		},
		{
			applock.Lock{Object: object, Owner: jdoe, Fence: 7, AcquiredAt: began, ExpiresAt: ends, TTL: 2 * time.Hour, Left: time.Hour, Note: "why"},
			`{"outcome":"HELD","object_type":"customer","object_id":"42","holder_id":"jdoe","holder_department_id":"sales","fence":7,` +
				`"acquired_ts":"2026-11-27T13:14:16.000005Z","lock_ts":null,"expires_ts":"2026-11-27T14:14:16.000005Z","seconds_left":3600,` +
				`"note":"why","ttl_seconds":7200}`,
			"{Object:customer:42 Owner:jdoe (sales) Fence:7 AcquiredAt:2026-11-27 13:14:16.000005 +0000 UTC " +
				"LockedAt:0001-01-01 00:00:00 +0000 UTC ExpiresAt:2026-11-27 14:14:16.000005 +0000 UTC TTL:2h0m0s Left:1h0m0s Note:why}",
		},
		{
			holder,
			`{"holder_id":"jdoe","holder_department_id":"sales","fence":7,"acquired_ts":"2026-11-27T13:14:16.000005Z",` +
				`"expires_ts":"2026-11-27T14:14:16.000005Z","seconds_left":3600,"note":"a \u003c b"}`,
			"{Owner:jdoe (sales) Fence:7 AcquiredAt:2026-11-27 13:14:16.000005 +0000 UTC ExpiresAt:2026-11-27 14:14:16.000005 +0000 UTC Left:1h0m0s Note:a < b}",
		},
		{
			&applock.HeldError{Object: object, Holder: holder},
			`{"outcome":"HELD","object_type":"customer","object_id":"42","holder_id":"jdoe","holder_department_id":"sales","fence":7,` +
				`"acquired_ts":"2026-11-27T13:14:16.000005Z","expires_ts":"2026-11-27T14:14:16.000005Z","seconds_left":3600,"note":"a \u003c b"}`,
			`held by jdoe (sales) since 2026-11-27T13:14:16Z until 2026-11-27T14:14:16Z, "a < b"`,
		},
		{
			applock.LockChange{Object: object, Outcome: applock.OutcomeHeld, Owner: jdoe, ExpiresAt: ends, Left: time.Hour},
			`{"outcome":"HELD","object_type":"customer","object_id":"42","holder_id":"jdoe","holder_department_id":"sales","fence":0,` +
				`"expires_ts":"2026-11-27T14:14:16.000005Z","seconds_left":3600}`,
			"{Object:customer:42 Outcome:HELD Owner:jdoe (sales) Fence:0 ExpiresAt:2026-11-27 14:14:16.000005 +0000 UTC Left:1h0m0s}",
		},
		{
			applock.Waiter{
				Object: object, Owner: asmith, Client: "p1", Since: began, Waited: time.Minute,
				Holder: applock.Holder{Owner: jdoe, Left: time.Hour},
			},
			`{"outcome":"WAITING","object_type":"customer","object_id":"42","operator_id":"asmith","department_id":"","holder_id":"jdoe",` +
				`"holder_department_id":"sales","seconds_left":3600,"client_id":"p1","since_ts":"2026-11-27T13:14:16.000005Z","until_ts":null,` +
				`"waited_seconds":60}`,
			"{Object:customer:42 Owner:asmith Client:p1 Since:2026-11-27 13:14:16.000005 +0000 UTC Until:0001-01-01 00:00:00 +0000 UTC Waited:1m0s " +
				"Holder:{Owner:jdoe (sales) Fence:0 AcquiredAt:0001-01-01 00:00:00 +0000 UTC ExpiresAt:0001-01-01 00:00:00 +0000 UTC Left:1h0m0s Note:}}",
		},
		{
			applock.Event{
				ID: 9, At: began, Object: object, Kind: applock.EventTaken, Actor: "mlee", User: "crm", Program: "web",
				From: jdoe, FromFence: 7, To: asmith, ToFence: 8, Reason: "urgent",
			},
			`{"outcome":"TAKEN","event_id":9,"event_ts":"2026-11-27T13:14:16.000005Z","object_type":"customer","object_id":"42",` +
				`"actor_id":"mlee","db_user":"crm","program":"web","from_operator_id":"jdoe","from_department_id":"sales",` +
				`"to_operator_id":"asmith","to_department_id":"","from_fence":7,"to_fence":8,"reason":"urgent"}`,
			"{ID:9 At:2026-11-27 13:14:16.000005 +0000 UTC Object:customer:42 Kind:TAKEN Actor:mlee User:crm Program:web " +
				"From:jdoe (sales) FromFence:7 To:asmith ToFence:8 Reason:urgent}",
		},
		{
			applock.Notice{Kind: applock.NoticeAwaited, Object: object, Other: jdoe, At: began, Left: time.Hour},
			`{"outcome":"AWAITED","event_id":0,"object_type":"customer","object_id":"42","other_operator_id":"jdoe",` +
				`"other_department_id":"sales","event_ts":"2026-11-27T13:14:16.000005Z","seconds_left":3600,"reason":"",` +
				`"message":"","client_id":"","fence":0}`,
			"{Kind:AWAITED Event:0 Object:customer:42 Other:jdoe (sales) At:2026-11-27 13:14:16.000005 +0000 UTC Left:1h0m0s Reason: Message: " +
				"Client: Fence:0}",
		},
		{
			applock.Presence{Kind: applock.PresenceViewer, Owner: jdoe, Client: "tab-7", State: applock.StateEditing, Since: began, Left: time.Minute},
			`{"outcome":"VIEWER","operator_id":"jdoe","department_id":"sales","client_id":"tab-7","state":"EDITING",` +
				`"since_ts":"2026-11-27T13:14:16.000005Z","seconds_left":60,"message":""}`,
			"{Kind:VIEWER Owner:jdoe (sales) Client:tab-7 State:EDITING Since:2026-11-27 13:14:16.000005 +0000 UTC Left:1m0s Message:}",
		},
		{
			applock.Viewer{Object: object, Owner: jdoe, Client: "tab-7", State: applock.StateEditing, Since: began, Left: time.Minute},
			`{"outcome":"VIEWER","object_type":"customer","object_id":"42","operator_id":"jdoe","department_id":"sales","client_id":"tab-7",` +
				`"state":"EDITING","since_ts":"2026-11-27T13:14:16.000005Z","seconds_left":60}`,
			"{Object:customer:42 Owner:jdoe (sales) Client:tab-7 State:EDITING Since:2026-11-27 13:14:16.000005 +0000 UTC Left:1m0s}",
		},
		{
			applock.Asked{Outcome: applock.OutcomeAsked, Holder: applock.Holder{Owner: jdoe, AcquiredAt: began, ExpiresAt: ends, Left: time.Hour}},
			`{"outcome":"ASKED","holder_id":"jdoe","holder_department_id":"sales",` +
				`"acquired_ts":"2026-11-27T13:14:16.000005Z","expires_ts":"2026-11-27T14:14:16.000005Z","seconds_left":3600,` +
				`"grant":{"outcome":"","object_type":"","object_id":"","operator_id":"","department_id":"","holder_id":"","holder_department_id":"",` +
				`"fence":0,"acquired_ts":null,"expires_ts":null,"seconds_left":0,"note":"","former_holder_id":"","former_holder_department_id":""}}`,
			"{Outcome:ASKED Holder:{Owner:jdoe (sales) Fence:0 AcquiredAt:2026-11-27 13:14:16.000005 +0000 UTC ExpiresAt:2026-11-27 14:14:16.000005 +0000 UTC Left:1h0m0s Note:} " +
				"Grant:{Object:: Owner: Fence:0 AcquiredAt:0001-01-01 00:00:00 +0000 UTC ExpiresAt:0001-01-01 00:00:00 +0000 UTC Left:0s Outcome: Note: From:}}",
		},
		{
			applock.Answered{Outcome: applock.OutcomeGiven, ExpiresAt: ends, Left: time.Minute},
			`{"outcome":"GIVEN","expires_ts":"2026-11-27T14:14:16.000005Z","seconds_left":60}`,
			"{Outcome:GIVEN ExpiresAt:2026-11-27 14:14:16.000005 +0000 UTC Left:1m0s}",
		},
		{
			applock.Asker{
				Object: object, Owner: asmith, Client: "p1", Message: "may I?", Since: began, Waited: time.Minute,
				Answer: applock.AnswerLater, AnswerReason: "soon", Holder: applock.Holder{Owner: jdoe, Left: time.Hour},
			},
			`{"outcome":"ASKING","object_type":"customer","object_id":"42","operator_id":"asmith","department_id":"","holder_id":"jdoe",` +
				`"holder_department_id":"sales","seconds_left":3600,"client_id":"p1","message":"may I?","since_ts":"2026-11-27T13:14:16.000005Z",` +
				`"until_ts":null,"waited_seconds":60,"answer":"LATER","answer_reason":"soon"}`,
			"{Object:customer:42 Owner:asmith Client:p1 Message:may I? Since:2026-11-27 13:14:16.000005 +0000 UTC " +
				"Until:0001-01-01 00:00:00 +0000 UTC Answer:LATER AnswerReason:soon Waited:1m0s " +
				"Holder:{Owner:jdoe (sales) Fence:0 AcquiredAt:0001-01-01 00:00:00 +0000 UTC ExpiresAt:0001-01-01 00:00:00 +0000 UTC Left:1h0m0s Note:}}",
		},
		{
			applock.Stats{ObjectType: "customer", Live: 3, Expired: 1, Oldest: time.Hour, NextExpiry: time.Minute, Waiters: 2, LongestWait: time.Second},
			`{"outcome":"COUNTED","object_type":"customer","department_id":"","live":3,"expired":1,"oldest_seconds":3600,` +
				`"next_expiry_seconds":60,"waiters":2,"longest_wait_seconds":1}`,
			"{ObjectType:customer Department: Live:3 Expired:1 Oldest:1h0m0s NextExpiry:1m0s Waiters:2 LongestWait:1s}",
		},
		{
			applock.Policy{Type: "customer", DefaultTTL: time.Hour, TakeWithoutReason: true, HistoryLevel: applock.HistoryAll},
			`{"outcome":"SET","object_type":"customer","default_ttl_seconds":3600,"longest_ttl_seconds":0,"take_reason_fl":"N","history_level":"ALL","presence_fl":"Y","yield_after_seconds":0}`,
			"{Type:customer DefaultTTL:1h0m0s LongestTTL:0s TakeWithoutReason:true HistoryLevel:ALL WithoutPresence:false YieldAfter:0s}",
		},
		{
			applock.Server{Product: "PostgreSQL", Version: "18.1"},
			`{"product":"PostgreSQL","product_version":"18.1"}`,
			"{Product:PostgreSQL Version:18.1}",
		},
	}
}

// Goal: every result is readable in a log, and is one object with the keys of docs/json.md. Method: write one of each type.
func TestResultsAreWritten(t *testing.T) {
	t.Parallel()
	for _, result := range results() {
		if got := fmt.Sprintf("%+v", result.value); got != result.text {
			t.Errorf("%T is\n%s, want\n%s", result.value, got, result.text)
		}
		text, err := json.Marshal(result.value)
		if err != nil || string(text) != result.json {
			t.Errorf("%T is\n%s, want\n%s: %v", result.value, text, result.json, err)
		}
	}
}

// Goal: no type of a result is forgotten above. Method: what the methods of Client return, alone, in a slice or by an iterator.
func TestResultsAreAll(t *testing.T) {
	t.Parallel()
	var known []reflect.Type
	for _, result := range results() {
		known = append(known, reflect.TypeOf(result.value))
	}
	found := 0
	client := reflect.TypeFor[*applock.Client]()
	for method := range client.Methods() {
		for returned := range method.Type.Outs() {
			switch returned.Kind() {
			case reflect.Slice:
				returned = returned.Elem()
			case reflect.Func: // an iterator
				returned = returned.In(0).In(0)
			default:
			}
			if returned.Kind() != reflect.Struct {
				continue
			}
			found++
			if !slices.Contains(known, returned) {
				t.Errorf("%s returns %s, which no test writes", method.Name, returned)
			}
		}
	}
	if found < 12 {
		t.Errorf("%d results: this test does not see them", found)
	}
}

// Goal: a lease in a log is the name of its grant, and not what the package keeps of it. Method: a lease and a set of one.
func TestLeasesAreWritten(t *testing.T) {
	t.Parallel()
	client := applocktest.New(t).Client
	object, owner := applock.Object{Type: "customer", ID: "42"}, applock.Owner{Operator: "jdoe", Department: "sales"}
	lease, err := client.Acquire(t.Context(), applock.AcquireRequest{Object: object, Owner: owner, MaxHold: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	set, err := client.AcquireAll(lease.Context(), applock.AcquireAllRequest{Objects: []applock.Object{object}, MaxHold: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("customer:42 held by jdoe (sales) with fence %d", lease.Fence())
	if got := fmt.Sprintf("%+v %+v", lease, set); got != want+" ["+want+"]" {
		t.Errorf("%s, want %s twice", got, want)
	}
}

// Goal: a change of many locks tells who holds each afterwards. Method: a transfer and a release, each after a dry run.
func TestLockChangeTellsTheOwner(t *testing.T) {
	t.Parallel()
	client := applocktest.New(t).Client
	jdoe, asmith := applock.Owner{Operator: "jdoe"}, applock.Owner{Operator: "asmith", Department: "service"}
	request := applock.GetRequest{Object: applock.Object{Type: "customer", ID: "42"}, Owner: jdoe}
	if _, err := client.Get(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	require := func(outcome applock.Outcome, owner applock.Owner, changes []applock.LockChange, err error) {
		t.Helper()
		if err != nil || len(changes) != 1 || changes[0].Outcome != outcome || changes[0].Owner != owner {
			t.Errorf("%+v, want %s and %s: %v", changes, outcome, owner, err)
		}
	}
	for _, dryRun := range []bool{true, false} {
		outcome, owner := applock.OutcomeTransferred, asmith
		if dryRun {
			outcome, owner = applock.OutcomeWouldTransfer, jdoe
		}
		changes, err := client.TransferAll(t.Context(), applock.TransferAllRequest{From: "jdoe", To: asmith, DryRun: dryRun})
		require(outcome, owner, changes, err)
	}
	for _, dryRun := range []bool{true, false} {
		outcome, owner := applock.OutcomeReleased, applock.Owner{}
		if dryRun {
			outcome, owner = applock.OutcomeWouldRelease, applock.Owner{Operator: "asmith"}
		}
		changes, err := client.ReleaseAll(t.Context(), applock.ReleaseAllRequest{Operator: "asmith", DryRun: dryRun})
		require(outcome, owner, changes, err)
	}
}

// Goal: what is left is rounded up, an age down, so that neither promises too much; a policy that names no level has the one that holds;
// and an encoder that does not escape gets the text as it is. Method: parts of seconds, an empty level, and such an encoder.
func TestResultsAreRounded(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		value any
		want  string
	}{
		{applock.Holder{Left: time.Millisecond}, `"seconds_left":1,`},
		{applock.Waiter{Waited: 1999 * time.Millisecond}, `"waited_seconds":1}`},
		{applock.Policy{}, `"take_reason_fl":"Y","history_level":"CHANGES","presence_fl":"Y","yield_after_seconds":0}`},
		{applock.Holder{Note: "a < b"}, `"note":"a < b"}`},
	} {
		var text strings.Builder
		encoder := json.NewEncoder(&text)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(test.value); err != nil || !strings.Contains(text.String(), test.want) {
			t.Errorf("%T is %s, want %s: %v", test.value, text.String(), test.want, err)
		}
	}
}
