package etcdlock

import (
	"errors"
	"fmt"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/applock/applock/applock"
)

// unanswered is the error of a call that changes no object, or that may be repeated: it does not matter whether it was sent. What is
// not refused met an outage, or a cluster that is choosing its leader.
func unanswered(err error) error {
	switch {
	case err == nil:
		return nil
	case isRefusal(err):
		return refused(err)
	}
	return fmt.Errorf("%w: %w", applock.ErrUnreachable, err)
}

// changeFailed is the error of a transaction. Only where a member says that it did not do it is that known: an answer that does
// not come, or that says that the members did not agree in time, tells nothing.
func changeFailed(err error) error {
	switch {
	case errors.Is(err, rpctypes.ErrNoLeader), errors.Is(err, rpctypes.ErrNotCapable): // refused before it was proposed
		return fmt.Errorf("%w: %w", applock.ErrUnreachable, err)
	case errors.Is(err, rpctypes.ErrLeaseNotFound): // the call has taken longer than the lease
		return fmt.Errorf("%w: %w", applock.ErrBusy, err)
	case isRefusal(err):
		return refused(err)
	}
	return fmt.Errorf("%w: %w", applock.ErrOutcomeUnknown, err)
}

// isRefusal reports whether a member has answered that it will not do what was asked, whoever leads. A member that has just started and
// does not know its cluster's version yet refuses with the same code as others do for good.
func isRefusal(err error) bool {
	if errors.Is(err, rpctypes.ErrNotCapable) {
		return false
	}
	switch codeOf(err) {
	case codes.InvalidArgument, codes.NotFound, codes.PermissionDenied, codes.Unauthenticated, codes.FailedPrecondition,
		codes.ResourceExhausted, codes.OutOfRange, codes.Unimplemented:
		return true
	}
	return false
}

// refused is the error of a call that a member has answered.
func refused(err error) error {
	switch {
	case errors.Is(err, rpctypes.ErrTooManyRequests):
		return fmt.Errorf("%w: %w", applock.ErrBusy, err)
	case codeOf(err) == codes.PermissionDenied:
		return fmt.Errorf("%w: %w", applock.ErrPrivilege, err)
	}
	return err
}

// codeOf returns the code of an error that a member or the connection to it has given.
func codeOf(err error) codes.Code {
	var answer rpctypes.EtcdError
	if errors.As(err, &answer) {
		return answer.Code()
	}
	return status.Code(err)
}
