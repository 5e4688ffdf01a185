package main

import (
	"cmp"
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/cmd/applockctl/internal/table"
)

// listedNotice has the columns of inbox_appl_locks.
type listedNotice struct {
	Kind            applock.NoticeKind `json:"outcome"`
	EventID         int64              `json:"event_id"`
	ObjectType      string             `json:"object_type"`
	ObjectID        string             `json:"object_id"`
	OtherOperator   string             `json:"other_operator_id"`
	OtherDepartment string             `json:"other_department_id"`
	EventTS         table.Timestamp    `json:"event_ts"`
	SecondsLeft     int64              `json:"seconds_left"`
	Reason          string             `json:"reason"`
	NextPosition    string             `json:"next_position"`
	Message         string             `json:"message"`
	ClientID        string             `json:"client_id"`
	Fence           applock.Fence      `json:"fence"`
}

// noticeExpiring is a lock that ends soon. It comes from the list of locks, since the procedure's inbox has no such notice.
const noticeExpiring applock.NoticeKind = "EXPIRING"

// expiringSoon is the time left at which a lock counts as noticeExpiring.
const expiringSoon = time.Hour

func listedNoticeOf(notice applock.Notice, next applock.InboxPosition) listedNotice {
	return listedNotice{
		NextPosition:    string(next),
		Kind:            notice.Kind,
		EventID:         notice.Event,
		ObjectType:      notice.Object.Type,
		ObjectID:        notice.Object.ID,
		OtherOperator:   notice.Other.Operator,
		OtherDepartment: notice.Other.Department,
		EventTS:         table.Timestamp(notice.At),
		SecondsLeft:     table.WholeSeconds(notice.Left),
		Reason:          notice.Reason,
		Message:         notice.Message,
		ClientID:        notice.Client,
		Fence:           notice.Fence,
	}
}

func (n listedNotice) fields() []table.Field {
	return []table.Field{
		{Title: "NEWS", Value: string(n.Kind)},
		{Title: "OBJECT", Value: applock.Object{Type: n.ObjectType, ID: n.ObjectID}.String()},
		{Title: "WHO", Value: n.OtherOperator},
		{Title: "DEPARTMENT", Value: n.OtherDepartment},
		{Title: "TIME", Value: n.EventTS},
		{Title: "LEFT", Value: table.Lasting(n.SecondsLeft)},
		{Title: "REASON", Value: n.Reason},
		{Title: "MESSAGE", Value: n.Message},
		{Title: "FENCE", Value: n.Fence, Wide: true},
		{Title: "PROGRAM", Value: n.ClientID, Wide: true},
		{Title: "EVENT ID", Value: n.EventID, Wide: true},
		{Title: "NEXT POSITION", Value: n.NextPosition, Wide: true},
	}
}

func (a *app) inboxCommand() *cobra.Command {
	var request applock.InboxRequest
	command := &cobra.Command{
		Use:   "inbox --operator O [--position P]",
		Short: "Show what concerns an operator: locks taken, handed over, awaited, asked for, expiring",
		Long: `Prints what concerns an operator that holds or asks for locks. First come events that others have caused,
oldest first:
  TAKEN       WHO took the lock, or another transferred it to WHO: the history tells by whom
  HANDED      WHO handed a lock over to this operator
  RELEASED    WHO ended the lock
  GIVEN       the lock went to WHO, who had asked for it
  YIELDED     the lock went to WHO, because the request was unanswered for the time of the type's policy
Then comes the present state:
  AWAITED     WHO waits for the lock since TIME, or asks for it, with a MESSAGE; "applockctl answer" needs
              the fence and the client, which --output json and --wide show
  LATER, DECLINED  WHO answered the operator's own request
  EXPIRING    the lock ends at TIME, within the hour
An empty inbox has exit code 0.

To see no event again, pass the next_position of the last answer as --position: --output json and
--wide show it. None is lost. "applockctl history" has all events. At most 1000 lines are printed, or
--limit. Events have one half of them, the present state the other, and each what the other leaves.

With --output json each line is an object.`,
		Example: `  applockctl inbox --operator jdoe
  applockctl inbox --operator jdoe --position 1234,1236 --output json`,
		RunE: body(func(ctx context.Context, _ []string) error { return a.inbox(ctx, request) }),
	}
	a.operatorFlag(command, &request.Operator, "whom it concerns", a.completeOperator)
	command.Flags().StringVar((*string)(&request.Position), "position", "", "only events that are not told yet, and the present state")
	command.Flags().Var(number[int]{&request.PageSize, applock.MaxPageSize}, "limit", "print at most this many")
	return command
}

func (a *app) inbox(ctx context.Context, request applock.InboxRequest) error {
	return a.printList(ctx, "inbox", "notice", listedNotice{}, func(ctx context.Context, s session, p *printer) error {
		notices, next, err := readInbox(ctx, s.Client, request)
		if err != nil {
			return err
		}
		s.pause()
		for _, notice := range notices {
			if err := p.print(listedNoticeOf(notice, next)); err != nil {
				return err
			}
		}
		return nil
	})
}

// readInbox returns the inbox, followed by locks that end soon if the page has room.
func readInbox(ctx context.Context, client *applock.Client, request applock.InboxRequest) ([]applock.Notice, applock.InboxPosition, error) {
	notices, next, err := client.Inbox(ctx, request)
	room := cmp.Or(request.PageSize, applock.DefaultPageSize) - len(notices)
	if err != nil || room <= 0 {
		return notices, next, err
	}
	expiring, err := readExpiring(ctx, client, request.Operator, room)
	return append(notices, expiring...), next, err
}

func readExpiring(ctx context.Context, client *applock.Client, operator string, most int) ([]applock.Notice, error) {
	var notices []applock.Notice
	for lock, err := range client.List(ctx, applock.ListRequest{
		Operator: operator, ExpiresWithin: expiringSoon, Order: applock.ByTimeLeft, PageSize: most,
	}) {
		if err != nil {
			return nil, err
		}
		notices = append(notices, applock.Notice{Kind: noticeExpiring, Object: lock.Object, At: lock.ExpiresAt, Left: lock.Left})
	}
	return notices, nil
}
