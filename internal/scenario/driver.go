package scenario

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/applock/applock/internal/db"
)

// driverCall calls an operation through the driver.
type driverCall func(ctx context.Context, driver db.Driver, args Args) (Answer, error)

// driverCalls has the operations that the façade does not export.
func driverCalls() map[string]driverCall {
	return map[string]driverCall{
		"renew":    renewThroughDriver,
		"announce": announceThroughDriver,
		"retract":  retractThroughDriver,
		"poll":     pollThroughDriver,
	}
}

// Driver calls the operations that the façade does not export. The arguments must be valid and trimmed, as the façade passes them.
func Driver(driver db.Driver) Executor {
	calls := driverCalls()
	return func(ctx context.Context, operation string, args Args) (Answer, error) {
		call, known := calls[operation]
		if !known {
			return Answer{}, fmt.Errorf("unknown operation %q", operation)
		}
		return call(ctx, driver, args)
	}
}

func renewThroughDriver(ctx context.Context, driver db.Driver, args Args) (Answer, error) {
	renewed, err := driver.RenewApplLocks(ctx, db.RenewApplLocksParams{Grants: grants(args)})
	return AnswerOrError(RenewAnswer(renewed), err)
}

func announceThroughDriver(ctx context.Context, driver db.Driver, args Args) (Answer, error) {
	return AnswerOrError(Answer{Words: []string{"ok"}}, driver.AnnounceApplLockWaiter(ctx, db.AnnounceApplLockWaiterParams{
		ObjectType:   args["object_type"],
		ObjectID:     args["object_id"],
		OperatorID:   args["operator_id"],
		DepartmentID: args["department_id"],
		ClientID:     args["client_id"],
		WaitSeconds:  number(args, "wait_seconds"),
	}))
}

func retractThroughDriver(ctx context.Context, driver db.Driver, args Args) (Answer, error) {
	return AnswerOrError(Answer{Words: []string{"ok"}}, driver.RetractApplLockWaiter(ctx, db.RetractApplLockWaiterParams{
		ObjectType: args["object_type"],
		ObjectID:   args["object_id"],
		OperatorID: args["operator_id"],
		ClientID:   args["client_id"],
	}))
}

func pollThroughDriver(ctx context.Context, driver db.Driver, args Args) (Answer, error) {
	rows := number(args, "max_rows")
	if rows == 0 {
		rows = 1000 // the procedure's default for NULL
	}
	awaited, err := driver.PollApplLocks(ctx, db.PollApplLocksParams{ClientID: args["client_id"], MaxRows: rows})
	return AnswerOrError(PollAnswer(awaited), err)
}

// nth returns the name of an argument or value of the nth grant, object or waiter: fence, fence_2, fence_3.
func nth(name string, n int) string {
	if n == 1 {
		return name
	}
	return name + "_" + strconv.Itoa(n)
}

// EachGrant returns the arguments of each grant of a renewal, by their names without numbers.
func EachGrant(args Args) []Args {
	var result []Args
	for n := 1; ; n++ {
		grant := Args{}
		for _, name := range []string{"object_type", "object_id", "operator_id", "fence", "ttl_seconds"} {
			if value, given := args[nth(name, n)]; given {
				grant[name] = value
			}
		}
		if len(grant) == 0 {
			return result
		}
		result = append(result, grant)
	}
}

func grants(args Args) []db.RenewableGrant {
	var result []db.RenewableGrant
	for _, grant := range EachGrant(args) {
		result = append(result, db.RenewableGrant{
			ObjectType: grant["object_type"],
			ObjectID:   grant["object_id"],
			OperatorID: grant["operator_id"],
			Fence:      number(grant, "fence"),
			TTLSeconds: number(grant, "ttl_seconds"),
		})
	}
	return result
}

// RenewAnswer has one word for each row: the grant's outcome.
func RenewAnswer(renewed []db.RenewedGrant) Answer {
	answer := Answer{Values: map[string]string{}}
	for i, row := range renewed {
		answer.Words = append(answer.Words, string(row.Outcome))
		answer.Values[nth("object", i+1)] = row.ObjectType + ":" + row.ObjectID
		answer.Values[nth("old_operator_id", i+1)] = row.OldOperatorID
		answer.Values[nth("old_department_id", i+1)] = row.OldDepartmentID
		answer.Values[nth("expires_ts", i+1)] = timestamp(row.ExpiresTS)
		answer.Values[nth("seconds_left", i+1)] = strconv.FormatInt(row.SecondsLeft, 10)
	}
	return orNone(answer)
}

// ChangesAnswer has one word for each row: the lock's outcome.
func ChangesAnswer(changes []db.ChangedLock) Answer {
	answer := Answer{Values: map[string]string{}}
	for i, row := range changes {
		answer.Words = append(answer.Words, string(row.Outcome))
		answer.Values[nth("object", i+1)] = row.ObjectType + ":" + row.ObjectID
		answer.Values[nth("old_operator_id", i+1)] = row.OldOperatorID
		answer.Values[nth("old_department_id", i+1)] = row.OldDepartmentID
		answer.Values[nth("fence", i+1)] = strconv.FormatInt(row.Fence, 10)
		answer.Values[nth("expires_ts", i+1)] = timestamp(row.ExpiresTS)
		answer.Values[nth("seconds_left", i+1)] = strconv.FormatInt(row.SecondsLeft, 10)
	}
	return orNone(answer)
}

// PermitAnswer has one word for each row: the outcome of the call, or FULL for each slot.
func PermitAnswer(permits []db.Permit) Answer {
	answer := Answer{Values: map[string]string{}}
	for i, row := range permits {
		answer.Words = append(answer.Words, string(row.Outcome))
		answer.Values[nth("slot_id", i+1)] = row.SlotID
		answer.Values[nth("operator_id", i+1)] = row.OperatorID
		answer.Values[nth("department_id", i+1)] = row.DepartmentID
		answer.Values[nth("fence", i+1)] = strconv.FormatInt(row.Fence, 10)
		answer.Values[nth("expires_ts", i+1)] = timestamp(row.ExpiresTS)
		answer.Values[nth("seconds_left", i+1)] = strconv.FormatInt(row.SecondsLeft, 10)
		answer.Values[nth("note", i+1)] = row.Note
	}
	return answer
}

// PollAnswer has one word for each row: the object.
func PollAnswer(awaited []db.AwaitedObject) Answer {
	answer := Answer{Values: map[string]string{}}
	for i, row := range awaited {
		answer.Words = append(answer.Words, row.ObjectType+":"+row.ObjectID)
		answer.Values[nth("free_in_us", i+1)] = strconv.FormatInt(row.FreeInUS, 10)
	}
	return orNone(answer)
}

// WaitersAnswer has one word for each row: the key.
func WaitersAnswer(waiters []db.Waiter) Answer {
	answer := Answer{Values: map[string]string{}}
	for i, row := range waiters {
		answer.Words = append(answer.Words, fmt.Sprintf("%s:%s/%s/%s", row.ObjectType, row.ObjectID, row.OperatorID, row.ClientID))
		answer.Values[nth("department_id", i+1)] = row.DepartmentID
		answer.Values[nth("until_ts", i+1)] = timestamp(row.UntilTS)
		answer.Values[nth("wait_seconds", i+1)] = secondsBetween(row.SinceTS, row.UntilTS)
		answer.Values[nth("waited_seconds", i+1)] = strconv.FormatInt(row.WaitedSeconds, 10)
		answer.Values[nth("holder_id", i+1)] = row.HolderID
		answer.Values[nth("holder_department_id", i+1)] = row.HolderDepartmentID
		answer.Values[nth("seconds_left", i+1)] = strconv.FormatInt(row.SecondsLeft, 10)
	}
	return orNone(answer)
}

// AskingAnswer has one word for each row: the key.
func AskingAnswer(askers []db.Asker) Answer {
	answer := Answer{Values: map[string]string{}}
	for i, row := range askers {
		answer.Words = append(answer.Words, fmt.Sprintf("%s:%s/%s/%s", row.ObjectType, row.ObjectID, row.OperatorID, row.ClientID))
		for name, value := range map[string]string{
			"department_id": row.DepartmentID, "message": row.Message,
			"until_ts": timestamp(row.UntilTS), "wait_seconds": secondsBetween(row.SinceTS, row.UntilTS),
			"waited_seconds": strconv.FormatInt(row.WaitedSeconds, 10),
			"answer":         row.Answer, "answer_reason": row.AnswerReason,
			"holder_id": row.HolderID, "holder_department_id": row.HolderDepartmentID,
			"seconds_left": strconv.FormatInt(row.SecondsLeft, 10),
		} {
			answer.Values[nth(name, i+1)] = value
		}
	}
	return orNone(answer)
}

// SeeAnswer has one word for each row: its kind, the operator and the program.
func SeeAnswer(present []db.Presence) Answer {
	answer := Answer{Values: map[string]string{}}
	for i, row := range present {
		answer.Words = append(answer.Words, fmt.Sprintf("%s/%s/%s", row.Kind, row.OperatorID, row.ClientID))
		answer.Values[nth("department_id", i+1)] = row.DepartmentID
		answer.Values[nth("state", i+1)] = string(row.State)
		answer.Values[nth("since_ts", i+1)] = timestamp(row.SinceTS)
		answer.Values[nth("seconds_left", i+1)] = strconv.FormatInt(row.SecondsLeft, 10)
		answer.Values[nth("message", i+1)] = row.Message
	}
	return orNone(answer)
}

// ViewersAnswer has one word for each row: the key.
func ViewersAnswer(viewers []db.Viewer) Answer {
	answer := Answer{Values: map[string]string{}}
	for i, row := range viewers {
		answer.Words = append(answer.Words, fmt.Sprintf("%s:%s/%s/%s", row.ObjectType, row.ObjectID, row.OperatorID, row.ClientID))
		answer.Values[nth("department_id", i+1)] = row.DepartmentID
		answer.Values[nth("state", i+1)] = string(row.State)
		answer.Values[nth("since_ts", i+1)] = timestamp(row.SinceTS)
		answer.Values[nth("seconds_left", i+1)] = strconv.FormatInt(row.SecondsLeft, 10)
	}
	return orNone(answer)
}

func orNone(answer Answer) Answer {
	if len(answer.Words) == 0 {
		answer.Words = []string{"none"}
	}
	return answer
}

// secondsBetween returns an empty text if there is no end.
func secondsBetween(from, until time.Time) string {
	if until.IsZero() {
		return ""
	}
	return strconv.FormatFloat(until.Sub(from).Round(time.Second).Seconds(), 'f', -1, 64)
}

// EventsAnswer has one word for each event: its kind, object and actor.
func EventsAnswer(events []db.Event) Answer {
	answer := Answer{Values: map[string]string{}}
	for i, row := range events {
		answer.Words = append(answer.Words, fmt.Sprintf("%s/%s:%s/%s", row.Event, row.ObjectType, row.ObjectID, row.ActorID))
		for name, value := range map[string]string{
			"event_id": strconv.FormatInt(row.EventID, 10), "event_ts": timestamp(row.EventTS),
			"from_operator_id": row.FromOperatorID, "from_department_id": row.FromDepartmentID,
			"to_operator_id": row.ToOperatorID, "to_department_id": row.ToDepartmentID,
			"from_fence": strconv.FormatInt(row.FromFence, 10), "to_fence": strconv.FormatInt(row.ToFence, 10),
			"reason": row.Reason,
		} {
			answer.Values[nth(name, i+1)] = value
		}
	}
	return orNone(answer)
}

// InboxAnswer has one word for each notice: its kind, object and the other operator.
func InboxAnswer(notices []db.Notice) Answer {
	answer := Answer{Values: map[string]string{}}
	for i, row := range notices {
		answer.Words = append(answer.Words, fmt.Sprintf("%s/%s:%s/%s", row.Kind, row.ObjectType, row.ObjectID, row.OtherOperatorID))
		answer.Values[nth("event_id", i+1)] = strconv.FormatInt(row.EventID, 10)
		answer.Values[nth("event_ts", i+1)] = timestamp(row.EventTS)
		answer.Values[nth("other_department_id", i+1)] = row.OtherDepartmentID
		answer.Values[nth("seconds_left", i+1)] = strconv.FormatInt(row.SecondsLeft, 10)
		answer.Values[nth("reason", i+1)] = row.Reason
		answer.Values[nth("safe_event_id", i+1)] = strconv.FormatInt(row.SafeEventID, 10)
		answer.Values[nth("message", i+1)] = row.Message
		answer.Values[nth("client_id", i+1)] = row.ClientID
		answer.Values[nth("fence", i+1)] = strconv.FormatInt(row.Fence, 10)
	}
	return orNone(answer)
}
