package scenario

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/db"
)

// facadeCall calls an operation, or reads a view, through package applock.
type facadeCall func(ctx context.Context, client *applock.Client, args Args) (Answer, error)

// facadeCalls has a call for each word of a scenario.
func facadeCalls() map[string]facadeCall {
	return map[string]facadeCall{
		"get":           getThroughFacade,
		"permit":        permitThroughFacade,
		"release":       releaseThroughFacade,
		"inquire":       inquireThroughFacade,
		"transfer":      transferThroughFacade,
		"take":          takeThroughFacade,
		"transfers":     transferAllThroughFacade,
		"releases":      releaseAllThroughFacade,
		"note":          noteThroughFacade,
		"list":          listThroughFacade,
		"purge_history": purgeHistoryThroughFacade,
		"purge":         purgeThroughFacade,
		"assert":        assertThroughFacade,
		"serialize":     serializeThroughFacade,
		"waiters":       waitersThroughFacade,
		"stats":         statsThroughFacade,
		"events":        eventsThroughFacade,
		"inbox":         inboxThroughFacade,
		"see":           seeThroughFacade,
		"viewers":       viewersThroughFacade,
		"ask":           askThroughFacade,
		"answer":        answerThroughFacade,
		"asking":        askingThroughFacade,
		"set":           setThroughFacade,
		"drop":          dropThroughFacade,
		"policies":      policiesThroughFacade,
		"announce":      notOffered,
		"retract":       notOffered,
		"poll":          notOffered,
		"renew":         notOffered,
	}
}

// Facade calls operations through package applock. A procedure's NULL is a zero value there.
func Facade(client *applock.Client) Executor {
	calls := facadeCalls()
	return func(ctx context.Context, operation string, args Args) (Answer, error) {
		call, known := calls[operation]
		if !known {
			return Answer{}, fmt.Errorf("unknown operation %q", operation)
		}
		return call(ctx, client, args)
	}
}

func notOffered(context.Context, *applock.Client, Args) (Answer, error) {
	return Answer{}, ErrNotOffered
}

func assertThroughFacade(ctx context.Context, client *applock.Client, args Args) (Answer, error) {
	err := client.Assert(ctx, applock.Key{
		Object:   object(args),
		Operator: args["operator_id"],
		Fence:    applock.Fence(number(args, "fence")),
	})
	return AnswerOrError(Answer{Words: []string{"ok"}}, err)
}

func serializeThroughFacade(ctx context.Context, client *applock.Client, args Args) (Answer, error) {
	return AnswerOrError(Answer{Words: []string{"ok"}}, client.Serialize(ctx, object(args)))
}

func getThroughFacade(ctx context.Context, client *applock.Client, args Args) (Answer, error) {
	grant, err := client.Get(ctx, applock.GetRequest{
		Object: object(args),
		Owner:  applock.Owner{Operator: args["operator_id"], Department: args["department_id"]},
		TTL:    seconds(args, "ttl_seconds"),
		New:    args["new_fl"] == "Y",
	})
	if answer, held := heldAnswer(err); held {
		return answer, nil
	}
	return AnswerOrError(grantAnswer(grant), err)
}

func permitThroughFacade(ctx context.Context, client *applock.Client, args Args) (Answer, error) {
	permit, err := client.GetPermit(ctx, applock.GetPermitRequest{
		Object:  object(args),
		Permits: int(number(args, "permits")),
		Owner:   applock.Owner{Operator: args["operator_id"], Department: args["department_id"]},
		TTL:     seconds(args, "ttl_seconds"),
	})
	var full *applock.FullError
	if errors.As(err, &full) {
		var rows []db.Permit
		for _, slot := range full.Slots {
			rows = append(rows, permitOf(db.Full, slot.Object, slot.Holder))
		}
		return PermitAnswer(rows), nil
	}
	return AnswerOrError(PermitAnswer([]db.Permit{permitOf(db.Outcome(permit.Outcome), permit.Object, applock.Holder{
		Owner: permit.Owner, Fence: permit.Fence, ExpiresAt: permit.ExpiresAt, Left: permit.Left, Note: permit.Note,
	})}), err)
}

func permitOf(outcome db.Outcome, slot applock.Object, holder applock.Holder) db.Permit {
	return db.Permit{
		Outcome:      outcome,
		SlotID:       slot.ID,
		OperatorID:   holder.Owner.Operator,
		DepartmentID: holder.Owner.Department,
		Fence:        int64(holder.Fence),
		ExpiresTS:    holder.ExpiresAt,
		SecondsLeft:  wholeSeconds(holder.Left),
		Note:         holder.Note,
	}
}

func transferThroughFacade(ctx context.Context, client *applock.Client, args Args) (Answer, error) {
	grant, err := client.Transfer(ctx, applock.TransferRequest{
		Object: object(args),
		From:   args["from_operator_id"],
		To:     applock.Owner{Operator: args["to_operator_id"], Department: args["to_department_id"]},
		TTL:    seconds(args, "ttl_seconds"),
		Actor:  args["actor_id"],
		Reason: args["reason"],
	})
	if answer, held := heldAnswer(err); held {
		return answer, nil
	}
	if errors.Is(err, applock.ErrNotHeld) {
		return yesOrNo(db.No, db.Free, "", "", 0, end{}), nil
	}
	return AnswerOrError(grantAnswer(grant), err)
}

func takeThroughFacade(ctx context.Context, client *applock.Client, args Args) (Answer, error) {
	taken, err := client.Take(ctx, applock.TakeRequest{
		Object:        object(args),
		Owner:         applock.Owner{Operator: args["operator_id"], Department: args["department_id"]},
		Reason:        args["reason"],
		ExpectedFence: applock.Fence(number(args, "expected_fence")),
		TTL:           seconds(args, "ttl_seconds"),
	})
	if answer, held := heldAnswer(err); held {
		return answer, nil
	}
	if errors.Is(err, applock.ErrNotHeld) {
		return yesOrNo(db.No, db.Free, "", "", 0, end{}), nil
	}
	return AnswerOrError(yesOrNo(db.Yes, db.Outcome(taken.Outcome), taken.From.Operator, taken.From.Department, int64(taken.Fence),
		end{at: taken.ExpiresAt, left: taken.Left}), err)
}

func transferAllThroughFacade(ctx context.Context, client *applock.Client, args Args) (Answer, error) {
	return changesAnswer(client.TransferAll(ctx, applock.TransferAllRequest{
		From:       args["from_operator_id"],
		ObjectType: args["object_type"],
		To:         applock.Owner{Operator: args["to_operator_id"], Department: args["to_department_id"]},
		TTL:        seconds(args, "ttl_seconds"),
		Actor:      args["actor_id"],
		Reason:     args["reason"],
		DryRun:     args["dry_run_fl"] == "Y",
		After:      applock.Object{Type: args["after_type"], ID: args["after_id"]},
		Limit:      max(int(number(args, "max_rows")), 0),
		PageSize:   int(number(args, "max_rows")),
	}))
}

func releaseAllThroughFacade(ctx context.Context, client *applock.Client, args Args) (Answer, error) {
	return changesAnswer(client.ReleaseAll(ctx, applock.ReleaseAllRequest{
		Operator:   args["operator_id"],
		ObjectType: args["object_type"],
		Actor:      args["actor_id"],
		Reason:     args["reason"],
		DryRun:     args["dry_run_fl"] == "Y",
		After:      applock.Object{Type: args["after_type"], ID: args["after_id"]},
		Limit:      max(int(number(args, "max_rows")), 0),
		PageSize:   int(number(args, "max_rows")),
	}))
}

func changesAnswer(changes []applock.LockChange, err error) (Answer, error) {
	if err != nil {
		return AnswerOrError(Answer{}, err)
	}
	var rows []db.ChangedLock
	for _, change := range changes {
		row := db.ChangedLock{
			ObjectType:  change.Object.Type,
			ObjectID:    change.Object.ID,
			Outcome:     db.Outcome(change.Outcome),
			Fence:       int64(change.Fence),
			ExpiresTS:   change.ExpiresAt,
			SecondsLeft: wholeSeconds(change.Left),
		}
		if row.Outcome == db.Held {
			row.OldOperatorID, row.OldDepartmentID = change.Owner.Operator, change.Owner.Department
		}
		rows = append(rows, row)
	}
	return ChangesAnswer(rows), nil
}

func releaseThroughFacade(ctx context.Context, client *applock.Client, args Args) (Answer, error) {
	outcome, err := client.Release(ctx, applock.ReleaseRequest{Key: applock.Key{Object: object(args), Operator: args["operator_id"], Fence: applock.Fence(number(args, "fence"))}, Actor: args["actor_id"], Reason: args["reason"]})
	if answer, held := heldAnswer(err); held {
		return answer, nil
	}
	return AnswerOrError(yesOrNo(db.Yes, db.Outcome(outcome), "", "", 0, end{}), err)
}

func noteThroughFacade(ctx context.Context, client *applock.Client, args Args) (Answer, error) {
	err := client.Note(ctx, applock.Key{Object: object(args), Operator: args["operator_id"], Fence: applock.Fence(number(args, "fence"))}, args["note"])
	if answer, held := heldAnswer(err); held {
		return answer, nil
	}
	if errors.Is(err, applock.ErrNotHeld) {
		return yesOrNo(db.No, db.Free, "", "", 0, end{}), nil
	}
	return AnswerOrError(yesOrNo(db.Yes, db.Noted, "", "", 0, end{}), err)
}

func inquireThroughFacade(ctx context.Context, client *applock.Client, args Args) (Answer, error) {
	lock, err := client.Inquire(ctx, object(args))
	if errors.Is(err, applock.ErrNotHeld) {
		return InquireAnswer(db.InquireApplLockResult{OkFL: db.No}), nil
	}
	return AnswerOrError(InquireAnswer(db.InquireApplLockResult{OkFL: db.Yes, Lock: db.Lock{
		OperatorID:   lock.Owner.Operator,
		DepartmentID: lock.Owner.Department,
		Fence:        int64(lock.Fence),
		AcquiredTS:   lock.AcquiredAt,
		LockTS:       lock.LockedAt,
		ExpiresTS:    lock.ExpiresAt,
		SecondsLeft:  wholeSeconds(lock.Left),
		Note:         lock.Note,
	}}), err)
}

func listThroughFacade(ctx context.Context, client *applock.Client, args Args) (Answer, error) {
	var rows []map[string]any
	request := applock.ListRequest{
		ObjectType: args["object_type"],
		Operator:   args["operator_id"],
		Department: args["department_id"],
		PageSize:   int(number(args, "max_rows")),

		OlderThan:     seconds(args, "older_than_seconds"),
		ExpiresWithin: seconds(args, "expires_within_seconds"),
		Order:         applock.ListOrder(args["order"]),
	}
	for lock, err := range client.List(ctx, request) {
		if err != nil {
			return AnswerOrError(Answer{}, err)
		}
		rows = append(rows, map[string]any{
			"object_type": lock.Object.Type, "object_id": lock.Object.ID, "seconds_left": wholeSeconds(lock.Left), "note": lock.Note,
			"ttl_seconds": wholeSeconds(lock.TTL),
		})
	}
	return ListAnswer(rows), nil
}

func waitersThroughFacade(ctx context.Context, client *applock.Client, args Args) (Answer, error) {
	var waiters []db.Waiter
	request := applock.WaitersRequest{
		ObjectType: args["object_type"],
		ObjectID:   args["object_id"],
		Operator:   args["operator_id"],
		Department: args["department_id"],
		PageSize:   int(number(args, "max_rows")),
	}
	for waiter, err := range client.Waiters(ctx, request) {
		if err != nil {
			return AnswerOrError(Answer{}, err)
		}
		waiters = append(waiters, db.Waiter{
			ObjectType:   waiter.Object.Type,
			ObjectID:     waiter.Object.ID,
			OperatorID:   waiter.Owner.Operator,
			DepartmentID: waiter.Owner.Department,
			ClientID:     waiter.Client,
			SinceTS:      waiter.Since,
			UntilTS:      waiter.Until,

			WaitedSeconds:      wholeSeconds(waiter.Waited),
			HolderID:           waiter.Holder.Owner.Operator,
			HolderDepartmentID: waiter.Holder.Owner.Department,
			SecondsLeft:        wholeSeconds(waiter.Holder.Left),
		})
	}
	return WaitersAnswer(waiters), nil
}

func askThroughFacade(ctx context.Context, client *applock.Client, args Args) (Answer, error) {
	asked, err := client.Ask(ctx, applock.AskRequest{
		Object:   object(args),
		Owner:    applock.Owner{Operator: args["operator_id"], Department: args["department_id"]},
		Client:   args["client_id"],
		Message:  args["message"],
		Wait:     seconds(args, "wait_seconds"),
		Withdraw: args["wait_seconds"] == "0",
	})
	var held *applock.HeldError
	switch {
	case errors.As(err, &held): // the asker is the holder
		return yesOrNo(db.No, db.Own, "", "", 0, end{at: held.Holder.ExpiresAt, left: held.Holder.Left}), nil
	case errors.Is(err, applock.ErrNotHeld):
		return yesOrNo(db.No, db.Free, "", "", 0, end{}), nil
	}
	return AnswerOrError(yesOrNo(db.Yes, db.Outcome(asked.Outcome), asked.Holder.Owner.Operator, asked.Holder.Owner.Department,
		int64(asked.Grant.Fence), end{at: latest(asked.Holder.ExpiresAt, asked.Grant.ExpiresAt), left: asked.Holder.Left + asked.Grant.Left}), err)
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func answerThroughFacade(ctx context.Context, client *applock.Client, args Args) (Answer, error) {
	answered, err := client.Answer(ctx, applock.AnswerRequest{
		Key:    applock.Key{Object: object(args), Operator: args["operator_id"], Fence: applock.Fence(number(args, "fence"))},
		Asker:  args["asker_id"],
		Client: args["client_id"],
		Answer: applock.AskAnswer(args["answer"]),
		Reason: args["reason"],
	})
	if answer, held := heldAnswer(err); held {
		return answer, nil
	}
	switch {
	case errors.Is(err, applock.ErrNotHeld):
		return yesOrNo(db.No, db.Free, "", "", 0, end{}), nil
	case errors.Is(err, applock.ErrNotAsking):
		return yesOrNo(db.No, db.Gone, "", "", 0, end{}), nil
	}
	return AnswerOrError(yesOrNo(db.Yes, db.Outcome(answered.Outcome), "", "", 0, end{at: answered.ExpiresAt, left: answered.Left}), err)
}

func askingThroughFacade(ctx context.Context, client *applock.Client, args Args) (Answer, error) {
	var askers []db.Asker
	request := applock.AskingRequest{
		ObjectType: args["object_type"],
		ObjectID:   args["object_id"],
		Operator:   args["operator_id"],
		Department: args["department_id"],
		PageSize:   int(number(args, "max_rows")),
	}
	for asker, err := range client.Asking(ctx, request) {
		if err != nil {
			return AnswerOrError(Answer{}, err)
		}
		askers = append(askers, db.Asker{
			ObjectType:   asker.Object.Type,
			ObjectID:     asker.Object.ID,
			OperatorID:   asker.Owner.Operator,
			DepartmentID: asker.Owner.Department,
			ClientID:     asker.Client,
			Message:      asker.Message,
			SinceTS:      asker.Since,
			UntilTS:      asker.Until,
			Answer:       string(asker.Answer),
			AnswerReason: asker.AnswerReason,

			WaitedSeconds:      wholeSeconds(asker.Waited),
			HolderID:           asker.Holder.Owner.Operator,
			HolderDepartmentID: asker.Holder.Owner.Department,
			SecondsLeft:        wholeSeconds(asker.Holder.Left),
		})
	}
	return AskingAnswer(askers), nil
}

func statsThroughFacade(ctx context.Context, client *applock.Client, args Args) (Answer, error) {
	stats, err := client.Stats(ctx, applock.StatsRequest{ObjectType: args["object_type"], Department: args["department_id"]})
	var rows []map[string]any
	for _, of := range stats {
		rows = append(rows, map[string]any{
			"object_type": of.ObjectType, "department_id": of.Department, "live": of.Live, "expired": of.Expired,
			"oldest_seconds": wholeSeconds(of.Oldest), "next_expiry_seconds": wholeSeconds(of.NextExpiry),
			"waiters": of.Waiters, "longest_wait_seconds": wholeSeconds(of.LongestWait),
		})
	}
	return AnswerOrError(StatsAnswer(rows), err)
}

func eventsThroughFacade(ctx context.Context, client *applock.Client, args Args) (Answer, error) {
	var events []db.Event
	request := applock.HistoryRequest{
		ObjectType: args["object_type"],
		ObjectID:   args["object_id"],
		Operator:   args["operator_id"],
		Since:      seconds(args, "since_seconds"),
		After:      number(args, "after_event_id"),
		PageSize:   int(number(args, "max_rows")),

		NewestFirst: args["newest_first"] == "Y",
	}
	for event, err := range client.History(ctx, request) {
		if err != nil {
			return AnswerOrError(Answer{}, err)
		}
		if request.PageSize > 0 && len(events) == request.PageSize {
			break // the façade would read the next page
		}
		events = append(events, db.Event{
			EventID:          event.ID,
			EventTS:          event.At,
			ObjectType:       event.Object.Type,
			ObjectID:         event.Object.ID,
			Event:            db.EventKind(event.Kind),
			ActorID:          event.Actor,
			DBUser:           event.User,
			Program:          event.Program,
			FromOperatorID:   event.From.Operator,
			FromDepartmentID: event.From.Department,
			ToOperatorID:     event.To.Operator,
			ToDepartmentID:   event.To.Department,
			FromFence:        int64(event.FromFence),
			ToFence:          int64(event.ToFence),
			Reason:           event.Reason,
		})
	}
	return EventsAnswer(events), nil
}

func inboxThroughFacade(ctx context.Context, client *applock.Client, args Args) (Answer, error) {
	notices, next, err := client.Inbox(ctx, applock.InboxRequest{
		Operator: args["operator_id"],
		Position: applock.InboxPosition{After: number(args, "after_event_id")},
		PageSize: int(number(args, "max_rows")),
	})
	var rows []db.Notice
	for _, notice := range notices {
		rows = append(rows, db.Notice{
			Kind:              db.NoticeKind(notice.Kind),
			EventID:           notice.Event,
			ObjectType:        notice.Object.Type,
			ObjectID:          notice.Object.ID,
			OtherOperatorID:   notice.Other.Operator,
			OtherDepartmentID: notice.Other.Department,
			EventTS:           notice.At,
			SecondsLeft:       wholeSeconds(notice.Left),
			Reason:            notice.Reason,
			SafeEventID:       next.After,
			Message:           notice.Message,
			ClientID:          notice.Client,
			Fence:             int64(notice.Fence),
		})
	}
	return AnswerOrError(InboxAnswer(rows), err)
}

func seeThroughFacade(ctx context.Context, client *applock.Client, args Args) (Answer, error) {
	state, given := args["state"]
	if !given {
		state = string(applock.StateLeft)
	}
	present, err := client.See(ctx, applock.SeeRequest{
		Object: object(args),
		Owner:  applock.Owner{Operator: args["operator_id"], Department: args["department_id"]},
		Client: args["client_id"],
		State:  applock.PresenceState(state),
		TTL:    seconds(args, "ttl_seconds"),
	})
	var rows []db.Presence
	for _, one := range present {
		rows = append(rows, db.Presence{
			Kind:         db.PresenceKind(one.Kind),
			OperatorID:   one.Owner.Operator,
			DepartmentID: one.Owner.Department,
			ClientID:     one.Client,
			State:        db.PresenceState(one.State),
			SinceTS:      one.Since,
			SecondsLeft:  wholeSeconds(one.Left),
			Message:      one.Message,
		})
	}
	return AnswerOrError(SeeAnswer(rows), err)
}

func viewersThroughFacade(ctx context.Context, client *applock.Client, args Args) (Answer, error) {
	var viewers []db.Viewer
	request := applock.ViewersRequest{
		ObjectType: args["object_type"],
		ObjectID:   args["object_id"],
		Operator:   args["operator_id"],
		Department: args["department_id"],
		PageSize:   int(number(args, "max_rows")),
	}
	for viewer, err := range client.Viewers(ctx, request) {
		if err != nil {
			return AnswerOrError(Answer{}, err)
		}
		viewers = append(viewers, db.Viewer{
			ObjectType:   viewer.Object.Type,
			ObjectID:     viewer.Object.ID,
			OperatorID:   viewer.Owner.Operator,
			DepartmentID: viewer.Owner.Department,
			ClientID:     viewer.Client,
			State:        db.PresenceState(viewer.State),
			SinceTS:      viewer.Since,
			SecondsLeft:  wholeSeconds(viewer.Left),
		})
	}
	return ViewersAnswer(viewers), nil
}

func setThroughFacade(ctx context.Context, client *applock.Client, args Args) (Answer, error) {
	err := client.SetPolicy(ctx, applock.SetPolicyRequest{
		Policy: applock.Policy{
			Type:              args["object_type"],
			DefaultTTL:        seconds(args, "default_ttl_seconds"),
			LongestTTL:        seconds(args, "longest_ttl_seconds"),
			TakeWithoutReason: args["take_reason_fl"] == "N",
			HistoryLevel:      applock.HistoryLevel(args["history_level"]),
			WithoutPresence:   args["presence_fl"] == "N",
			YieldAfter:        seconds(args, "yield_after_seconds"),
		},
		Actor:  args["actor_id"],
		Reason: args["reason"],
	})
	return AnswerOrError(Answer{Words: []string{string(db.Yes), string(db.Set)}}, err)
}

func dropThroughFacade(ctx context.Context, client *applock.Client, args Args) (Answer, error) {
	err := client.DropPolicy(ctx, applock.DropPolicyRequest{Type: args["object_type"], Actor: args["actor_id"], Reason: args["reason"]})
	if errors.Is(err, applock.ErrNoPolicy) {
		return Answer{Words: []string{string(db.No), string(db.None)}}, nil
	}
	return AnswerOrError(Answer{Words: []string{string(db.Yes), string(db.Dropped)}}, err)
}

func policiesThroughFacade(ctx context.Context, client *applock.Client, args Args) (Answer, error) {
	policies, err := client.Policies(ctx, args["object_type"])
	var rows []map[string]any
	for _, policy := range policies {
		flag := db.Yes
		if policy.TakeWithoutReason {
			flag = db.No
		}
		presence := db.Yes
		if policy.WithoutPresence {
			presence = db.No
		}
		rows = append(rows, map[string]any{
			"object_type": policy.Type, "default_ttl_seconds": orNull(policy.DefaultTTL),
			"longest_ttl_seconds": orNull(policy.LongestTTL), "take_reason_fl": string(flag),
			"history_level": string(policy.HistoryLevel), "presence_fl": string(presence), "yield_after_seconds": orNull(policy.YieldAfter),
		})
	}
	return AnswerOrError(PoliciesAnswer(rows), err)
}

func purgeThroughFacade(ctx context.Context, client *applock.Client, args Args) (Answer, error) {
	purged, err := client.Purge(ctx, applock.PurgeRequest{
		OlderThan: seconds(args, "older_than_seconds"),
		Batch:     int(number(args, "max_rows")),
	})
	return AnswerOrError(Answer{Words: []string{strconv.FormatInt(purged, 10)}}, err)
}

// orNull returns whole seconds, nil for zero.
func orNull(duration time.Duration) any {
	if duration == 0 {
		return nil
	}
	return wholeSeconds(duration)
}

func purgeHistoryThroughFacade(ctx context.Context, client *applock.Client, args Args) (Answer, error) {
	once, cancel := context.WithCancel(ctx)
	defer cancel()
	purged, err := client.PurgeHistory(once, applock.PurgeRequest{
		OlderThan: seconds(args, "older_than_seconds"),
		Batch:     int(number(args, "max_rows")),
		Progress:  func(int64) { cancel() }, // one batch only, as the procedure does
	})
	if ctx.Err() == nil && once.Err() != nil {
		err = nil
	}
	return AnswerOrError(Answer{Words: []string{strconv.FormatInt(purged, 10)}}, err)
}

// ListAnswer has one word for each row of appl_lock_live: the object.
func ListAnswer(rows []map[string]any) Answer {
	answer := Answer{Values: map[string]string{}}
	for i, row := range rows {
		answer.Words = append(answer.Words, fmt.Sprintf("%s:%s", row["object_type"], row["object_id"]))
		answer.Values[nth("seconds_left", i+1)] = Text(row["seconds_left"])
		answer.Values[nth("note", i+1)] = Text(row["note"])
		answer.Values[nth("ttl_seconds", i+1)] = Text(row["ttl_seconds"])
	}
	return orNone(answer)
}

// StatsAnswer has one word for each row of appl_lock_stats: type and department.
func StatsAnswer(rows []map[string]any) Answer {
	answer := Answer{Values: map[string]string{}}
	for i, row := range rows {
		answer.Words = append(answer.Words, fmt.Sprintf("%s/%s", row["object_type"], row["department_id"]))
		for _, name := range []string{"live", "expired", "oldest_seconds", "next_expiry_seconds", "waiters", "longest_wait_seconds"} {
			answer.Values[nth(name, i+1)] = Text(row[name])
		}
	}
	return orNone(answer)
}

// PoliciesAnswer has one word for each row of appl_lock_policies: the type and its policy.
func PoliciesAnswer(rows []map[string]any) Answer {
	answer := Answer{Values: map[string]string{}}
	for i, row := range rows {
		answer.Values[nth("presence_fl", i+1)] = Text(row["presence_fl"])
		answer.Values[nth("yield_after_seconds", i+1)] = Text(row["yield_after_seconds"])
		answer.Words = append(answer.Words, fmt.Sprintf("%s/%s/%s/%s/%s", row["object_type"],
			Text(row["default_ttl_seconds"]), Text(row["longest_ttl_seconds"]), row["take_reason_fl"], row["history_level"]))
	}
	return orNone(answer)
}

// InquireAnswer converts the result of an inquiry.
func InquireAnswer(result db.InquireApplLockResult) Answer {
	lock := result.Lock
	return Answer{
		Words: []string{string(result.OkFL)},
		Values: map[string]string{
			"operator_id":   lock.OperatorID,
			"department_id": lock.DepartmentID,
			"fence":         strconv.FormatInt(lock.Fence, 10),
			"acquired_ts":   timestamp(lock.AcquiredTS),
			"lock_ts":       timestamp(lock.LockTS),
			"expires_ts":    timestamp(lock.ExpiresTS),
			"seconds_left":  strconv.FormatInt(lock.SecondsLeft, 10),
			"note":          lock.Note,
			"ttl_seconds":   strconv.FormatFloat(lock.ExpiresTS.Sub(lock.LockTS).Round(time.Second).Seconds(), 'f', -1, 64),
		},
	}
}

// end is the end of a lock, the time left at the answer, and the lock's note.
type end struct {
	at   time.Time
	left time.Duration
	note string
}

// yesOrNo is the answer of get, release, transfer and note.
func yesOrNo(flag db.Flag, outcome db.Outcome, operator, department string, fence int64, ends end) Answer {
	return Answer{
		Words: []string{string(flag), string(outcome)},
		Values: map[string]string{
			"old_operator_id":   operator,
			"old_department_id": department,
			"fence":             strconv.FormatInt(fence, 10),
			"expires_ts":        timestamp(ends.at),
			"seconds_left":      strconv.FormatInt(wholeSeconds(ends.left), 10),
			"note":              ends.note,
		},
	}
}

func grantAnswer(grant applock.Grant) Answer {
	return yesOrNo(db.Yes, db.Outcome(grant.Outcome), "", "", int64(grant.Fence), end{at: grant.ExpiresAt, left: grant.Left, note: grant.Note})
}

func heldAnswer(err error) (Answer, bool) {
	var held *applock.HeldError
	if !errors.As(err, &held) {
		return Answer{}, false
	}
	holder := held.Holder
	return yesOrNo(db.No, db.Held, holder.Owner.Operator, holder.Owner.Department, 0, end{at: holder.ExpiresAt, left: holder.Left, note: holder.Note}), true
}

// AnswerOrError turns the contract's errors into answers.
func AnswerOrError(answer Answer, err error) (Answer, error) {
	var invalid *applock.InvalidError
	switch {
	case err == nil:
		return answer, nil
	case errors.As(err, &invalid):
		return Answer{Words: []string{"LK001", parameterOf(invalid.Argument)}}, nil
	case errors.Is(err, applock.ErrLost):
		return Answer{Words: []string{"LK002"}}, nil
	case db.KindOf(err) == db.KindBusy:
		return Answer{Words: []string{"BUSY"}}, nil
	case db.KindOf(err) == db.KindRetry:
		return Answer{Words: []string{"RETRY"}}, nil
	}
	return Answer{}, err
}

// parameterOf returns the procedures' parameter for a field of a request, without "p_".
func parameterOf(field string) string {
	return map[string]string{
		"Object.Type":      "object_type",
		"Type":             "object_type",
		"Object.ID":        "object_id",
		"ObjectType":       "object_type",
		"ObjectID":         "object_id",
		"Owner.Operator":   "operator_id",
		"Owner.Department": "department_id",
		"Operator":         "operator_id",
		"Department":       "department_id",
		"Asker":            "asker_id",
		"Client":           "client_id",
		"Message":          "message",
		"Wait":             "wait_seconds",
		"Answer":           "answer",
		"From":             "from_operator_id",
		"To.Operator":      "to_operator_id",
		"To.Department":    "to_department_id",
		"Fence":            "fence",
		"ExpectedFence":    "expected_fence",
		"Note":             "note",
		"Permits":          "permits",
		"Actor":            "actor_id",
		"Reason":           "reason",
		"Since":            "since_seconds",
		"DefaultTTL":       "default_ttl_seconds",
		"LongestTTL":       "longest_ttl_seconds",
		"HistoryLevel":     "history_level",
		"YieldAfter":       "yield_after_seconds",
		"State":            "state",
		"After":            "after_event_id",
		"Position.After":   "after_event_id",
		"After.Type":       "after_type",
		"After.ID":         "after_id",
		"TTL":              "ttl_seconds",
		"OlderThan":        "older_than_seconds",
		"ExpiresWithin":    "expires_within_seconds",
		"Order":            "order",
		"Batch":            "max_rows",
		"PageSize":         "max_rows",
	}[field]
}

func object(args Args) applock.Object {
	return applock.Object{Type: args["object_type"], ID: args["object_id"]}
}

func seconds(args Args, name string) time.Duration {
	return time.Duration(number(args, name)) * time.Second
}

func wholeSeconds(duration time.Duration) int64 { return int64(duration / time.Second) }

func number(args Args, name string) int64 {
	value, _ := strconv.ParseInt(args[name], 10, 64) // a missing argument is zero
	return value
}

func timestamp(value time.Time) string {
	if value.IsZero() {
		return ""
	}
	return value.UTC().Format(time.RFC3339Nano)
}

// Text formats a value of a row for a comparison: a time in UTC, NULL as an empty text.
func Text(value any) string {
	switch value := value.(type) {
	case nil:
		return ""
	case time.Time:
		return value.UTC().Format(time.RFC3339Nano)
	}
	return fmt.Sprint(value)
}
