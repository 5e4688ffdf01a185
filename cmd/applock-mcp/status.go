package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/applock/applock/applock"
)

type lockRow struct {
	Object      foreign       `json:"object" jsonschema:"TYPE:ID of the object"`
	YouHold     bool          `json:"you_hold" jsonschema:"true: this is your lock"`
	Fence       applock.Fence `json:"fence" jsonschema:"the fence of the grant: yours if you_hold is true, else the holder's, which you must not use"`
	Operator    foreign       `json:"operator" jsonschema:"who holds the object"`
	Department  foreign       `json:"department" jsonschema:"the holder's department; may be empty"`
	SinceTS     string        `json:"since_ts" jsonschema:"since when, UTC"`
	ExpiresTS   string        `json:"expires_ts" jsonschema:"when the lock ends unless it is renewed, UTC"`
	SecondsLeft int64         `json:"seconds_left" jsonschema:"how many seconds are left until expires_ts"`
	Note        foreign       `json:"note" jsonschema:"why the holder holds it; may be empty"`
}

type lockRows struct {
	said
	Locks []lockRow `json:"locks" jsonschema:"the locks, in the order of their objects"`
	More  bool      `json:"more" jsonschema:"true: there are more locks; call lock_list again with after set to the object of the last one"`
}

func (l locks) rowOf(lock applock.Lock) lockRow {
	return lockRow{
		Object: foreignText(lock.Object.String()), YouHold: lock.Owner.Operator == l.owner.Operator, Fence: lock.Fence,
		Operator: foreignText(lock.Owner.Operator), Department: foreignText(lock.Owner.Department),
		SinceTS: timestamp(lock.AcquiredAt), ExpiresTS: timestamp(lock.ExpiresAt), SecondsLeft: seconds(lock.Left), Note: foreignText(lock.Note),
	}
}

type statusInput struct {
	Object string `json:"object,omitempty" jsonschema:"the object to ask about, as TYPE:ID; leave it out to see all that you hold"`
}

func (l locks) addStatus(server *mcp.Server) error {
	return add(server, l, toolText{"lock_status", "See who holds an object, or what you hold", "With object: who holds it, until when " +
		"and why; an answer without a lock means that nobody holds it. Without object: all locks that you hold, with their fences. It " +
		"changes nothing and gets no lock: others may get a free object at any time, so call lock_get before you change it."},
		nature{readOnly: true, idempotent: true}, l.status)
}

func (l locks) status(ctx context.Context, in statusInput) (lockRows, error) {
	ctx, cancel := l.inTime(ctx, 0)
	defer cancel()
	if in.Object == "" {
		rows, err := l.rows(ctx, applock.ListRequest{Operator: l.owner.Operator}, mostRows)
		rows.Advice = fmt.Sprintf("You hold %s.", counted(len(rows.Locks), "object"))
		if rows.More {
			rows.Advice = fmt.Sprintf("You hold more than %d objects; these are the first.", len(rows.Locks))
		}
		return rows, err
	}
	object, err := l.files.object(in.Object)
	if err != nil {
		return lockRows{}, err
	}
	rows := lockRows{said: l.said(), Locks: []lockRow{}}
	lock, err := l.client.Inquire(ctx, object)
	switch {
	case errors.Is(err, applock.ErrNotHeld):
		rows.Advice = "Nobody holds the object. You do not either: call lock_get before you change it."
	case err != nil:
		return lockRows{}, err
	case lock.Owner.Operator == l.owner.Operator:
		rows.Locks = append(rows.Locks, l.rowOf(lock))
		rows.Advice = fmt.Sprintf("You hold the object for %d seconds, with fence %d.", seconds(lock.Left), lock.Fence)
	default:
		rows.Locks = append(rows.Locks, l.rowOf(lock))
		rows.Advice = "Somebody else holds the object: do not change it."
	}
	return rows, nil
}

type listInput struct {
	Prefix string `json:"prefix,omitempty" jsonschema:"only objects whose TYPE:ID begins with this, such as ticket:4"`
	Holder string `json:"holder,omitempty" jsonschema:"only locks of this operator"`
	After  string `json:"after,omitempty" jsonschema:"only objects after this TYPE:ID, the last one of the answer before"`
	Limit  int    `json:"limit,omitempty" jsonschema:"how many locks at most; leave it out for 50"`
}

const usualRows = 50

func (l locks) addList(server *mcp.Server) error {
	return add(server, l, toolText{"lock_list", "List locks", "List the locks of everybody, in the order of their objects. It changes " +
		"nothing."},
		nature{readOnly: true, idempotent: true}, l.list)
}

func (l locks) list(ctx context.Context, in listInput) (lockRows, error) {
	if err := l.files.prefix(in.Prefix); err != nil {
		return lockRows{}, err
	}
	request := applock.ListRequest{Prefix: in.Prefix, Operator: in.Holder}
	if in.After != "" {
		object, err := applock.ParseObject(in.After)
		if err != nil {
			return lockRows{}, &applock.InvalidError{Argument: "After", Reason: "is not TYPE:ID"}
		}
		request.After = object
	}
	ctx, cancel := l.inTime(ctx, 0)
	defer cancel()
	rows, err := l.rows(ctx, request, cmp.Or(in.Limit, usualRows))
	rows.Advice = fmt.Sprintf("Listed: %s.", counted(len(rows.Locks), "lock"))
	if rows.More {
		rows.Advice += " There are more: call again with after set to the last object."
	}
	return rows, err
}

// rows reads one lock more than it returns, to detect whether more follow.
func (l locks) rows(ctx context.Context, request applock.ListRequest, most int) (lockRows, error) {
	rows := lockRows{said: l.said(), Locks: []lockRow{}}
	request.PageSize = most + 1
	for lock, err := range l.client.List(ctx, request) {
		if err != nil {
			return lockRows{Locks: []lockRow{}}, err
		}
		if len(rows.Locks) == most {
			rows.More = true
			break
		}
		rows.Locks = append(rows.Locks, l.rowOf(lock))
	}
	return rows, nil
}
