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
	"github.com/applock/applock/internal/clients"
	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/testing/contract"
	"github.com/applock/applock/internal/testing/testclient"
)

// text, number and moment are values that tell which parameter or column they are of.
func text(name string) string { return "the " + name }

func number(name string) int64 { return int64(100 + ordinal(name)) }

func moment(name string) time.Time {
	return time.Date(2026, 7, 31, 23, 59, ordinal(name), 123456000, time.UTC)
}

// ordinal numbers the names of the contract's parameters and columns.
func ordinal(name string) int {
	var names []string
	for _, operation := range db.Contract() {
		for _, parameter := range slices.Concat(operation.Parameters, operation.Columns) {
			names = append(names, parameter.Name)
		}
	}
	for _, view := range db.Views() {
		for _, column := range view.Columns {
			names = append(names, column.Name)
		}
	}
	slices.Sort(names)
	return slices.Index(slices.Compact(names), name)
}

func valueOfParameter(parameter db.Parameter) any {
	if parameter.Name == "p_new_fl" {
		return "Y"
	}
	switch parameter.Type {
	case db.FlagType:
		return "Y"
	case db.Number:
		return number(parameter.Name)
	case db.Timestamp:
		return moment(parameter.Name)
	case db.Document:
		return fmt.Sprintf("15:the object_type13:the object_id15:the operator_id3:%d3:%d", number("fence"), number("p_ttl_seconds"))
	}
	return text(parameter.Name)
}

// operationCall is one call of an operation.
type operationCall struct {
	call func(ctx context.Context, driver db.Driver) (any, error)
	// want is the result of an answer in which each column has the value of its parameter.
	want any
}

// callOf calls an operation, each parameter with its own value. The names of Go are those of the contract: p_fence is
// the field Fence.
func callOf(t *testing.T, operation db.Operation) operationCall {
	t.Helper()
	method, found := reflect.TypeFor[db.Driver]().MethodByName(goName(operation.Name))
	if !found {
		t.Fatal("no method of db.Driver")
	}
	var params []reflect.Value
	if !operation.Version {
		params = []reflect.Value{reflect.New(method.Type.In(1)).Elem()}
		fill(t, params[0], operation.InParameters())
	}
	call := func(ctx context.Context, driver db.Driver) (any, error) {
		results := reflect.ValueOf(driver).MethodByName(method.Name).Call(append([]reflect.Value{reflect.ValueOf(ctx)}, params...))
		err, _ := results[len(results)-1].Interface().(error)
		if len(results) == 1 {
			return nil, err
		}
		return results[0].Interface(), err
	}
	return operationCall{call, wantedResult(t, operation, method.Type.Out(0))}
}

// wantedResult returns the result of answerTo.
func wantedResult(t *testing.T, operation db.Operation, kind reflect.Type) any {
	t.Helper()
	result := reflect.New(kind).Elem()
	switch {
	case operation.Version:
		return db.ApplLockVersionResult{Version: 7}
	case operation.ResultSet():
		for _, id := range answeredIDs() {
			row := reflect.New(kind.Elem()).Elem()
			fill(t, row, operation.Columns)
			row.FieldByName(goName(keyOf(operation))).SetString(id)
			result = reflect.Append(result, row)
		}
	case len(operation.OutParameters()) == 0:
		return nil
	default:
		fill(t, result, operation.OutParameters())
	}
	if inquired, isInquired := result.Interface().(db.InquireApplLockResult); isInquired {
		inquired.Lock.ObjectType, inquired.Lock.ObjectID = text("p_object_type"), text("p_object_id")
		return inquired
	}
	return result.Interface()
}

// fill sets the field of each parameter, which may be one of the lock that was inquired.
func fill(t *testing.T, target reflect.Value, parameters []db.Parameter) {
	t.Helper()
	for _, parameter := range parameters {
		name := goName(strings.TrimPrefix(parameter.Name, "p_"))
		field := target.FieldByName(name)
		if lock := target.FieldByName("Lock"); !field.IsValid() && lock.IsValid() {
			field = lock.FieldByName(name)
		}
		if !field.IsValid() {
			t.Fatalf("%s has no field %s", target.Type(), name)
		}
		value := valueOfParameter(parameter)
		if parameter.Type == db.Document {
			value = []db.RenewableGrant{{
				ObjectType: text("object_type"), ObjectID: text("object_id"), OperatorID: text("operator_id"),
				Fence: number("fence"), TTLSeconds: number("p_ttl_seconds"),
			}}
		}
		if wall, isTime := value.(time.Time); isTime {
			value = db.Moment{Time: wall}
		}
		if field.Kind() == reflect.Bool {
			value = value == "Y"
		}
		if field.Kind() == reflect.Pointer { // of what is not the same as its zero value
			field.Set(reflect.New(field.Type().Elem()))
			field = field.Elem()
		}
		field.Set(reflect.ValueOf(value).Convert(field.Type()))
	}
}

// goName is how Go writes a name of SQL.
func goName(name string) string {
	var words strings.Builder
	for word := range strings.SplitSeq(name, "_") {
		if slices.Contains([]string{"cd", "db", "fl", "id", "ts", "ttl", "us"}, word) {
			words.WriteString(strings.ToUpper(word))
			continue
		}
		words.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return words.String()
}

// eachOperation runs a subtest for each operation of the contract.
func eachOperation(t *testing.T, test func(t *testing.T, operation db.Operation, operationCall operationCall)) {
	t.Helper()
	for _, operation := range db.Contract() {
		t.Run(operation.Name, func(t *testing.T) { test(t, operation, callOf(t, operation)) })
	}
}

// wantedCall returns what the server must get.
func wantedCall(operation db.Operation, schema string) (string, []driver.Value) {
	if operation.Version {
		return "SELECT " + schema + ".appl_lock_version() FROM SYSIBM.SYSDUMMY1", nil
	}
	var args []driver.Value
	for _, parameter := range operation.InParameters() {
		args = append(args, valueOfParameter(parameter))
	}
	return fmt.Sprintf("CALL %s.%s(%s)", schema, operation.RowForm(), contract.Placeholders(len(args))), args
}

// answerTo returns an answer in which each column has its own value, as the client hands it over.
func answerTo(operation db.Operation, client func(value any) driver.Value) fakeAnswer {
	switch {
	case operation.Version:
		return fakeAnswer{columns: []string{"1"}, rows: [][]driver.Value{{int32(7)}}}
	case operation.ResultSet():
		return listAnswer(operation, client, answeredIDs()...)
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

// answeredIDs are those of the rows of a result set.
func answeredIDs() []string { return []string{"1", "2, longer", "3"} }

// keyOf returns the column by which rows differ.
func keyOf(operation db.Operation) string {
	switch operation.Name {
	case "get_appl_lock_permit":
		return "slot_id"
	case "see_appl_lock":
		return "client_id"
	}
	return "object_id"
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
			if column.Name == keyOf(operation) {
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
			caller := clients.Driver(testclient.DB2In(t, pool, schema))
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
// came with. Method: programs that hand values over in these ways.
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
	programs := map[string]func(value any) driver.Value{
		"Strings": func(value any) driver.Value { return value },
		"Local":   inLocation(time.Local),
		"East":    inLocation(time.FixedZone("east", 5*3600+1800)),
		"West":    inLocation(time.FixedZone("west", -11*3600)),
	}
	for name, client := range programs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachOperation(t, func(t *testing.T, operation db.Operation, operationCall operationCall) {
				_, pool := newFake(t, onlyAnswer(answerTo(operation, client)))
				result, err := operationCall.call(t.Context(), clients.Driver(testclient.DB2(t, pool)))
				if err != nil || !reflect.DeepEqual(result, operationCall.want) {
					t.Errorf("result %+v, %v\nwant %+v", result, err, operationCall.want)
				}
			})
		})
	}
}

func errorOf[T any](_ T, err error) error { return err }

// Goal: an absent argument is a literal NULL, because the client binds NULL as a string; an empty text that is a value is bound.
func TestAbsentArguments(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, wantText string
		call           func(ctx context.Context, driver db.Driver) error
		wantArgs       []driver.Value
	}{
		{"ReleaseOfAnyGrant", "CALL applock.release_appl_lock_row(?, ?, ?, NULL, NULL, NULL)", func(ctx context.Context, driver db.Driver) error {
			return errorOf(driver.ReleaseApplLock(ctx, db.ReleaseApplLockParams{ObjectType: "t", ObjectID: "i", OperatorID: "o"}))
		}, []driver.Value{"t", "i", "o"}},
		{"NoteOnAnyGrant", "CALL applock.note_appl_lock_row(?, ?, ?, NULL, ?)", func(ctx context.Context, driver db.Driver) error {
			return errorOf(driver.NoteApplLock(ctx, db.NoteApplLockParams{ObjectType: "t", ObjectID: "i", OperatorID: "o"}))
		}, []driver.Value{"t", "i", "o", ""}},
		{"PolicyWithoutTTLs", "CALL applock.set_appl_lock_policy_row(?, NULL, NULL, ?, ?, ?, ?, ?, NULL)", func(ctx context.Context, driver db.Driver) error {
			return errorOf(driver.SetApplLockPolicy(ctx, db.SetApplLockPolicyParams{ObjectType: "t", TakeReasonFL: db.Yes, ActorID: "o", HistoryLevel: db.HistoryChanges, PresenceFL: db.Yes}))
		}, []driver.Value{"t", "Y", "o", "", "CHANGES", "Y"}},
		{"GetWithoutDepartment", "CALL applock.get_appl_lock_row(?, ?, ?, NULL, ?, NULL)", func(ctx context.Context, driver db.Driver) error {
			return errorOf(driver.GetApplLock(ctx, db.GetApplLockParams{ObjectType: "t", ObjectID: "i", OperatorID: "o", TTLSeconds: 1}))
		}, []driver.Value{"t", "i", "o", int64(1)}},
		{"GetWithoutTTL", "CALL applock.get_appl_lock_row(?, ?, ?, ?, NULL, NULL)", func(ctx context.Context, driver db.Driver) error {
			return errorOf(driver.GetApplLock(ctx, db.GetApplLockParams{ObjectType: "t", ObjectID: "i", OperatorID: "o", DepartmentID: "d"}))
		}, []driver.Value{"t", "i", "o", "d"}},
		{"TransferWithoutTTL", "CALL applock.transfer_appl_lock_row(?, ?, ?, ?, ?, NULL, NULL, NULL)", func(ctx context.Context, driver db.Driver) error {
			return errorOf(driver.TransferApplLock(ctx, db.TransferApplLockParams{ObjectType: "t", ObjectID: "i", FromOperatorID: "o", ToOperatorID: "p"}))
		}, []driver.Value{"t", "i", "o", "p", ""}},
		{"TakeOfAnyGrant", "CALL applock.take_appl_lock_row(?, ?, ?, ?, ?, NULL, NULL)", func(ctx context.Context, driver db.Driver) error {
			return errorOf(driver.TakeApplLock(ctx, db.TakeApplLockParams{ObjectType: "t", ObjectID: "i", OperatorID: "o", Reason: "r"}))
		}, []driver.Value{"t", "i", "o", "", "r"}},
		{"WholeInbox", "CALL applock.inbox_appl_locks(?, NULL, ?)", func(ctx context.Context, driver db.Driver) error {
			return errorOf(driver.InboxApplLocks(ctx, db.InboxApplLocksParams{OperatorID: "o", MaxRows: 5}))
		}, []driver.Value{"o", int64(5)}},
		{"Leave", "CALL applock.see_appl_lock(?, ?, ?, ?, ?, NULL, NULL)", func(ctx context.Context, driver db.Driver) error {
			return errorOf(driver.SeeApplLock(ctx, db.SeeApplLockParams{ObjectType: "t", ObjectID: "i", OperatorID: "o", ClientID: "c"}))
		}, []driver.Value{"t", "i", "o", "", "c"}},
		{"AskForEver", "CALL applock.ask_appl_lock_row(?, ?, ?, ?, ?, ?, NULL)", func(ctx context.Context, driver db.Driver) error {
			return errorOf(driver.AskApplLock(ctx, db.AskApplLockParams{ObjectType: "t", ObjectID: "i", OperatorID: "o", ClientID: "c"}))
		}, []driver.Value{"t", "i", "o", "", "c", ""}},
		{"AskNoMore", "CALL applock.ask_appl_lock_row(?, ?, ?, ?, ?, ?, ?)", func(ctx context.Context, driver db.Driver) error {
			return errorOf(driver.AskApplLock(ctx, db.AskApplLockParams{ObjectType: "t", ObjectID: "i", OperatorID: "o", ClientID: "c", WaitSeconds: new(int64)}))
		}, []driver.Value{"t", "i", "o", "", "c", "", int64(0)}},
		{"AnswerToAnyProgram", "CALL applock.answer_appl_lock_row(?, ?, ?, ?, ?, NULL, ?, ?)", func(ctx context.Context, driver db.Driver) error {
			return errorOf(driver.AnswerApplLock(ctx, db.AnswerApplLockParams{ObjectType: "t", ObjectID: "i", OperatorID: "o", Fence: 5, AskerID: "a", Answer: "NO"}))
		}, []driver.Value{"t", "i", "o", int64(5), "a", "NO", ""}},
		{"AwaitForEver", "CALL applock.announce_appl_lock_waiter_row(?, ?, ?, ?, ?, NULL)", func(ctx context.Context, driver db.Driver) error {
			return driver.AnnounceApplLockWaiter(ctx, db.AnnounceApplLockWaiterParams{ObjectType: "t", ObjectID: "i", OperatorID: "o", ClientID: "c"})
		}, []driver.Value{"t", "i", "o", "", "c"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			server, pool := newFake(t, onlyAnswer(fakeAnswer{columns: []string{"1"}}))
			if err := test.call(t.Context(), clients.Driver(testclient.DB2(t, pool))); err != nil {
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
			[]driver.Value{[]byte("N"), none, none, int64(0), nil, nil, nil, int64(0), none},
			db.InquireApplLockResult{OkFL: db.No},
		},
		"transfer_appl_lock": {
			[]driver.Value{[]byte("N"), []byte("FREE"), none, none, int64(0), nil, nil, int64(0)},
			db.Result{OkFL: db.No, Outcome: db.Free},
		},
		"take_appl_lock": {
			[]driver.Value{[]byte("N"), []byte("FREE"), none, none, int64(0), nil, nil, int64(0)},
			db.Result{OkFL: db.No, Outcome: db.Free},
		},
		"inbox_appl_locks": {nil, []db.Notice(nil)},
		"see_appl_lock":    {nil, []db.Presence(nil)},
		"get_appl_lock": {
			[]driver.Value{[]byte("N"), []byte("HELD"), []byte("KIM"), []byte("CS"), int64(0), moment("p_acquired_ts"), moment("p_expires_ts"), int64(60), []byte("why")},
			db.Result{
				OkFL: db.No, Outcome: db.Held, OldOperatorID: "KIM", OldDepartmentID: "CS",
				AcquiredTS: db.Moment{Time: moment("p_acquired_ts")}, ExpiresTS: db.Moment{Time: moment("p_expires_ts")}, SecondsLeft: 60, Note: "why",
			},
		},
		"release_appl_lock": {
			[]driver.Value{[]byte("Y"), []byte("FREE"), none, none},
			db.Result{OkFL: db.Yes, Outcome: db.Free},
		},
		"note_appl_lock": {
			[]driver.Value{[]byte("N"), []byte("FREE"), none, none},
			db.Result{OkFL: db.No, Outcome: db.Free},
		},
		"ask_appl_lock": {
			[]driver.Value{[]byte("N"), []byte("FREE"), none, none, int64(0), nil, nil, int64(0)},
			db.Result{OkFL: db.No, Outcome: db.Free},
		},
		"answer_appl_lock": {
			[]driver.Value{[]byte("N"), []byte("GONE"), none, none, nil, nil, int64(0)},
			db.Result{OkFL: db.No, Outcome: db.Gone},
		},
		"get_appl_lock_permit": {
			[]driver.Value{[]byte("FULL"), []byte("42#1"), []byte("KIM"), none, int64(7), moment("acquired_ts"), moment("expires_ts"), int64(60), []byte("why")},
			[]db.Permit{{
				Outcome: db.Full, SlotID: "42#1", OperatorID: "KIM", Fence: 7,
				AcquiredTS: db.Moment{Time: moment("acquired_ts")}, ExpiresTS: db.Moment{Time: moment("expires_ts")}, SecondsLeft: 60, Note: "why",
			}},
		},
		"transfer_appl_locks": {
			[]driver.Value{[]byte("customer"), []byte("42"), []byte("FREE"), none, none, int64(0), nil, int64(0)},
			[]db.ChangedLock{{ObjectType: "customer", ObjectID: "42", Outcome: db.Free}},
		},
		"release_appl_locks": {
			[]driver.Value{[]byte("customer"), []byte("42"), []byte("RELEASED"), none, none, int64(7), nil, int64(0)},
			[]db.ChangedLock{{ObjectType: "customer", ObjectID: "42", Outcome: db.Released, Fence: 7}},
		},
		"purge_appl_locks":        {[]driver.Value{int64(0)}, db.PurgeResult{}},
		"purge_appl_lock_history": {[]driver.Value{int64(0)}, db.PurgeResult{}},
		"renew_appl_locks": {
			[]driver.Value{[]byte("customer"), []byte("42"), []byte("FREE"), none, none, nil, nil, int64(0)},
			[]db.RenewedGrant{{ObjectType: "customer", ObjectID: "42", Outcome: db.Free}},
		},
		"poll_appl_locks": {nil, []db.AwaitedObject(nil)},
		"set_appl_lock_policy": {
			[]driver.Value{[]byte("Y"), []byte("SET")}, db.Result{OkFL: db.Yes, Outcome: db.Set},
		},
		"drop_appl_lock_policy": {
			[]driver.Value{[]byte("N"), []byte("NONE")}, db.Result{OkFL: db.No, Outcome: db.None},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answer := fakeAnswer{columns: make([]string, len(test.row)), rows: [][]driver.Value{test.row}}
			if test.row == nil {
				answer = fakeAnswer{columns: []string{"1"}}
			}
			_, pool := newFake(t, onlyAnswer(answer))
			at := slices.IndexFunc(db.Contract(), func(operation db.Operation) bool { return operation.Name == name })
			result, err := callOf(t, db.Contract()[at]).call(t.Context(), clients.Driver(testclient.DB2(t, pool)))
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
		outside := clients.Driver(testclient.DB2In(t, pool, "other_schema"))
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
		"WrongColumns": {columns: []string{"1", "2", "3", "4", "5", "6", "7", "8", "9", "10"}, rows: [][]driver.Value{make([]driver.Value, 10)}},
	}
	for name, answer := range answers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachOperation(t, func(t *testing.T, operation db.Operation, operationCall operationCall) {
				server, pool := newFake(t, onlyAnswer(answer))
				server.lenient = name == "WrongColumns"
				pool.SetMaxOpenConns(1)
				caller := clients.Driver(testclient.DB2(t, pool))
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
	caller := clients.Driver(testclient.DB2(t, pool))
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
	waiters, err := clients.Driver(testclient.DB2(t, pool)).ApplLockWaiting(t.Context(), db.ListedParams{})
	want := db.Waiter{ObjectType: "t", ObjectID: "i", OperatorID: "o", ClientID: "p", SinceTS: db.Moment{Time: moment("since_ts")}, WaitedSeconds: 3}
	if err != nil || len(waiters) != 1 || waiters[0] != want {
		t.Errorf("waiters %v, %v, want %v", waiters, err, want)
	}
}
