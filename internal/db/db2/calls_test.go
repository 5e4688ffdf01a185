package db2_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	db2client "github.com/applock/applock/applock/db2"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/testing/testclient"
)

// text, number and moment are values that tell which parameter or column they are of.
func text(name string) string { return "the " + name }

func number(name string) int64 {
	return map[string]int64{
		"p_ttl_seconds": 101, "p_fence": 102, "p_max_rows": 103, "p_older_than_seconds": 104, "p_purged": 105,
		"fence": 106, "p_wait_seconds": 107, "free_in_us": 108,
	}[name]
}

func moment(name string) time.Time {
	second := map[string]int{
		"p_acquired_ts": 1, "p_lock_ts": 2, "p_expires_ts": 3, "acquired_ts": 4, "lock_ts": 5, "expires_ts": 6,
		"since_ts": 7, "until_ts": 8,
	}[name]
	return time.Date(2026, 7, 31, 23, 59, second, 123456000, time.UTC)
}

func valueOfParameter(parameter db.Parameter) any {
	switch parameter.Type {
	case db.FlagType:
		return "Y"
	case db.Number:
		return number(parameter.Name)
	case db.Timestamp:
		return moment(parameter.Name)
	case db.Document:
		return "15:the object_type13:the object_id10:the holder3:1063:101"
	}
	return text(parameter.Name)
}

// operationCall is one call of an operation.
type operationCall struct {
	call func(ctx context.Context, driver db.Driver) (any, error)
	// want is the result of an answer in which each column has the value of its parameter.
	want any
}

// operationCalls calls each operation, each parameter with its own value.
func operationCalls() map[string]operationCall {
	return map[string]operationCall{
		"get_appl_lock":          getCall(),
		"release_appl_lock":      releaseCall(),
		"inquire_appl_lock":      inquireCall(),
		"transfer_appl_lock":     transferCall(),
		"list_appl_locks":        listCall(),
		"purge_appl_locks":       purgeCall(),
		"assert_appl_lock":       assertCall(),
		"serialize_appl_lock":    serializeCall(),
		"renew_appl_locks":       renewCall(),
		"await_appl_lock":        awaitCall(),
		"unawait_appl_lock":      unawaitCall(),
		"poll_appl_locks":        pollCall(),
		"list_appl_lock_waiters": listWaitersCall(),
		"appl_lock_version": {
			call: func(ctx context.Context, driver db.Driver) (any, error) { return driver.ApplLockVersion(ctx) },
			want: db.ApplLockVersionResult{Version: 7},
		},
	}
}

func getCall() operationCall {
	return operationCall{
		call: func(ctx context.Context, driver db.Driver) (any, error) {
			return driver.GetApplLock(ctx, db.GetApplLockParams{
				ObjectType: text("p_object_type"), ObjectID: text("p_object_id"),
				OperatorID: text("p_operator_id"), DepartmentID: text("p_department_id"),
				TTLSeconds: number("p_ttl_seconds"),
			})
		},
		want: db.GetApplLockResult{
			LockFL: db.Yes, Outcome: db.Outcome(text("p_outcome")),
			OldOperatorID: text("p_old_operator_id"), OldDepartmentID: text("p_old_department_id"),
			Fence: number("p_fence"), ExpiresTS: moment("p_expires_ts"),
		},
	}
}

func releaseCall() operationCall {
	return operationCall{
		call: func(ctx context.Context, driver db.Driver) (any, error) {
			return driver.ReleaseApplLock(ctx, db.ReleaseApplLockParams{
				ObjectType: text("p_object_type"), ObjectID: text("p_object_id"),
				OperatorID: text("p_operator_id"), Fence: number("p_fence"),
			})
		},
		want: db.ReleaseApplLockResult{
			ReturnCD: db.Yes, Outcome: db.Outcome(text("p_outcome")),
			OldOperatorID: text("p_old_operator_id"), OldDepartmentID: text("p_old_department_id"),
		},
	}
}

func inquireCall() operationCall {
	return operationCall{
		call: func(ctx context.Context, driver db.Driver) (any, error) {
			return driver.InquireApplLock(ctx, db.InquireApplLockParams{
				ObjectType: text("p_object_type"), ObjectID: text("p_object_id"),
			})
		},
		want: db.InquireApplLockResult{ReturnCD: db.Yes, Lock: db.Lock{
			ObjectType: text("p_object_type"), ObjectID: text("p_object_id"),
			OperatorID: text("p_operator_id"), DepartmentID: text("p_department_id"), Fence: number("p_fence"),
			AcquiredTS: moment("p_acquired_ts"), LockTS: moment("p_lock_ts"), ExpiresTS: moment("p_expires_ts"),
		}},
	}
}

func transferCall() operationCall {
	return operationCall{
		call: func(ctx context.Context, driver db.Driver) (any, error) {
			return driver.TransferApplLock(ctx, db.TransferApplLockParams{
				ObjectType: text("p_object_type"), ObjectID: text("p_object_id"),
				FromOperatorID: text("p_from_operator_id"), ToOperatorID: text("p_to_operator_id"),
				ToDepartmentID: text("p_to_department_id"), TTLSeconds: number("p_ttl_seconds"),
			})
		},
		want: db.TransferApplLockResult{
			ReturnCD: db.Yes, Outcome: db.Outcome(text("p_outcome")),
			OldOperatorID: text("p_old_operator_id"), OldDepartmentID: text("p_old_department_id"),
			Fence: number("p_fence"), ExpiresTS: moment("p_expires_ts"),
		},
	}
}

func listCall() operationCall {
	row := func(id string) db.Lock {
		return db.Lock{
			ObjectType: text("object_type"), ObjectID: id,
			OperatorID: text("operator_id"), DepartmentID: text("department_id"), Fence: number("fence"),
			AcquiredTS: moment("acquired_ts"), LockTS: moment("lock_ts"), ExpiresTS: moment("expires_ts"),
		}
	}
	return operationCall{
		call: func(ctx context.Context, driver db.Driver) (any, error) {
			return driver.ListApplLocks(ctx, db.ListApplLocksParams{
				ObjectType: text("p_object_type"), OperatorID: text("p_operator_id"), DepartmentID: text("p_department_id"),
				AfterType: text("p_after_type"), AfterID: text("p_after_id"), MaxRows: number("p_max_rows"),
			})
		},
		want: []db.Lock{row("1"), row("2, longer"), row("3")},
	}
}

func purgeCall() operationCall {
	return operationCall{
		call: func(ctx context.Context, driver db.Driver) (any, error) {
			return driver.PurgeApplLocks(ctx, db.PurgeApplLocksParams{
				OlderThanSeconds: number("p_older_than_seconds"), MaxRows: number("p_max_rows"),
			})
		},
		want: db.PurgeApplLocksResult{Purged: number("p_purged")},
	}
}

func assertCall() operationCall {
	return operationCall{call: func(ctx context.Context, driver db.Driver) (any, error) {
		return nil, driver.AssertApplLock(ctx, db.AssertApplLockParams{
			ObjectType: text("p_object_type"), ObjectID: text("p_object_id"),
			OperatorID: text("p_operator_id"), Fence: number("p_fence"),
		})
	}}
}

func serializeCall() operationCall {
	return operationCall{call: func(ctx context.Context, driver db.Driver) (any, error) {
		return nil, driver.SerializeApplLock(ctx, db.SerializeApplLockParams{
			ObjectType: text("p_object_type"), ObjectID: text("p_object_id"),
		})
	}}
}

func renewCall() operationCall {
	row := func(id string) db.RenewedGrant {
		return db.RenewedGrant{
			ObjectType: text("object_type"), ObjectID: id, Outcome: db.Outcome(text("outcome")),
			OldOperatorID: text("old_operator_id"), OldDepartmentID: text("old_department_id"), ExpiresTS: moment("expires_ts"),
		}
	}
	return operationCall{
		call: func(ctx context.Context, driver db.Driver) (any, error) {
			return driver.RenewApplLocks(ctx, db.RenewApplLocksParams{Grants: []db.RenewableGrant{{
				ObjectType: text("object_type"), ObjectID: text("object_id"), OperatorID: text("holder"),
				Fence: number("fence"), TTLSeconds: number("p_ttl_seconds"),
			}}})
		},
		want: []db.RenewedGrant{row("1"), row("2, longer"), row("3")},
	}
}

func awaitCall() operationCall {
	return operationCall{call: func(ctx context.Context, driver db.Driver) (any, error) {
		return nil, driver.AwaitApplLock(ctx, db.AwaitApplLockParams{
			ObjectType: text("p_object_type"), ObjectID: text("p_object_id"),
			OperatorID: text("p_operator_id"), DepartmentID: text("p_department_id"),
			ClientID: text("p_client_id"), WaitSeconds: number("p_wait_seconds"),
		})
	}}
}

func unawaitCall() operationCall {
	return operationCall{call: func(ctx context.Context, driver db.Driver) (any, error) {
		return nil, driver.UnawaitApplLock(ctx, db.UnawaitApplLockParams{
			ObjectType: text("p_object_type"), ObjectID: text("p_object_id"),
			OperatorID: text("p_operator_id"), ClientID: text("p_client_id"),
		})
	}}
}

func pollCall() operationCall {
	row := func(id string) db.AwaitedObject {
		return db.AwaitedObject{ObjectType: text("object_type"), ObjectID: id, FreeInUS: number("free_in_us")}
	}
	return operationCall{
		call: func(ctx context.Context, driver db.Driver) (any, error) {
			return driver.PollApplLocks(ctx, db.PollApplLocksParams{ClientID: text("p_client_id"), MaxRows: number("p_max_rows")})
		},
		want: []db.AwaitedObject{row("1"), row("2, longer"), row("3")},
	}
}

func listWaitersCall() operationCall {
	row := func(id string) db.Waiter {
		return db.Waiter{
			ObjectType: text("object_type"), ObjectID: id,
			OperatorID: text("operator_id"), DepartmentID: text("department_id"), ClientID: text("client_id"),
			SinceTS: moment("since_ts"), UntilTS: moment("until_ts"), ExpiresTS: moment("expires_ts"),
		}
	}
	return operationCall{
		call: func(ctx context.Context, driver db.Driver) (any, error) {
			return driver.ListApplLockWaiters(ctx, db.ListApplLockWaitersParams{
				ObjectType: text("p_object_type"), ObjectID: text("p_object_id"),
				OperatorID: text("p_operator_id"), DepartmentID: text("p_department_id"),
				AfterType: text("p_after_type"), AfterID: text("p_after_id"),
				AfterOperatorID: text("p_after_operator_id"), AfterClientID: text("p_after_client_id"),
				MaxRows: number("p_max_rows"),
			})
		},
		want: []db.Waiter{row("1"), row("2, longer"), row("3")},
	}
}

// eachOperation runs a subtest for each operation of the contract.
func eachOperation(t *testing.T, test func(t *testing.T, operation db.Operation, operationCall operationCall)) {
	t.Helper()
	calls := operationCalls()
	for _, operation := range db.Contract() {
		t.Run(operation.Name, func(t *testing.T) {
			operationCall, found := calls[operation.Name]
			if !found {
				t.Fatal("the contract has an operation that is not tested")
			}
			test(t, operation, operationCall)
		})
	}
}

// wantedCall returns what the server must get.
func wantedCall(operation db.Operation, schema string) (string, []driver.Value) {
	if operation.Version {
		return "SELECT " + schema + ".appl_lock_version() FROM SYSIBM.SYSDUMMY1", nil
	}
	var places []string
	var args []driver.Value
	for _, parameter := range operation.Parameters {
		if parameter.Direction == db.In {
			places = append(places, "?")
			args = append(args, valueOfParameter(parameter))
		}
	}
	name := operation.Name
	if !operation.ResultSet() {
		name += "_row"
	}
	return fmt.Sprintf("CALL %s.%s(%s)", schema, name, strings.Join(places, ", ")), args
}

// answerTo returns an answer in which each column has its own value, as the client hands it over.
func answerTo(operation db.Operation, client func(value any) driver.Value) fakeAnswer {
	switch {
	case operation.Version:
		return fakeAnswer{columns: []string{"1"}, rows: [][]driver.Value{{int32(7)}}}
	case operation.ResultSet():
		return listAnswer(operation, client, "1", "2, longer", "3")
	}
	var answer fakeAnswer
	var row []driver.Value
	for _, parameter := range operation.RowParameters() {
		answer.columns = append(answer.columns, strings.ToUpper(parameter.Name))
		row = append(row, client(valueOfParameter(parameter)))
	}
	answer.rows = [][]driver.Value{row}
	return answer
}

// listAnswer has a row for each id; all else is as in answerTo.
func listAnswer(operation db.Operation, client func(value any) driver.Value, ids ...string) fakeAnswer {
	var answer fakeAnswer
	for _, column := range operation.Columns {
		answer.columns = append(answer.columns, strings.ToUpper(column.Name))
	}
	for _, id := range ids {
		var row []driver.Value
		for _, column := range operation.Columns {
			value := valueOfParameter(column)
			if column.Name == "object_id" {
				value = id
			}
			row = append(row, client(value))
		}
		answer.rows = append(answer.rows, row)
	}
	return answer
}

// asBytes is how go_ibm_db hands over CHAR and VARCHAR.
func asBytes(value any) driver.Value {
	if text, isText := value.(string); isText {
		return []byte(text)
	}
	return value
}

func onlyAnswer(answer fakeAnswer) func(fakeStatement) fakeAnswer {
	return func(fakeStatement) fakeAnswer { return answer }
}

// Goal: each operation sends its CALL, qualified, with the arguments in the order of the contract, takes each
// column of the answer for what it is, and leaves nothing open. Method: a value of its own for each of them, made
// from the contract; with the default schema and another one.
func TestCalls(t *testing.T) {
	t.Parallel()
	eachOperation(t, func(t *testing.T, operation db.Operation, operationCall operationCall) {
		server, pool := newFake(t, onlyAnswer(answerTo(operation, asBytes)))
		for _, schema := range []string{"applock", "other_schema"} {
			caller := testclient.DB2In(t, pool, schema).Driver()
			result, err := operationCall.call(t.Context(), caller)
			if err != nil || !reflect.DeepEqual(result, operationCall.want) {
				t.Errorf("result %+v, %v\nwant %+v", result, err, operationCall.want)
			}
			wantText, wantArgs := wantedCall(operation, schema)
			got := server.statements()
			if len(got) != 1 || got[0].text != wantText || !slices.Equal(got[0].args, wantArgs) || got[0].inTx {
				t.Errorf("sent %v\nwant one %q %q", got, wantText, wantArgs)
			}
		}
	})
}

// Goal: text is understood as bytes and as a string, and the wall clock of a timestamp is UTC whatever location it
// came with. Method: clients that hand values over in these ways.
func TestTypesOfTheClient(t *testing.T) {
	t.Parallel()
	inLocation := func(location *time.Location) func(value any) driver.Value {
		return func(value any) driver.Value {
			if wall, isTime := value.(time.Time); isTime {
				return time.Date(wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), wall.Second(), wall.Nanosecond(), location)
			}
			return asBytes(value)
		}
	}
	clients := map[string]func(value any) driver.Value{
		"Strings": func(value any) driver.Value { return value },
		"Local":   inLocation(time.Local),
		"East":    inLocation(time.FixedZone("east", 5*3600+1800)),
		"West":    inLocation(time.FixedZone("west", -11*3600)),
	}
	for name, client := range clients {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachOperation(t, func(t *testing.T, operation db.Operation, operationCall operationCall) {
				_, pool := newFake(t, onlyAnswer(answerTo(operation, client)))
				result, err := operationCall.call(t.Context(), testclient.DB2(t, pool).Driver())
				if err != nil || !reflect.DeepEqual(result, operationCall.want) {
					t.Errorf("result %+v, %v\nwant %+v", result, err, operationCall.want)
				}
			})
		})
	}
}

// Goal: what is absent is NULL in the text, because the client binds NULL as a string; an empty text that is no
// absent one is bound.
func TestAbsentArguments(t *testing.T) {
	t.Parallel()
	list := func(params db.ListApplLocksParams) func(ctx context.Context, driver db.Driver) error {
		return func(ctx context.Context, driver db.Driver) error {
			_, err := driver.ListApplLocks(ctx, params)
			return err
		}
	}
	listWaiters := func(params db.ListApplLockWaitersParams) func(ctx context.Context, driver db.Driver) error {
		return func(ctx context.Context, driver db.Driver) error {
			_, err := driver.ListApplLockWaiters(ctx, params)
			return err
		}
	}
	for _, test := range []struct {
		name, wantText string
		call           func(ctx context.Context, driver db.Driver) error
		wantArgs       []driver.Value
	}{
		{"ReleaseOfAnyGrant", "CALL applock.release_appl_lock_row(?, ?, ?, NULL)", func(ctx context.Context, driver db.Driver) error {
			_, err := driver.ReleaseApplLock(ctx, db.ReleaseApplLockParams{ObjectType: "t", ObjectID: "i", OperatorID: "o"})
			return err
		}, []driver.Value{"t", "i", "o"}},
		{"GetWithoutDepartment", "CALL applock.get_appl_lock_row(?, ?, ?, ?, ?)", func(ctx context.Context, driver db.Driver) error {
			_, err := driver.GetApplLock(ctx, db.GetApplLockParams{ObjectType: "t", ObjectID: "i", OperatorID: "o", TTLSeconds: 1})
			return err
		}, []driver.Value{"t", "i", "o", "", int64(1)}},
		{"ListAll", "CALL applock.list_appl_locks(NULL, NULL, NULL, ?, ?, ?)",
			list(db.ListApplLocksParams{MaxRows: 5}), []driver.Value{"", "", int64(5)}},
		{"ListType", "CALL applock.list_appl_locks(?, NULL, NULL, ?, ?, ?)",
			list(db.ListApplLocksParams{ObjectType: "t", AfterType: "t", AfterID: "i", MaxRows: 5}), []driver.Value{"t", "t", "i", int64(5)}},
		{"ListOperator", "CALL applock.list_appl_locks(NULL, ?, NULL, ?, ?, ?)",
			list(db.ListApplLocksParams{OperatorID: "o", MaxRows: 5}), []driver.Value{"o", "", "", int64(5)}},
		{"AwaitForEver", "CALL applock.await_appl_lock_row(?, ?, ?, ?, ?, NULL)", func(ctx context.Context, driver db.Driver) error {
			return driver.AwaitApplLock(ctx, db.AwaitApplLockParams{ObjectType: "t", ObjectID: "i", OperatorID: "o", ClientID: "c"})
		}, []driver.Value{"t", "i", "o", "", "c"}},
		{"ListAllWaiters", "CALL applock.list_appl_lock_waiters(NULL, NULL, NULL, NULL, ?, ?, ?, ?, ?)",
			listWaiters(db.ListApplLockWaitersParams{MaxRows: 5}), []driver.Value{"", "", "", "", int64(5)}},
		{"ListWaitersForObject", "CALL applock.list_appl_lock_waiters(?, ?, NULL, NULL, ?, ?, ?, ?, ?)",
			listWaiters(db.ListApplLockWaitersParams{ObjectType: "t", ObjectID: "i", MaxRows: 5}), []driver.Value{"t", "i", "", "", "", "", int64(5)}},
		{"ListWaitersOfOwner", "CALL applock.list_appl_lock_waiters(NULL, NULL, ?, ?, ?, ?, ?, ?, ?)",
			listWaiters(db.ListApplLockWaitersParams{OperatorID: "o", DepartmentID: "d", MaxRows: 5}), []driver.Value{"o", "d", "", "", "", "", int64(5)}},
		{"ListDepartment", "CALL applock.list_appl_locks(NULL, NULL, ?, ?, ?, ?)",
			list(db.ListApplLocksParams{DepartmentID: "d", MaxRows: 5}), []driver.Value{"d", "", "", int64(5)}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			server, pool := newFake(t, onlyAnswer(fakeAnswer{columns: []string{"1"}}))
			if err := test.call(t.Context(), testclient.DB2(t, pool).Driver()); err != nil {
				t.Error(err)
			}
			got := server.statements()
			if len(got) != 1 || got[0].text != test.wantText || !slices.Equal(got[0].args, test.wantArgs) {
				t.Errorf("sent %v\nwant %q %q", got, test.wantText, test.wantArgs)
			}
		})
	}
}

// Goal: NULL timestamps are zero, a free object has the zero Lock, and no row is an empty list.
func TestAnswersWithoutLock(t *testing.T) {
	t.Parallel()
	none := []byte{}
	for name, test := range map[string]struct {
		row  []driver.Value
		want any
	}{
		"inquire_appl_lock": {
			[]driver.Value{[]byte("N"), none, none, int64(0), nil, nil, nil},
			db.InquireApplLockResult{ReturnCD: db.No},
		},
		"transfer_appl_lock": {
			[]driver.Value{[]byte("N"), []byte("FREE"), none, none, int64(0), nil},
			db.TransferApplLockResult{ReturnCD: db.No, Outcome: db.Free},
		},
		"get_appl_lock": {
			[]driver.Value{[]byte("N"), []byte("HELD"), []byte("KIM"), []byte("CS"), int64(0), moment("p_expires_ts")},
			db.GetApplLockResult{LockFL: db.No, Outcome: db.Held, OldOperatorID: "KIM", OldDepartmentID: "CS", ExpiresTS: moment("p_expires_ts")},
		},
		"release_appl_lock": {
			[]driver.Value{[]byte("Y"), []byte("FREE"), none, none},
			db.ReleaseApplLockResult{ReturnCD: db.Yes, Outcome: db.Free},
		},
		"purge_appl_locks": {[]driver.Value{int64(0)}, db.PurgeApplLocksResult{}},
		"list_appl_locks":  {nil, []db.Lock(nil)},
		"renew_appl_locks": {
			[]driver.Value{[]byte("customer"), []byte("42"), []byte("FREE"), none, none, nil},
			[]db.RenewedGrant{{ObjectType: "customer", ObjectID: "42", Outcome: db.Free}},
		},
		"poll_appl_locks": {nil, []db.AwaitedObject(nil)},
		"list_appl_lock_waiters": {
			[]driver.Value{[]byte("customer"), []byte("42"), []byte("KIM"), none, []byte("p1"), moment("since_ts"), nil, moment("expires_ts")},
			[]db.Waiter{{
				ObjectType: "customer", ObjectID: "42", OperatorID: "KIM", ClientID: "p1",
				SinceTS: moment("since_ts"), ExpiresTS: moment("expires_ts"),
			}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answer := fakeAnswer{columns: make([]string, len(test.row)), rows: [][]driver.Value{test.row}}
			if test.row == nil {
				answer = fakeAnswer{columns: []string{"1"}}
			}
			_, pool := newFake(t, onlyAnswer(answer))
			result, err := operationCalls()[name].call(t.Context(), testclient.DB2(t, pool).Driver())
			if err != nil || !reflect.DeepEqual(result, test.want) {
				t.Errorf("result %+v, %v\nwant %+v", result, err, test.want)
			}
		})
	}
}

func begin(t *testing.T, pool *sql.DB) *sql.Tx {
	t.Helper()
	tx, err := pool.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return tx
}

func withTx(t *testing.T, driver db.Driver, tx *sql.Tx) db.Driver {
	t.Helper()
	inTx := driver.WithSQLTx(tx)
	return inTx
}

// Goal: a call of a driver made by WithTx runs in that transaction, and leaves it to the caller, also after an
// error; other calls run outside of it.
func TestCallsInTransaction(t *testing.T) {
	t.Parallel()
	eachOperation(t, func(t *testing.T, operation db.Operation, operationCall operationCall) {
		server, pool := newFake(t, nil)
		var fails error
		server.answer = func(statement fakeStatement) fakeAnswer {
			if strings.Contains(statement.text, operation.Name) && fails != nil {
				return fakeAnswer{err: fails}
			}
			return answerTo(operation, asBytes)
		}
		outside := testclient.DB2In(t, pool, "other_schema").Driver()
		tx := begin(t, pool)
		inside := withTx(t, outside, tx)
		for _, fails = range []error{nil, &db2Error{"23505", -803, "SQL0803N"}, nil} {
			server.statements()
			_, insideErr := operationCall.call(t.Context(), inside)
			_, outsideErr := operationCall.call(t.Context(), outside)
			if (insideErr == nil) != (fails == nil) || (outsideErr == nil) != (fails == nil) {
				t.Errorf("inside: %v, outside: %v, want %v", insideErr, outsideErr, fails)
			}
			got := server.statements()
			wantText, _ := wantedCall(operation, "other_schema")
			if len(got) != 2 || got[0].text != wantText || got[0].conn != 1 || !got[0].inTx || got[1].text != wantText || got[1].conn != 2 || got[1].inTx {
				t.Errorf("sent %+v, want it in the transaction and outside of it", got)
			}
			if used := pool.Stats().InUse; used != 1 {
				t.Errorf("%d connections are in use, want the transaction's", used)
			}
		}
		if err := errors.Join(inside.Close(), tx.Commit()); err != nil {
			t.Errorf("the transaction was not the caller's to end: %v", err)
		}
	})
}

// Goal: a connection is given back after every kind of answer, and serves the next call. Method: a pool of one.
func TestConnectionIsGivenBack(t *testing.T) {
	t.Parallel()
	failure := &db2Error{"23505", -803, "SQL0803N"}
	answers := map[string]fakeAnswer{
		"Refused":      {err: failure},
		"NoResultSet":  {},
		"RowsFail":     {columns: []string{"1"}, rowsErr: failure},
		"CloseFails":   {columns: []string{"1"}, closeErr: failure},
		"WrongColumns": {columns: []string{"1", "2", "3", "4", "5", "6", "7", "8", "9"}, rows: [][]driver.Value{make([]driver.Value, 9)}},
	}
	for name, answer := range answers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachOperation(t, func(t *testing.T, operation db.Operation, operationCall operationCall) {
				server, pool := newFake(t, onlyAnswer(answer))
				server.lenient = name == "WrongColumns"
				pool.SetMaxOpenConns(1)
				caller := testclient.DB2(t, pool).Driver()
				result, err := operationCall.call(t.Context(), caller)
				if err == nil {
					t.Error("no error")
				}
				if result != nil && !reflect.ValueOf(result).IsZero() {
					t.Errorf("result %+v, want none with an error", result)
				}
				server.answer = onlyAnswer(answerTo(operation, asBytes))
				if _, err := operationCall.call(t.Context(), caller); err != nil {
					t.Error(err)
				}
				if server.connections != 1 {
					t.Errorf("%d connections were made, want one", server.connections)
				}
			})
		})
	}
}

// Goal: a transaction of another client is refused, and so is a schema that cannot be named; Close leaves the
// caller's pool open.
func TestWhatIsNotOurs(t *testing.T) {
	t.Parallel()
	server, pool := newFake(t, onlyAnswer(answerTo(db.Operation{Version: true}, asBytes)))
	caller := testclient.DB2(t, pool).Driver()
	if _, err := db2client.New(pool, db2client.Config{Schema: `a"b`}); !errors.Is(err, applock.ErrInvalid) {
		t.Error("a bad schema was accepted")
	}
	if got := server.statements(); len(got) != 0 {
		t.Errorf("sent %v", got)
	}
	if err := caller.Close(); err != nil {
		t.Error(err)
	}
	if _, err := caller.ApplLockVersion(t.Context()); err != nil {
		t.Errorf("the pool was closed: %v", err)
	}
}
