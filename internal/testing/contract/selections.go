package contract

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/db"
)

// Goal: locks and waiters are selected by their keys and come in the order of bytes, the same on every product, however it sorts blanks
// and other alphabets. Method: objects around the selected ones, in pages of one, of some and of all.
func selectedKeys(t *testing.T, backend Backend) {
	t.Parallel()
	place := backend.New(t)
	types := []string{"a", "cusp", "cust", "customer", "customer!", "customs", "été"}
	ids := []string{"4", "41", "41~", "42", "42 !", "42 x", "42!1", "420", "43", "4~", "4é", "~", "é"}
	var all []applock.Object
	for _, objectType := range types {
		for _, id := range ids {
			all = append(all, applock.Object{Type: objectType, ID: id})
		}
	}
	for _, object := range all {
		mustGet(t, place.Client, object, "JDOE")
		mustAnnounce(t, place, db.AnnounceApplLockWaiterParams{ObjectType: object.Type, ObjectID: object.ID, OperatorID: "ASMITH"})
		keepWaiters(t, place)
	}
	for _, test := range []struct {
		objectType, id, prefix string
		types, ids             []string
	}{
		{types: types, ids: ids},
		{objectType: "cust", types: []string{"cust"}, ids: ids},
		{objectType: "customer ", id: "42 ", types: []string{"customer"}, ids: []string{"42"}},
		{objectType: "customer", id: "é", types: []string{"customer"}, ids: []string{"é"}},
		{objectType: "customer", id: "419"},
		{objectType: "custom", id: "42"},
		{prefix: "customer:42", types: []string{"customer"}, ids: []string{"42", "42 !", "42 x", "42!1", "420"}},
		{prefix: "customer:42 ", types: []string{"customer"}, ids: []string{"42 !", "42 x"}},
		{prefix: "customer :4é", types: []string{"customer"}, ids: []string{"4é"}},
		{prefix: "customer:", types: []string{"customer"}, ids: ids},
		{prefix: "customer", types: []string{"customer", "customer!"}, ids: ids},
		{prefix: "cus", types: types[1:6], ids: ids},
		{prefix: "é", types: []string{"été"}, ids: ids},
		{prefix: "customer:419"},
		{prefix: "customer:" + fmt.Sprintf("%0255d", 4)},
	} {
		var want []applock.Object
		for _, object := range all {
			if slices.Contains(test.types, object.Type) && slices.Contains(test.ids, object.ID) {
				want = append(want, object)
			}
		}
		for _, pageSize := range []int{1, 3, 0} {
			keepWaiters(t, place)
			locks := listed(t, place.Client, applock.ListRequest{
				ObjectType: test.objectType, ObjectID: test.id, Prefix: test.prefix, PageSize: pageSize,
			})
			waiters := listedWaiters(t, place.Client, applock.WaitersRequest{
				ObjectType: test.objectType, ObjectID: test.id, Prefix: test.prefix, PageSize: pageSize,
			})
			requireSameObjects(t, fmt.Sprintf("locks of %q %q %q", test.objectType, test.id, test.prefix), locks, want)
			requireSameObjects(t, fmt.Sprintf("waiters of %q %q %q", test.objectType, test.id, test.prefix), waiters, want)
		}
	}
}

// Goal: a list continues after any of its objects, the same on every product, with any number of waiters for that object. Method: the
// rest of the list after each of some objects, two of which have several waiters.
func selectedAfter(t *testing.T, backend Backend) {
	t.Parallel()
	place := backend.New(t)
	objects := []applock.Object{{Type: "customer", ID: "41"}, {Type: "customer", ID: "42"}, {Type: "order", ID: "1"}, {Type: "order", ID: "4"}}
	for _, object := range objects {
		mustGet(t, place.Client, object, "JDOE")
		for _, waiting := range []string{"ASMITH", "MLEE"} {
			mustAnnounce(t, place, db.AnnounceApplLockWaiterParams{ObjectType: object.Type, ObjectID: object.ID, OperatorID: waiting})
		}
	}
	for i, object := range objects {
		for _, pageSize := range []int{1, 0} {
			what := fmt.Sprintf("behind %s by %d", object, pageSize)
			locks := listed(t, place.Client, applock.ListRequest{After: object, PageSize: pageSize})
			requireSameObjects(t, "locks "+what, locks, objects[i+1:])
			waiters := listedWaiters(t, place.Client, applock.WaitersRequest{After: object, PageSize: pageSize})
			requireSameObjects(t, "waiters "+what, slices.Compact(waiters), objects[i+1:])
			if len(waiters) != 2*len(objects[i+1:]) {
				t.Errorf("%d waiters %s", len(waiters), what)
			}
		}
	}
}

// Goal: locks and waiters are selected by absent columns and by their times, by the database's clock. Method: some with and some without
// a department, before and after time has passed.
func selectedTimes(t *testing.T, backend Backend) {
	t.Parallel()
	place := backend.New(t)
	add := func(id, department string, ttl time.Duration) {
		owner := applock.Owner{Operator: "JDOE", Department: department}
		if _, err := place.Client.Get(t.Context(), applock.GetRequest{Object: customer(id), Owner: owner, TTL: ttl}); err != nil {
			t.Fatal(err)
		}
		mustAnnounce(t, place, db.AnnounceApplLockWaiterParams{
			ObjectType: "customer", ObjectID: id, OperatorID: "ASMITH", DepartmentID: department,
		})
	}
	add("1", "CS", 0)
	add("2", "", time.Hour)
	if err := place.Advance(t.Context(), 30*time.Second); err != nil {
		t.Fatal(err)
	}
	add("3", "", 0)
	for want, request := range map[string]applock.ListRequest{
		"[customer:1 customer:2 customer:3]": {},
		"[customer:2 customer:3]":            {NoDepartment: true},
		"[customer:1]":                       {Department: "CS"},
		"[customer:1 customer:2]":            {OlderThan: 20 * time.Second},
		"[]":                                 {OlderThan: applock.MaxTTL},
		"[customer:2]":                       {OlderThan: 20 * time.Second, ExpiresWithin: time.Hour},
		"[customer:3]":                       {NoDepartment: true, Operator: "JDOE", Prefix: "customer:3", ExpiresWithin: applock.DefaultTTL},
	} {
		if got := fmt.Sprint(listed(t, place.Client, request)); got != want {
			t.Errorf("%+v: %s, want %s", request, got, want)
		}
	}
	for want, request := range map[string]applock.WaitersRequest{
		"[customer:2 customer:3]": {NoDepartment: true},
		"[customer:1]":            {Department: "CS"},
		"[customer:1 customer:2]": {OlderThan: 20 * time.Second},
		"[customer:2]":            {OlderThan: 20 * time.Second, NoDepartment: true},
	} {
		if got := fmt.Sprint(listedWaiters(t, place.Client, request)); got != want {
			t.Errorf("%+v: %s, want %s", request, got, want)
		}
	}
}

func mustAnnounce(t testing.TB, place Place, waiter db.AnnounceApplLockWaiterParams) {
	t.Helper()
	waiter.ClientID = client
	if err := place.Driver.AnnounceApplLockWaiter(t.Context(), waiter); err != nil {
		t.Fatal(err)
	}
}

// keepWaiters keeps the waiters listed for another minute, so that a busy machine loses none.
func keepWaiters(t testing.TB, place Place) {
	t.Helper()
	if _, err := place.Driver.PollApplLocks(t.Context(), db.PollApplLocksParams{ClientID: client, MaxRows: 1}); err != nil {
		t.Fatal(err)
	}
}

func listed(t testing.TB, client *applock.Client, request applock.ListRequest) []applock.Object {
	t.Helper()
	var objects []applock.Object
	for lock, err := range client.List(t.Context(), request) {
		if err != nil {
			t.Fatalf("%+v: %v", request, err)
		}
		objects = append(objects, lock.Object)
	}
	return objects
}

func listedWaiters(t testing.TB, client *applock.Client, request applock.WaitersRequest) []applock.Object {
	t.Helper()
	var objects []applock.Object
	for waiter, err := range client.Waiters(t.Context(), request) {
		if err != nil {
			t.Fatalf("%+v: %v", request, err)
		}
		objects = append(objects, waiter.Object)
	}
	return objects
}

func requireSameObjects(t testing.TB, what string, got, want []applock.Object) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}
