package applock

import (
	"context"
	"log/slog"

	"github.com/applock/applock/internal/db"
)

// Serialize waits until no other open transaction has serialized the object, and keeps others waiting until the caller's transaction ends.
// It stores nothing, and is independent of the object's lock. The client must be on a transaction; otherwise it returns ErrInvalid.
//
// Call it first in the transaction. At READ COMMITTED the following statements see everything that the former transaction committed. At
// REPEATABLE READ and SERIALIZABLE the call fails with a serialization failure if the transaction's snapshot may be too old: roll back,
// wait a little, and begin again. On PostgreSQL that happens after every wait, so that READ COMMITTED is the better level; on MySQL only if
// the transaction has read before the call.
//
// The wait ends with ctx (on SQLite not before the connection's busy timeout), on MySQL also with the session's innodb_lock_wait_timeout.
// Several objects in different orders can deadlock, which the database detects.
func (c *Client) Serialize(ctx context.Context, object Object) (err error) {
	defer begin(&err, "serialize %s: %w", object)
	o := c.ops()
	trimmed, err := object.trim()
	if err != nil {
		return err
	}
	if !o.inTx {
		return &InvalidError{Argument: "tx", Reason: "is missing: serialize holds until a transaction ends, so call it on a client in one"}
	}
	if err := o.ready(ctx); err != nil {
		return err
	}
	params := db.SerializeApplLockParams{ObjectType: trimmed.Type, ObjectID: trimmed.ID}
	if err := o.driver.SerializeApplLock(ctx, params); err != nil {
		return explain(err)
	}
	o.log(ctx, "serialize_appl_lock", slog.String("object", trimmed.String()))
	return nil
}
