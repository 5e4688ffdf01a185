package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/applock/applock/internal/db"
)

// rounds is how often an operation retries when the object changes during the call.
const rounds = 30

// decision is what an operation does with an object as it was read.
type decision[T any] struct {
	// answer or err is the operation's result if there is nothing to write.
	answer T
	err    error
	// write changes the object if it is as it was read, and answers. It returns sql.ErrNoRows if the object has changed.
	write func(ctx context.Context, d *Driver) (T, error)
	// inTx says that write has two statements.
	inTx bool
}

// refused is the decision to write nothing.
func refused(answer db.Result) decision[db.Result] { return decision[db.Result]{answer: answer} }

// refusedBy names the holder, for an operation that tells nothing else of the lock.
func refusedBy(object object) db.Result {
	return db.Result{OkFL: db.No, Outcome: db.Held, OldOperatorID: object.OperatorID, OldDepartmentID: object.DepartmentID}
}

// refusedUntil names the holder, and tells the start and the end of the lock.
func refusedUntil(object object) db.Result {
	result := refusedBy(object)
	result.AcquiredTS = db.AtMicro(object.AcquiredTS)
	result.ExpiresTS, result.SecondsLeft = db.AtMicro(object.ExpiresTS), object.SecondsLeft
	return result
}

// errInTx is the error of a decision outside a transaction that needs one.
var errInTx = errors.New("it needs a transaction")

// change reads an object, decides, and writes. A decision without a write waits for no writer.
func change[T any](ctx context.Context, d *Driver, operation string, key key, decide func(object) decision[T]) (T, error) {
	first, err := withBusyRetry(ctx, d, func(ctx context.Context, d *Driver) (object, error) { return d.read(ctx, key) })
	if err != nil {
		var none T
		return none, err
	}
	decided := decide(first)
	if decided.write == nil {
		return decided.answer, decided.err
	}
	write := func(ctx context.Context, d *Driver) (T, error) {
		decided := decided
		for range rounds {
			if decided.write == nil {
				return decided.answer, decided.err
			}
			if decided.inTx && d.pooled {
				return decided.answer, errInTx
			}
			answer, err := decided.write(ctx, d)
			if !errors.Is(err, sql.ErrNoRows) {
				return answer, err
			}
			now, err := d.read(ctx, key)
			if err != nil {
				return answer, err
			}
			decided = decide(now)
		}
		return decided.answer, contention(operation, key)
	}
	if !decided.inTx {
		answer, err := asWriter(ctx, d, write)
		if !errors.Is(err, errInTx) {
			return answer, err
		}
	}
	return inOneTx(ctx, d, write)
}

func contention(operation string, key key) error {
	return &db.Error{
		Kind: db.KindContention,
		Err:  fmt.Errorf("%s: %s:%s changed hands during the call; call again", operation, key.ObjectType, key.ObjectID),
	}
}
