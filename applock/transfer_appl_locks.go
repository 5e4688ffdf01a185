package applock

import (
	"context"
	"log/slog"
	"time"

	"github.com/applock/applock/internal/db"
)

// TransferAllRequest hands over what an operator holds.
type TransferAllRequest struct {
	// From is the operator who holds the objects now.
	From string
	// ObjectType selects the objects of one type; empty is all.
	ObjectType string
	// To is the operator who shall hold them, another one than From.
	To Owner
	// TTL is how long the locks outlive this call, as in GetRequest; zero keeps that of each grant that ends.
	TTL time.Duration
	// Actor is who hands them over, for the history; empty is From. Reason says why: up to MaxReasonLength characters.
	Actor  string
	Reason string
	// DryRun only tells what would be done.
	DryRun bool
	// After goes on behind this object, the last one of an earlier call.
	After Object
	// Limit is how many locks are changed in all; zero is no limit.
	Limit int
	// PageSize is how many locks one call to the database changes: 1 to MaxPageSize, zero is DefaultPageSize.
	PageSize int
}

// LockChange is the outcome for one lock of a TransferAll, ReleaseAll or RenewAll.
type LockChange struct {
	Object Object
	// Outcome is OutcomeTransferred, OutcomeReleased or OutcomeRenewed. It is OutcomeBusy where another transaction has locked the object, and
	// OutcomeHeld or OutcomeFree where it has changed hands meanwhile: such an object is left as it is. In a dry run it is
	// OutcomeWouldTransfer or OutcomeWouldRelease.
	Outcome Outcome
	// Owner is who holds the object after the call: the new owner, the one who still has it (without a department, unless the
	// outcome is OutcomeHeld), or nobody.
	Owner Owner
	// Fence is that of the grant that was begun or ended, or that is left as it was; zero for OutcomeHeld and OutcomeFree.
	Fence Fence
	// ExpiresAt is when the lock ends; zero for OutcomeReleased and OutcomeFree. Left is how long that was from the answer on, by the
	// database's clock.
	ExpiresAt time.Time
	Left      time.Duration
}

// TransferAll hands over every lock of an operator, in the order of the objects' bytes, and returns the outcome of each. It calls the
// database page by page, and holds no connection between pages.
//
// Each page is one transaction; a client on a transaction does all in that one. An object that cannot be handed over has its outcome, and
// the rest goes on. With an error comes what was done before it: call again, or continue with After. After ErrOutcomeUnknown one more page
// may be done; continue after the last returned object. A cancelled context ends the call at the current page. Db2 has no OutcomeBusy: an
// object that is locked for more than 1 s is ErrBusy or ErrRetry, and its page is not done.
func (c *Client) TransferAll(ctx context.Context, request TransferAllRequest) (changes []LockChange, err error) {
	defer begin(&err, "transfer all: %w")
	o := c.ops()
	params, err := request.params()
	if err != nil {
		return nil, err
	}
	pages := changedPages{
		limit: request.Limit, size: int(params.MaxRows),
		from: Owner{Operator: params.FromOperatorID}, to: Owner{Operator: params.ToOperatorID, Department: params.ToDepartmentID},
	}
	return o.changeAll(ctx, "transfer_appl_locks", pages, func(after db.ChangedLock, rows int) ([]db.ChangedLock, error) {
		if after.ObjectType != "" {
			params.AfterType, params.AfterID = after.ObjectType, after.ObjectID
		}
		params.MaxRows = int64(rows)
		return o.driver.TransferApplLocks(ctx, params)
	})
}

func (r TransferAllRequest) params() (db.TransferApplLocksParams, error) {
	var c checks
	params := db.TransferApplLocksParams{
		FromOperatorID: c.text(checkText("From", r.From, MaxOperatorLength)),
		ObjectType:     c.text(checkAnyType(r.ObjectType)),
		DryRunFL:       dryRunFlag(r.DryRun),
	}
	to := c.owner(r.To.trim("To"))
	c.refuse(to.Operator == params.FromOperatorID, "To.Operator", "must be another operator than the holder")
	params.ToOperatorID, params.ToDepartmentID = to.Operator, to.Department
	params.TTLSeconds = c.number(checkTTL(r.TTL))
	params.ActorID, params.Reason = c.texts(checkActor(r.Actor, r.Reason))
	params.AfterType, params.AfterID = c.texts(checkAfter(r.After))
	params.MaxRows = c.number(checkPages(r.Limit, r.PageSize))
	return params, c.err
}

// changedPages is how many locks are changed in all, zero for any number, and by one call; and from whom to whom, nobody for a release.
type changedPages struct {
	limit, size int
	from, to    Owner
}

// ownerAfter returns who holds the lock of a row after the call.
func (p changedPages) ownerAfter(row db.ChangedLock) Owner {
	switch row.Outcome {
	case db.Transferred:
		return p.to
	case db.Busy, db.WouldTransfer, db.WouldRelease:
		return p.from
	default: // Held, or nobody
		return Owner{Operator: row.OldOperatorID, Department: row.OldDepartmentID}
	}
}

// checkPages returns the size of a page.
func checkPages(limit, size int) (int64, error) {
	if limit < 0 {
		return 0, &InvalidError{Argument: "Limit", Reason: "must not be negative"}
	}
	return checkRows("PageSize", size)
}

// changeAll returns the rows of page after page. The call gets the last row of the page before, none for the first page, and the number of
// rows that it may change.
func (o operations) changeAll(
	ctx context.Context, operation string, pages changedPages, page func(after db.ChangedLock, rows int) ([]db.ChangedLock, error),
) ([]LockChange, error) {
	var changes []LockChange
	var last db.ChangedLock
	for {
		size := pages.size
		if pages.limit > 0 {
			size = min(size, pages.limit-len(changes))
		}
		rows, err := retryIfUnchanged(ctx, o, func() ([]db.ChangedLock, error) { return page(last, size) })
		if err != nil {
			return changes, o.changeError(err)
		}
		o.log(ctx, operation, slog.Int("rows", len(rows)))
		for _, row := range rows {
			changes = append(changes, lockChangeOf(row, pages.ownerAfter(row)))
		}
		if len(rows) < size || len(changes) == pages.limit {
			return changes, nil
		}
		last = rows[len(rows)-1]
	}
}

func lockChangeOf(row db.ChangedLock, owner Owner) LockChange {
	return LockChange{
		Object:    Object{Type: row.ObjectType, ID: row.ObjectID},
		Outcome:   Outcome(row.Outcome),
		Owner:     owner,
		Fence:     Fence(row.Fence),
		ExpiresAt: row.ExpiresTS.Time,
		Left:      seconds(row.SecondsLeft),
	}
}

func dryRunFlag(dryRun bool) db.Flag {
	if dryRun {
		return db.Yes
	}
	return ""
}

// checkAnyType checks a type that may be left out.
func checkAnyType(objectType string) (string, error) {
	if objectType == "" {
		return "", nil
	}
	return checkObjectType("ObjectType", objectType)
}
