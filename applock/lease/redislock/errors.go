package redislock

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/applock/applock/applock"
)

// unreachable is ErrUnreachable in other words.
type unreachable string

const (
	errNoneFree unreachable = "no connection of the client's pool was free in time, end the calls that keep them or raise its PoolSize"
	errFull     unreachable = "the server accepts no more connections, end some of them or raise its maxclients"
	errNotReady unreachable = "the server takes no calls at the moment"
)

func (u unreachable) Error() string { return string(u) }

func (unreachable) Is(target error) bool { return target == applock.ErrUnreachable }

// explain gives an error of the client its kind. A call without an answer is unanswered.
func explain(ctx context.Context, err, unanswered error) error {
	var answer redis.Error
	switch {
	case redis.IsReadOnlyError(err):
		return fmt.Errorf("%w: %w", applock.ErrReadOnly, err)
	case redis.IsPermissionError(err):
		return fmt.Errorf("%w: %w", applock.ErrPrivilege, err)
	case redis.IsAuthError(err):
		return fmt.Errorf("the server refused the user or the password of the client: %w", err)
	case redis.IsMaxClientsError(err):
		return fmt.Errorf("%w: %w", errFull, err)
	case redis.IsLoadingError(err), redis.IsMasterDownError(err), redis.IsClusterDownError(err), redis.IsTryAgainError(err):
		return fmt.Errorf("%w: %w", errNotReady, err)
	case errors.Is(err, redis.ErrClosed):
		return fmt.Errorf("%w: %w", applock.ErrClosed, err)
	case errors.As(err, &answer):
		return err
	case errors.Is(err, redis.ErrPoolTimeout), errors.Is(err, redis.ErrPoolExhausted):
		return fmt.Errorf("%w: %w", errNoneFree, err)
	case isUnconnected(err):
		unanswered = applock.ErrUnreachable
	}
	if isOutOfTime(ctx, err) {
		<-ctx.Done()
		err = fmt.Errorf("%w: %w", ctx.Err(), err)
	}
	return fmt.Errorf("%w: %w", unanswered, err)
}

// coarseness is by how much a connection's deadline may come before that of the context which it is made of: go-redis reads the clock so seldom.
const coarseness = 100 * time.Millisecond

// isOutOfTime reports whether a call has ended because its context ends, which may be a moment later.
func isOutOfTime(ctx context.Context, err error) bool {
	var network net.Error
	deadline, ok := ctx.Deadline()
	return ok && time.Until(deadline) < coarseness && errors.As(err, &network) && network.Timeout() && !errors.Is(err, ctx.Err())
}

// isUnconnected reports whether there was no connection to be had.
func isUnconnected(err error) bool {
	var operation *net.OpError
	return errors.As(err, &operation) && operation.Op == "dial"
}
