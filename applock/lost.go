package applock

import "errors"

// LostError says that the caller's grant has ended, and how. It is ErrLost and ErrNotHeld. It is never ErrHeld, even if another operator
// has the object now: code that skips work on ErrHeld must not skip work that was done, perhaps not alone.
type LostError struct {
	// Object is what was held.
	Object Object
	// Holder is who has the object now. It is empty if nobody has, or if the backend does not say.
	Holder Holder
	// Reason says in words how the grant ended.
	Reason string

	cause error
}

// newLostError returns the loss of an object's grant. It removes ErrHeld from a cause that names the new holder.
func newLostError(object Object, cause error) *LostError {
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
