package db2_test

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/applock/applock/internal/testing/testclient"

	"github.com/applock/applock/internal/clients"
	"github.com/applock/applock/internal/db"
)

// renewals answers renew_appl_locks as if every grant were live, but ends a call that has a locked object with an
// error.
type renewals struct {
	locked []string
	err    error
	// calls are the objects of each call, in order; texts what they were told with.
	calls [][]string
	texts []string
}

// renewable is a grant of grantsOf as a call has it.
var renewable = regexp.MustCompile(`1:t\d+:(.*?)1:o1:11:1`)

func (r *renewals) answer(statement fakeStatement) fakeAnswer {
	if !strings.HasPrefix(statement.text, "CALL applock.renew_appl_locks") {
		return fakeAnswer{}
	}
	document := statement.args[0].(string)
	var objects []string
	answer := fakeAnswer{columns: []string{"OBJECT_TYPE", "OBJECT_ID", "OUTCOME", "OLD_OPERATOR_ID", "OLD_DEPARTMENT_ID", "ACQUIRED_TS", "EXPIRES_TS", "SECONDS_LEFT"}}
	for _, match := range renewable.FindAllStringSubmatch(document, -1) {
		objects = append(objects, match[1])
		answer.rows = append(answer.rows, []driver.Value{[]byte("t"), []byte(match[1]), []byte("RENEWED"), []byte{}, []byte{}, nil, moment(), int64(30)})
	}
	r.calls, r.texts = append(r.calls, objects), append(r.texts, document)
	if slices.ContainsFunc(objects, func(object string) bool { return slices.Contains(r.locked, object) }) {
		return fakeAnswer{err: r.err}
	}
	return answer
}

// grantsOf returns live grants, the last object first, and the objects in the order of their keys.
func grantsOf(count int, id string) (grants []db.RenewableGrant, objects []string) {
	for i := range count {
		objects = append(objects, fmt.Sprintf("%s%04d", id, i))
		grants = append(grants, db.RenewableGrant{ObjectType: "t", ObjectID: objects[i], OperatorID: "o", Fence: 1, TTLSeconds: 1})
	}
	slices.Reverse(grants)
	return grants, objects
}

func objectsOf(renewed []db.RenewedGrant) []string {
	var objects []string
	for _, grant := range renewed {
		objects = append(objects, grant.ObjectID)
	}
	return objects
}

// Goal: any number of grants is renewed, each once, in calls within the procedure's limits, in the order of the keys. Method: a server that
// reads the documents; ids of one and of four bytes a character, and enough grants that each limit ends a call: their number, and their bytes, to the last one.
func TestHeavyRenewalsFitIntoCalls(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		count int
		id    string
		calls int
	}{
		{1, "", 1},
		{300, strings.Repeat("x", 45), 1},
		{1001, strings.Repeat("x", 45), 3},
		{2001, "", 3},
		{100, strings.Repeat("😀", 251), 4},
		{0, "", 0},
	} {
		server := &renewals{}
		_, pool := newFake(t, server.answer)
		grants, objects := grantsOf(test.count, test.id)
		renewed, err := clients.Driver(testclient.DB2(t, pool)).RenewApplLocks(t.Context(), db.RenewApplLocksParams{Grants: grants})
		if err != nil || !slices.Equal(objectsOf(renewed), objects) {
			t.Errorf("%d grants with ids of %d bytes: renewed %v, %v", test.count, len(test.id), objectsOf(renewed), err)
		}
		if !slices.Equal(slices.Concat(server.calls...), objects) || len(server.calls) != test.calls {
			t.Errorf("%d grants in %d calls, want %d, or not in the order of the keys", test.count, len(server.calls), test.calls)
		}
		for _, text := range server.texts {
			if len(text) > 32000 {
				t.Errorf("a document has %d bytes", len(text))
			}
		}
	}
}

// Goal: a lock that another transaction is changing costs some more calls, and its own answer, but not those of the
// others. Method: a server that ends each call with such a lock, as Db2 does, and takes back what it has done.
func TestRenewalPassesOverLockedRows(t *testing.T) {
	t.Parallel()
	const grantCount = 300
	grants, objects := grantsOf(grantCount, "")
	for name, test := range map[string]struct {
		locked []string
		err    error
		calls  int // at most
	}{
		"One":      {objects[17:18], answer(-911, "40001", rolledBack+`"68".`), 19},
		"Two":      {[]string{objects[0], objects[299]}, answer(-911, "40001", rolledBack+`"68".`), 37},
		"Deadlock": {objects[17:18], answer(-911, "40001", rolledBack+`"2".`), 19},
		"ZOS":      {objects[17:18], answer(-913, "57033", "Unsuccessful execution caused by deadlock or timeout.  Reason code 00C9008E."), 19},
		"All":      {objects, answer(-911, "40001", rolledBack+`"68".`), 2*grantCount - 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := &renewals{locked: test.locked, err: test.err}
			_, pool := newFake(t, server.answer)
			renewed, err := clients.Driver(testclient.DB2(t, pool)).RenewApplLocks(t.Context(), db.RenewApplLocksParams{Grants: grants})
			want := slices.DeleteFunc(slices.Clone(objects), func(object string) bool { return slices.Contains(test.locked, object) })
			if err != nil || !slices.Equal(objectsOf(renewed), want) {
				t.Errorf("renewed %v, %v, want all but %v", objectsOf(renewed), err, test.locked)
			}
			if len(server.calls) > test.calls {
				t.Errorf("%d calls, at most %d", len(server.calls), test.calls)
			}
		})
	}
}

// Goal: in a caller's transaction a locked row is the caller's business, since the transaction is over; and any other
// error ends the renewal. Method: one call, and its error.
func TestRenewalFails(t *testing.T) {
	t.Parallel()
	grants, objects := grantsOf(4, "")
	busy := &renewals{locked: objects[1:2], err: answer(-911, "40001", rolledBack+`"68".`)}
	_, pool := newFake(t, busy.answer)
	tx := begin(t, pool)
	renewed, err := clients.Driver(testclient.DB2(t, pool)).WithSQLTx(tx).RenewApplLocks(t.Context(), db.RenewApplLocksParams{Grants: grants})
	if db.KindOf(err) != db.KindBusy || renewed != nil || len(busy.calls) != 1 {
		t.Errorf("in a transaction: renewed %v, %v, in %d calls", renewed, err, len(busy.calls))
	}
	if err := tx.Rollback(); err != nil {
		t.Error(err)
	}

	cause := answer(-551, "42501", `"ALICE" does not have the required privilege.`)
	for name, places := range map[string][]string{"First": objects[1:2], "Second": objects[3:]} {
		broken := &renewals{locked: places, err: cause}
		first := true
		_, pool := newFake(t, func(statement fakeStatement) fakeAnswer {
			answer := broken.answer(statement)
			if first { // so that the halves are renewed
				first, answer = false, fakeAnswer{err: busy.err}
			}
			return answer
		})
		renewed, err := clients.Driver(testclient.DB2(t, pool)).RenewApplLocks(t.Context(), db.RenewApplLocksParams{Grants: grants})
		if !errors.Is(err, cause) || db.KindOf(err) != db.KindPrivilege || renewed != nil {
			t.Errorf("%s: renewed %v, %v, want %v", name, renewed, err, cause)
		}
	}
}
