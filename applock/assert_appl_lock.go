package applock

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/applock/applock/internal/db"
)

// Assert returns nil if exactly this grant is live; the key's fence is required. In a client on a transaction it keeps the grant live until
// the transaction ends. Call it first in the transaction that writes the protected data: then a holder that has lost its lock cannot write.
// Outside a transaction it only checks.
//
// It returns a *LostError (ErrLost, ErrNotHeld) if the grant is not live, with the holder's operator and fence if there is one. On
// PostgreSQL the transaction has failed then, so that an Inquire needs another one.
func (c *Client) Assert(ctx context.Context, key Key) error {
	if err := c.ops().assert(ctx, key); err != nil {
		return fmt.Errorf("assert %s: %w", key.Object, err)
	}
	return nil
}

func (o operations) assert(ctx context.Context, key Key) error {
	key, err := key.trimWithFence()
	if err != nil {
		return err
	}
	params := db.AssertApplLockParams{
		ObjectType: key.Object.Type,
		ObjectID:   key.Object.ID,
		OperatorID: key.Operator,
		Fence:      int64(key.Fence),
	}
	if err := explain(o.run(ctx, func() error { return o.driver.AssertApplLock(ctx, params) })); err != nil {
		if errors.Is(err, ErrLost) {
			return assertedInVain(params, err)
		}
		return err
	}
	o.logObject(ctx, "assert_appl_lock", key.Object, key.Operator, fenceAttr(params.Fence))
	return nil
}

// assertedInVain returns the loss of a grant, with what the database's message tells of the holder: "A holds it with fence 17", on Db2 "held
// with fence 17 by A", which it cuts off after 70 bytes.
func assertedInVain(params db.AssertApplLockParams, err error) *LostError {
	lost := &LostError{Object: Object{Type: params.ObjectType, ID: params.ObjectID}, Reason: "nobody holds it", cause: err}
	const prefix = "assert_appl_lock: "
	_, told, _ := strings.Cut(err.Error(), prefix)
	asked := fmt.Sprintf("%s does not hold %s with fence %d: ", params.OperatorID, lost.Object, params.Fence)
	told = strings.TrimPrefix(told, asked)
	if place := strings.LastIndex(told, " holds it with fence "); place >= 0 {
		lost.Holder.Owner.Operator, lost.Holder.Fence = told[:place], leadingFence(told[place+len(" holds it with fence "):])
	} else if _, held, found := strings.Cut(told, "held with fence "); found {
		fence, operator, _ := strings.Cut(held, " by ")
		lost.Holder.Owner.Operator, lost.Holder.Fence = operator, leadingFence(fence)
	}
	if lost.Holder.Owner.Operator != "" {
		lost.Reason = "held by " + lost.Holder.Owner.Operator
	}
	return lost
}

// leadingFence is the number that a text begins with.
func leadingFence(text string) Fence {
	digits := text[:len(text)-len(strings.TrimLeft(text, "0123456789"))]
	number, _ := strconv.ParseInt(digits, 10, 64) // zero is a fence that is not known
	return Fence(number)
}
