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

// unreachable is an ErrUnreachable with its own text.
type unreachable string

const (
	errNoneFree unreachable = "no connection of the client's pool was free in time, end the calls that keep them or raise its PoolSize"
	errFull     unreachable = "the server accepts no more connections, end some of them or raise its maxclients"
	errNotReady unreachable = "the server takes no calls at the moment"
)

func (u unreachable) Error() string { return string(u) }

func (unreachable) Is(target error) bool { return target == applock.ErrUnreachable }

// explain wraps an error of the client with its kind. A call without an answer gets unanswered.
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

// coarseness is by how much go-redis may set a connection's deadline before that of its context: it reads the clock only that often.
const coarseness = 100 * time.Millisecond

// isOutOfTime reports whether a call ended because of its context's deadline, which may be a moment later.
func isOutOfTime(ctx context.Context, err error) bool {
	var network net.Error
	deadline, ok := ctx.Deadline()
	return ok && time.Until(deadline) < coarseness && errors.As(err, &network) && network.Timeout() && !errors.Is(err, ctx.Err())
}

// isUnconnected reports whether no connection could be made.
func isUnconnected(err error) bool {
	var operation *net.OpError
	return errors.As(err, &operation) && operation.Op == "dial"
}
