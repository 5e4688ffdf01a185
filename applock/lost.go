package applock

import "errors"

// LostError says that a grant that the caller had is not live any more, and how it ended. It is ErrLost and ErrNotHeld.
// It is never ErrHeld, also where somebody else has the object now: who skips work that somebody else does must not skip
// "the work was done, perhaps not alone" with it.
type LostError struct {
	// Object is what was held.
	Object Object
	// Holder is who has the object now. It is empty where nobody has it, and where the backend does not tell.
	Holder Holder
	// Reason says in words how the grant ended.
	Reason string

	cause error
}

// NewLostError returns the loss of an object's grant, for what keeps leases. A cause that says who has the object now is taken apart,
// so that it does not make the loss ErrHeld.
func NewLostError(object Object, cause error) *LostError {
	var former *LostError
	if errors.As(cause, &former) {
		lost := *former
		lost.Object = object
		return &lost
	}
	lost := &LostError{Object: object, Reason: cause.Error()}
	var held *HeldError
	if errors.As(cause, &held) {
		lost.Holder = held.Holder
		lost.Reason = held.Error()
	}
	if !errors.Is(cause, ErrHeld) {
		lost.cause = cause
	}
	return lost
}

// Error says how the grant ended.
func (e *LostError) Error() string { return ErrLost.Error() + ": " + e.Reason }

// Is reports whether target is ErrLost or ErrNotHeld.
func (e *LostError) Is(target error) bool { return target == ErrLost || target == ErrNotHeld }

// Unwrap returns what the backend answered, nil where that was who has the object now.
func (e *LostError) Unwrap() error { return e.cause }
