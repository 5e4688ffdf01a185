package applock

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/applock/applock/internal/db"
)

// operations are those of the contract, on checked arguments: what clients and leases share.
type operations struct {
	driver db.Driver
	logger *slog.Logger
	inTx   bool
	// refusal is why nothing can be called: a transaction that is not of this database. Nil otherwise.
	refusal error
	// closed is true once the client that they belong to has been closed; nil in a transaction.
	closed *atomic.Bool
}

// changeError is the error of an operation that changes something. Outside a transaction a call that
// was sent may have taken effect; inside one it has not before the commit.
func (o operations) changeError(err error) error {
	if db.KindOf(err) == db.KindInFlight && !o.inTx {
		return fmt.Errorf("%w: %w", ErrOutcomeUnknown, err)
	}
	return explain(err)
}

const (
	// repetitions bounds how often a call is repeated that says that nothing has happened.
	repetitions = 100
	// repetitionPause grows by itself with each repetition, up to ten times of it: 1 s in all.
	repetitionPause = time.Millisecond
)

// retryIfUnchanged repeats an operation while it answers that nothing has happened and that it may be called again:
// the object changed hands during the call, an upgrade is replacing the procedure (LK003), or the database
// has rolled the call back for another one's sake. In a transaction only the caller can begin again. It calls nothing
// where the client cannot be used, or once ctx has ended.
func retryIfUnchanged[T any](ctx context.Context, o operations, operation func() (T, error)) (T, error) {
	if err := o.ready(ctx); err != nil {
		var none T
		return none, err
	}
	for repetition := 1; ; repetition++ {
		result, err := operation()
		kind := db.KindOf(err)
		if o.inTx || repetition > repetitions || kind != db.KindContention && kind != db.KindRetry {
			return result, err
		}
		sleep(ctx, time.Duration(min(repetition, 10))*repetitionPause)
		if ctx.Err() != nil {
			return result, err
		}
	}
}

// change makes a call that changes something. After an error the result is that of the driver.
func change[P, R any](ctx context.Context, o operations, call func(db.Driver, context.Context, P) (R, error), params P) (R, error) {
	result, err := retryIfUnchanged(ctx, o, func() (R, error) { return call(o.driver, ctx, params) })
	return result, o.changeError(err)
}

// read makes a call that changes nothing.
func read[P, R any](ctx context.Context, o operations, call func(db.Driver, context.Context, P) (R, error), params P) (R, error) {
	result, err := retryIfUnchanged(ctx, o, func() (R, error) { return call(o.driver, ctx, params) })
	return result, explain(err)
}

// run is retryIfUnchanged for an operation without an answer.
func (o operations) run(ctx context.Context, operation func() error) error {
	_, err := retryIfUnchanged(ctx, o, func() (struct{}, error) { return struct{}{}, operation() })
	return err
}

// begin begins an error with what was called, such as "take customer:42". The last argument of the format is the error.
func begin(err *error, format string, args ...any) {
	if *err != nil {
		*err = fmt.Errorf(format, append(args, *err)...)
	}
}

// sleep returns early when ctx ends.
func sleep(ctx context.Context, long time.Duration) {
	select {
	case <-time.After(long):
	case <-ctx.Done():
	}
}

var errNilContext = &InvalidError{Argument: "ctx", Reason: "is nil"}

// ready returns why nothing can be called now: nothing has been sent.
func (o operations) ready(ctx context.Context) error {
	if ctx == nil {
		return errNilContext
	}
	if o.refusal != nil {
		return o.refusal
	}
	if o.driver == nil {
		return errNoClient
	}
	if o.closed != nil && o.closed.Load() {
		return ErrClosed
	}
	return db.EndOf(ctx)
}

// logObject is log for an operation on an object.
func (o operations) logObject(ctx context.Context, operation string, object Object, operator string, attributes ...slog.Attr) {
	o.log(ctx, operation, append([]slog.Attr{slog.String("object", object.String()), slog.String("operator", operator)}, attributes...)...)
}

func fenceAttr(fence int64) slog.Attr { return slog.Int64("fence", fence) }

func outcomeAttr(outcome db.Outcome) slog.Attr { return slog.String("outcome", outcome) }

func (o operations) log(ctx context.Context, operation string, attributes ...slog.Attr) {
	o.logger.LogAttrs(ctx, slog.LevelDebug, operation, attributes...)
}
