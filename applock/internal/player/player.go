// Package player plays the steps of scenarios through a client.
package player

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/clients"
	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/scenario"
)

func init() { //nolint:gochecknoinits // package clients says why
	clients.Player = func(client any) any { return Through(client.(*applock.Client)) }
}

// Through calls operations and reads views through a client, and through its driver for operations that it does not export. A procedure's
// NULL is a zero value there.
func Through(client *applock.Client) scenario.Executor {
	calls := calls(client)
	return func(ctx context.Context, word string, args scenario.Args) (scenario.Answer, error) {
		call, known := calls[word]
		if !known {
			return scenario.Answer{}, fmt.Errorf("unknown operation %q", word)
		}
		result, err := call(ctx, given(args))
		result, err = refusal(word, result, err)
		if err != nil {
			return failure(err)
		}
		objects, err := objectsOf(result)
		return scenario.ObjectsAnswer(word, objects), err
	}
}

// call returns what marshals to one object of docs/json.md, or to a list of them.
type call func(ctx context.Context, a given) (any, error)

// through makes the request of a method from the arguments.
func through[Request, Result any](method func(ctx context.Context, request Request) (Result, error)) call {
	return func(ctx context.Context, a given) (any, error) { return method(ctx, request[Request](a)) }
}

// list reads the results of a method to the end.
func list[Request, Result any](method func(ctx context.Context, request Request) iter.Seq2[Result, error]) call {
	return func(ctx context.Context, a given) (any, error) {
		var results []Result
		for result, err := range method(ctx, request[Request](a)) {
			if err != nil {
				return nil, err
			}
			results = append(results, result)
		}
		return results, nil
	}
}

// calls has the call of each word of a scenario.
func calls(client *applock.Client) map[string]call {
	driver := clients.Driver(client)
	return map[string]call{
		"get":       through(client.Get),
		"permit":    through(client.GetPermit),
		"transfer":  through(client.Transfer),
		"take":      through(client.Take),
		"transfers": through(client.TransferAll),
		"releases":  through(client.ReleaseAll),
		"answer":    through(client.Answer),
		"stats":     through(client.Stats),
		"list":      list(client.List),
		"waiters":   list(client.Waiters),
		"asking":    list(client.Asking),
		"viewers":   list(client.Viewers),
		"inquire": func(ctx context.Context, a given) (any, error) {
			return client.Inquire(ctx, request[applock.Object](a))
		},
		"policies": func(ctx context.Context, a given) (any, error) { return client.Policies(ctx, a["object_type"]) },
		"note": func(ctx context.Context, a given) (any, error) {
			return outcome(db.Noted), client.Note(ctx, request[applock.Key](a), a["note"])
		},
		"assert": func(ctx context.Context, a given) (any, error) {
			return nil, client.Assert(ctx, request[applock.Key](a))
		},
		"serialize": func(ctx context.Context, a given) (any, error) {
			return nil, client.Serialize(ctx, request[applock.Object](a))
		},
		"set": func(ctx context.Context, a given) (any, error) {
			return outcome(db.Set), client.SetPolicy(ctx, request[applock.SetPolicyRequest](a))
		},
		"drop": func(ctx context.Context, a given) (any, error) {
			return outcome(db.Dropped), client.DropPolicy(ctx, request[applock.DropPolicyRequest](a))
		},
		"release": func(ctx context.Context, a given) (any, error) {
			released, err := client.Release(ctx, request[applock.ReleaseRequest](a))
			return outcome(released), err
		},
		"purge":         oneBatch(client.Purge),
		"purge_history": oneBatch(client.PurgeHistory),
		"events":        firstEvents(client),
		"ask":           ask(client),
		"see":           see(client),
		"inbox":         inbox(client),
		"renew":         renew(driver),
		"poll":          poll(driver),
		"announce": func(ctx context.Context, a given) (any, error) {
			return nil, driver.AnnounceApplLockWaiter(ctx, db.AnnounceApplLockWaiterParams{
				ObjectType: a["object_type"], ObjectID: a["object_id"], OperatorID: a["operator_id"], DepartmentID: a["department_id"],
				ClientID: a["client_id"], WaitSeconds: number(a["wait_seconds"]),
			})
		},
		"retract": func(ctx context.Context, a given) (any, error) {
			return nil, driver.RetractApplLockWaiter(ctx, db.RetractApplLockWaiterParams{
				ObjectType: a["object_type"], ObjectID: a["object_id"], OperatorID: a["operator_id"], ClientID: a["client_id"],
			})
		},
	}
}

// oneBatch purges one batch only, as the procedure does.
func oneBatch(purge func(ctx context.Context, request applock.PurgeRequest) (int64, error)) call {
	return func(ctx context.Context, a given) (any, error) {
		once, cancel := context.WithCancel(ctx)
		defer cancel()
		batch := request[applock.PurgeRequest](a)
		batch.Progress = func(int64) { cancel() }
		purged, err := purge(once, batch)
		if ctx.Err() == nil && once.Err() != nil {
			err = nil
		}
		return map[string]any{"purged": purged}, err
	}
}

// firstEvents reads one page only.
func firstEvents(client *applock.Client) call {
	return func(ctx context.Context, a given) (any, error) {
		var events []applock.Event
		page := request[applock.HistoryRequest](a)
		for event, err := range client.History(ctx, page) {
			if err != nil {
				return nil, err
			}
			events = append(events, event)
			if len(events) == page.PageSize {
				break
			}
		}
		return events, nil
	}
}

func ask(client *applock.Client) call {
	return func(ctx context.Context, a given) (any, error) {
		asking := request[applock.AskRequest](a)
		asking.Withdraw = a["wait_seconds"] == "0"
		asked, err := client.Ask(ctx, asking)
		if asked.Outcome == applock.OutcomeGiven {
			return asked.Grant, err
		}
		return asked, err
	}
}

func see(client *applock.Client) call {
	return func(ctx context.Context, a given) (any, error) {
		seeing := request[applock.SeeRequest](a)
		if _, isGiven := a["state"]; !isGiven {
			seeing.State = applock.StateLeft
		}
		return client.See(ctx, seeing)
	}
}

func inbox(client *applock.Client) call {
	return func(ctx context.Context, a given) (any, error) {
		notices, next, err := client.Inbox(ctx, request[applock.InboxRequest](a))
		if err != nil {
			return nil, err
		}
		objects, err := objectsOf(notices)
		for _, object := range objects {
			object["next_position"] = string(next)
		}
		return objects, err
	}
}

// renew takes arguments that are valid and trimmed, as package applock passes them, like the other calls of the driver.
func renew(driver db.Driver) call {
	return func(ctx context.Context, a given) (any, error) {
		var grants []db.RenewableGrant
		for _, grant := range scenario.EachGrant(scenario.Args(a)) {
			grants = append(grants, db.RenewableGrant{
				ObjectType: grant["object_type"], ObjectID: grant["object_id"], OperatorID: grant["operator_id"],
				Fence: number(grant["fence"]), TTLSeconds: number(grant["ttl_seconds"]),
			})
		}
		renewed, err := driver.RenewApplLocks(ctx, db.RenewApplLocksParams{Grants: grants})
		var objects []map[string]any
		for _, row := range renewed {
			objects = append(objects, map[string]any{
				"object_type": row.ObjectType, "object_id": row.ObjectID, "outcome": row.Outcome, "holder_id": row.OldOperatorID,
				"holder_department_id": row.OldDepartmentID, "acquired_ts": row.AcquiredTS, "expires_ts": row.ExpiresTS, "seconds_left": row.SecondsLeft,
			})
		}
		return objects, err
	}
}

func poll(driver db.Driver) call {
	return func(ctx context.Context, a given) (any, error) {
		params := db.PollApplLocksParams{ClientID: a["client_id"], MaxRows: number(a["max_rows"])}
		if params.MaxRows == 0 {
			params.MaxRows = 1000 // the procedure's default for NULL
		}
		awaited, err := driver.PollApplLocks(ctx, params)
		var objects []map[string]any
		for _, row := range awaited {
			objects = append(objects, map[string]any{
				"object_type": row.ObjectType, "object_id": row.ObjectID, "free_in_us": row.FreeInUS, "first_fl": row.FirstFL,
			})
		}
		return objects, err
	}
}

// outcome is an answer of one word.
func outcome[Word ~string](word Word) any { return map[string]any{"outcome": word} }

// refusal returns the answer in an error that is one.
func refusal(word string, result any, err error) (any, error) {
	var full *applock.FullError
	var held *applock.HeldError
	switch {
	case errors.Is(err, applock.ErrLost):
		return nil, err
	case errors.As(err, &full):
		objects, err := objectsOf(full.Slots)
		for _, object := range objects {
			object["outcome"] = db.Full
		}
		return objects, err
	case errors.As(err, &held):
		objects, err := objectsOf(held)
		if word == "ask" {
			objects[0]["outcome"] = db.Own
		}
		return objects, err
	case errors.Is(err, applock.ErrNotHeld):
		return outcome(db.Free), nil
	case errors.Is(err, applock.ErrNotAsking):
		return outcome(db.Gone), nil
	case errors.Is(err, applock.ErrNoPolicy):
		return outcome(db.None), nil
	}
	return result, err
}

// failure returns the answer that an error is in the contract.
func failure(err error) (scenario.Answer, error) {
	var invalid *applock.InvalidError
	switch {
	case errors.As(err, &invalid):
		return scenario.Answer{Words: []string{"LK001", parameterOf(invalid.Argument)}}, nil
	case errors.Is(err, applock.ErrLost):
		return scenario.Answer{Words: []string{"LK002"}}, nil
	}
	return scenario.AnswerOrError(scenario.Answer{}, err)
}

// objectsOf marshals a result, and reads it as a list of objects.
func objectsOf(result any) (objects []map[string]any, err error) {
	text, err := json.Marshal(result)
	if err != nil {
		return nil, err
	}
	if bytes.HasPrefix(text, []byte("{")) {
		text = []byte("[" + string(text) + "]")
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	return objects, decoder.Decode(&objects)
}

// given are the arguments of a step.
type given scenario.Args

// request returns a request whose fields have the arguments of their parameters.
func request[Request any](a given) Request {
	var request Request
	a.fill(reflect.ValueOf(&request).Elem(), "")
	return request
}

func (a given) fill(fields reflect.Value, path string) {
	for i := range fields.NumField() {
		field, name := fields.Field(i), path+fields.Type().Field(i).Name
		value := a[parameterOf(name)]
		switch field.Kind() {
		case reflect.Struct:
			a.fill(field, strings.TrimPrefix(strings.TrimPrefix(name+".", "Key."), "Policy."))
		case reflect.String:
			field.SetString(value)
		case reflect.Int, reflect.Int64:
			field.SetInt(number(value))
			if field.Type() == reflect.TypeFor[time.Duration]() {
				field.SetInt(number(value) * int64(time.Second))
			}
		case reflect.Bool:
			yes := map[bool]string{false: "Y", true: "N"}[strings.Contains(name, "Without")]
			field.SetBool(value == yes)
		}
	}
}

// number returns zero for a missing argument.
func number(text string) int64 {
	value, _ := strconv.ParseInt(text, 10, 64)
	return value
}

// parameterOf returns the procedures' parameter for a field of a request, without "p_".
func parameterOf(field string) string {
	return map[string]string{
		"Object.Type": "object_type", "Type": "object_type", "ObjectType": "object_type",
		"Object.ID": "object_id", "ID": "object_id", "ObjectID": "object_id",
		"Owner.Operator": "operator_id", "Operator": "operator_id", "Owner.Department": "department_id", "Department": "department_id",
		"From": "from_operator_id", "To.Operator": "to_operator_id", "To.Department": "to_department_id",
		"Asker": "asker_id", "Client": "client_id", "Message": "message", "Wait": "wait_seconds", "Answer": "answer",
		"Fence": "fence", "ExpectedFence": "expected_fence", "Note": "note", "Permits": "permits", "Actor": "actor_id", "Reason": "reason",
		"TTL": "ttl_seconds", "DefaultTTL": "default_ttl_seconds", "LongestTTL": "longest_ttl_seconds", "YieldAfter": "yield_after_seconds",
		"HistoryLevel": "history_level", "State": "state", "Since": "since_seconds", "OlderThan": "older_than_seconds",
		"After": "after_event_id", "Position": "position", "After.Type": "after_type", "After.ID": "after_id",
		"ExpiresWithin": "expires_within_seconds", "Order": "order", "Batch": "max_rows", "PageSize": "max_rows", "Limit": "max_rows",
		"New": "new_fl", "DryRun": "dry_run_fl", "TakeWithoutReason": "take_reason_fl", "WithoutPresence": "presence_fl",
		"NewestFirst": "newest_first",
	}[field]
}
