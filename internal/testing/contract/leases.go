package contract

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/applock/applock/internal/db"
)

// Driver is the way of calling those operations that the façade keeps to itself. The arguments must be as the façade
// checks and trims them.
func Driver(driver db.Driver) Executor {
	return func(ctx context.Context, operation string, args Args) (Answer, error) {
		switch operation {
		case "renew":
			renewed, err := driver.RenewApplLocks(ctx, db.RenewApplLocksParams{Grants: grants(args)})
			return answerOrError(renewAnswer(renewed), err)
		case "announce":
			return answerOrError(Answer{Words: []string{"ok"}}, driver.AnnounceApplLockWaiter(ctx, db.AnnounceApplLockWaiterParams{
				ObjectType:   args["object_type"],
				ObjectID:     args["object_id"],
				OperatorID:   args["operator_id"],
				DepartmentID: args["department_id"],
				ClientID:     args["client_id"],
				WaitSeconds:  number(args, "wait_seconds"),
			}))
		case "retract":
			return answerOrError(Answer{Words: []string{"ok"}}, driver.RetractApplLockWaiter(ctx, db.RetractApplLockWaiterParams{
				ObjectType: args["object_type"],
				ObjectID:   args["object_id"],
				OperatorID: args["operator_id"],
				ClientID:   args["client_id"],
			}))
		case "poll":
			rows := number(args, "max_rows")
			if rows == 0 {
				rows = 1000 // what a procedure takes NULL for
			}
			awaited, err := driver.PollApplLocks(ctx, db.PollApplLocksParams{ClientID: args["client_id"], MaxRows: rows})
			return answerOrError(pollAnswer(awaited), err)
		}
		return Answer{}, fmt.Errorf("unknown operation %q", operation)
	}
}

// nth returns the name of an argument or a value of the nth grant, object or waiter: fence, fence_2, fence_3.
func nth(name string, n int) string {
	if n == 1 {
		return name
	}
	return name + "_" + strconv.Itoa(n)
}

// eachGrant returns the arguments of each grant of a renewal, by their names without numbers.
func eachGrant(args Args) []Args {
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
	for _, grant := range eachGrant(args) {
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

// withDocument adds the JSON that p_grants takes, unless a step brings its own. An argument that is missing is
// missing there, too.
func withDocument(args Args) Args {
	if _, given := args["grants"]; given || len(args) == 0 {
		return args
	}
	var document []map[string]any
	for _, grant := range eachGrant(args) {
		record := map[string]any{}
		for name, value := range grant {
			record[name] = value
			if name == "fence" || name == "ttl_seconds" {
				record[name] = numberOrText(value)
			}
		}
		document = append(document, record)
	}
	text, _ := json.Marshal(document) // texts and numbers can be marshalled
	return Args{"grants": string(text)}
}

// renewAnswer has one word for each row: what became of the grant.
func renewAnswer(renewed []db.RenewedGrant) Answer {
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

// pollAnswer has one word for each row, the object.
func pollAnswer(awaited []db.AwaitedObject) Answer {
	answer := Answer{Values: map[string]string{}}
	for i, row := range awaited {
		answer.Words = append(answer.Words, row.ObjectType+":"+row.ObjectID)
		answer.Values[nth("free_in_us", i+1)] = strconv.FormatInt(row.FreeInUS, 10)
	}
	return orNone(answer)
}

// waitersAnswer has one word for each row, the key.
func waitersAnswer(waiters []db.Waiter) Answer {
	answer := Answer{Values: map[string]string{}}
	for i, row := range waiters {
		answer.Words = append(answer.Words, fmt.Sprintf("%s:%s/%s/%s", row.ObjectType, row.ObjectID, row.OperatorID, row.ClientID))
		answer.Values[nth("department_id", i+1)] = row.DepartmentID
		answer.Values[nth("until_ts", i+1)] = timestamp(row.UntilTS)
		answer.Values[nth("wait_seconds", i+1)] = secondsBetween(row.SinceTS, row.UntilTS)
		answer.Values[nth("listed_seconds", i+1)] = secondsBetween(row.SinceTS, row.ExpiresTS)
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

// secondsBetween is empty without an end.
func secondsBetween(from, until time.Time) string {
	if until.IsZero() {
		return ""
	}
	return strconv.FormatFloat(until.Sub(from).Round(time.Second).Seconds(), 'f', -1, 64)
}

func eachRow[T any](rows []map[string]any, convert func(row map[string]any) T) []T {
	var result []T
	for _, row := range rows {
		result = append(result, convert(row))
	}
	return result
}

func renewedGrant(row map[string]any) db.RenewedGrant {
	return db.RenewedGrant{
		ObjectType:      text(row["object_type"]),
		ObjectID:        text(row["object_id"]),
		Outcome:         db.Outcome(text(row["outcome"])),
		OldOperatorID:   text(row["old_operator_id"]),
		OldDepartmentID: text(row["old_department_id"]),
		ExpiresTS:       instant(row["expires_ts"]),
		SecondsLeft:     whole(row["seconds_left"]),
	}
}

func awaitedObject(row map[string]any) db.AwaitedObject {
	return db.AwaitedObject{
		ObjectType: text(row["object_type"]),
		ObjectID:   text(row["object_id"]),
		FreeInUS:   whole(row["free_in_us"]),
	}
}

func waiter(row map[string]any) db.Waiter {
	return db.Waiter{
		ObjectType:   text(row["object_type"]),
		ObjectID:     text(row["object_id"]),
		OperatorID:   text(row["operator_id"]),
		DepartmentID: text(row["department_id"]),
		ClientID:     text(row["client_id"]),
		SinceTS:      instant(row["since_ts"]),
		UntilTS:      instant(row["until_ts"]),
		ExpiresTS:    instant(row["expires_ts"]),
		SecondsLeft:  whole(row["seconds_left"]),
	}
}

// whole is -1, which no step asks for, for what is no whole number.
func whole(value any) int64 {
	number, err := strconv.ParseInt(text(value), 10, 64)
	if err != nil {
		return -1
	}
	return number
}

// instant is zero for NULL.
func instant(value any) time.Time {
	result, _ := value.(time.Time)
	return result
}
