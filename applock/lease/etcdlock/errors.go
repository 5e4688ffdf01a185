package etcdlock

import (
	"errors"
	"fmt"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/applock/applock/applock"
)

// unanswered is the error of a call that changes no object or may be repeated, so that it does not matter whether it was sent. Unless it is
// a refusal, the cause is an outage or an election of a leader.
func unanswered(err error) error {
	switch {
	case err == nil:
		return nil
	case isRefusal(err):
		return refused(err)
	}
	return fmt.Errorf("%w: %w", applock.ErrUnreachable, err)
}

// changeFailed is the error of a transaction. Only a member's refusal proves that nothing happened. A missing answer, or one that says that
// the members did not agree in time, proves nothing.
func changeFailed(err error) error {
	switch {
	case errors.Is(err, rpctypes.ErrNoLeader), errors.Is(err, rpctypes.ErrNotCapable): // refused before the proposal
		return fmt.Errorf("%w: %w", applock.ErrUnreachable, err)
	case errors.Is(err, rpctypes.ErrLeaseNotFound): // the call took longer than the lease
		return fmt.Errorf("%w: %w", applock.ErrBusy, err)
	case isRefusal(err):
		return refused(err)
	}
	return fmt.Errorf("%w: %w", applock.ErrOutcomeUnknown, err)
}

// isRefusal reports whether a member has refused the request for good. A member that has just started and does not know its cluster's
// version yet refuses with the same code, but only for now.
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

// codeOf returns the code of an error of a member or of the connection to it.
func codeOf(err error) codes.Code {
	if answer, is := errors.AsType[rpctypes.EtcdError](err); is {
		return answer.Code()
	}
	return status.Code(err)
}
