package applock

import (
	"cmp"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// The limits of the arguments. Lengths are in characters, after trailing blanks are trimmed.
const (
	MaxObjectTypeLength = 64
	MaxObjectIDLength   = 255
	MaxOperatorLength   = 255
	MaxDepartmentLength = 64
	MaxNoteLength       = 255
	MaxReasonLength     = 255
	MaxMessageLength    = 255
	MaxClientLength     = 64

	// DefaultTTL is how long a lock lasts unless a request says otherwise.
	DefaultTTL = 7 * 24 * time.Hour
	// MaxTTL is the longest time a request may name: 3650 days.
	MaxTTL = 3650 * 24 * time.Hour
)

// Object is what is locked. Type and ID are compared as bytes.
type Object struct {
	// Type is the kind of object, such as "customer": 1 to 64 characters, without a colon.
	Type string `json:"object_type"`
	// ID tells which object of that kind: 1 to 255 characters.
	ID string `json:"object_id"`
}

// ParseObject splits "customer:42" at its first colon. It returns ErrInvalid for text without one; the
// lengths are checked by the operations.
func ParseObject(text string) (Object, error) {
	objectType, id, found := strings.Cut(text, ":")
	if !found {
		return Object{}, &InvalidError{Argument: "Object", Reason: fmt.Sprintf("%q is not TYPE:ID, such as customer:42", text)}
	}
	return Object{Type: objectType, ID: id}, nil
}

// String returns TYPE:ID.
func (o Object) String() string { return o.Type + ":" + o.ID }

// Compare orders objects by the bytes of their types and then of their ids, as List does. It returns -1, 0 or 1.
func (o Object) Compare(other Object) int {
	return cmp.Or(strings.Compare(o.Type, other.Type), strings.Compare(o.ID, other.ID))
}

// trim checks the object and returns it as the database keeps it.
func (o Object) trim() (Object, error) {
	var c checks
	return Object{
		Type: c.text(checkObjectType("Object.Type", o.Type)),
		ID:   c.text(checkText("Object.ID", o.ID, MaxObjectIDLength)),
	}, c.err
}

// Owner is who holds or wants a lock.
type Owner struct {
	// Operator is a person, a service or a process: 1 to 255 characters, compared as bytes.
	Operator string `json:"operator_id"`
	// Department is where the operator works: up to 64 characters, may be empty.
	Department string `json:"department_id"`
}

// String returns the operator and, in parentheses, the department.
func (o Owner) String() string {
	if o.Department == "" {
		return o.Operator
	}
	return fmt.Sprintf("%s (%s)", o.Operator, o.Department)
}

// trim checks the owner, which is the field of that name, and returns it as the database keeps it.
func (o Owner) trim(field string) (Owner, error) {
	var c checks
	return Owner{
		Operator:   c.text(checkText(field+".Operator", o.Operator, MaxOperatorLength)),
		Department: c.text(checkName(field+".Department", o.Department, MaxDepartmentLength)),
	}, c.err
}

// Outcome is what a call came to, in the one word of the procedures.
type Outcome string

// The outcomes. A refusal is an error: a [*HeldError] for HELD, a [*FullError] for FULL, [ErrNotHeld] for FREE where somebody should hold the
// object.
const (
	OutcomeAcquired    Outcome = "ACQUIRED"
	OutcomeRenewed     Outcome = "RENEWED"
	OutcomeTransferred Outcome = "TRANSFERRED"
	OutcomeTaken       Outcome = "TAKEN"
	OutcomeReleased    Outcome = "RELEASED"
	OutcomeFree        Outcome = "FREE"
	OutcomeHeld        Outcome = "HELD"
	OutcomeNoted       Outcome = "NOTED"
	OutcomeFull        Outcome = "FULL"
	// The next ones are those of Ask and Answer. OWN and GONE are refusals there.
	OutcomeAsked     Outcome = "ASKED"
	OutcomeGiven     Outcome = "GIVEN"
	OutcomeWithdrawn Outcome = "WITHDRAWN"
	OutcomeTold      Outcome = "TOLD"
	OutcomeOwn       Outcome = "OWN"
	OutcomeGone      Outcome = "GONE"
	// The next ones are those of TransferAll, ReleaseAll and RenewAll alone.
	OutcomeBusy          Outcome = "BUSY"
	OutcomeWouldTransfer Outcome = "WOULD_TRANSFER"
	OutcomeWouldRelease  Outcome = "WOULD_RELEASE"
)

// Fence is the fencing token of a grant. It is greater for every later grant of the same object, for
// ever: a protected resource that refuses a smaller fence than it has seen refuses every former holder.
type Fence int64

// Key names one grant of an object. [Grant.Key] and [Lock.Key] return it, and Renew, Release, Assert and Note take it.
type Key struct {
	Object   Object
	Operator string
	// Fence is the grant's. Zero, where it is allowed, means any grant of the operator.
	Fence Fence
}

// trim checks the key and returns it as the database keeps it.
func (k Key) trim() (Key, error) {
	var c checks
	k.Object = c.object(k.Object.trim())
	k.Operator = c.text(checkText("Operator", k.Operator, MaxOperatorLength))
	c.refuse(k.Fence < 0, "Fence", reasonFence)
	return k, c.err
}

// trimWithFence is trim where the fence must be given.
func (k Key) trimWithFence() (Key, error) {
	trimmed, err := k.trim()
	c := checks{err}
	c.refuse(k.Fence == 0, "Fence", reasonFence)
	return trimmed, c.err
}

const reasonFence = "must be 1 or greater"

// Lock is a live lock as the database has it. Times are UTC by the database's clock.
type Lock struct {
	Object Object
	Owner  Owner
	Fence  Fence
	// AcquiredAt is the start of the grant.
	AcquiredAt time.Time
	// LockedAt is the last get, renewal or transfer.
	LockedAt time.Time
	// ExpiresAt is when the lock ends unless it is renewed.
	ExpiresAt time.Time
	// TTL is that of the last get, renewal or transfer, after the type's Policy. List returns it; Inquire does not.
	TTL time.Duration
	// Left is how long the lock lasts from the answer on: whole seconds by the database's clock, rounded up. Count it from before the call,
	// on a monotonic clock, to be independent of the clocks of both machines.
	Left time.Duration
	// Note is the holder's note on this grant; may be empty. It is free text: escape it for a terminal or a page.
	Note string
}

// Key names the grant, for Renew, Release, Assert and Note.
func (l Lock) Key() Key { return Key{Object: l.Object, Operator: l.Owner.Operator, Fence: l.Fence} }

func checkObjectType(argument, value string) (string, error) {
	objectType, err := checkText(argument, value, MaxObjectTypeLength)
	if err == nil && strings.Contains(objectType, ":") {
		err = &InvalidError{Argument: argument, Reason: `must not contain ":", which ends the type in type:id`}
	}
	return objectType, err
}

// checkText returns the name of something without trailing blanks. It must not be empty.
func checkText(argument, value string, maxLength int) (string, error) {
	trimmed, err := checkName(argument, value, maxLength)
	if err == nil && trimmed == "" {
		err = &InvalidError{Argument: argument, Reason: "must not be empty"}
	}
	return trimmed, err
}

// checkAnyText is checkText for an operator or an id that may be left out: both have the same limit.
func checkAnyText(argument, value string) (string, error) {
	if value == "" {
		return "", nil
	}
	return checkText(argument, value, MaxOperatorLength)
}

// checkName is checkOptionalText for a type, an id, an operator or a department.
func checkName(argument, value string, maxLength int) (string, error) {
	trimmed, err := checkOptionalText(argument, value, maxLength)
	if err == nil && strings.ContainsFunc(trimmed, unicode.IsControl) {
		err = &InvalidError{Argument: argument, Reason: "must not contain a control character"}
	}
	return trimmed, err
}

// checkOptionalText returns value without trailing blanks, which may be empty.
func checkOptionalText(argument, value string, maxLength int) (string, error) {
	trimmed := strings.TrimRight(value, " ")
	length := utf8.RuneCountInString(trimmed)
	switch {
	case !utf8.ValidString(trimmed):
		return "", &InvalidError{Argument: argument, Reason: "is not valid UTF-8"}
	case strings.ContainsRune(trimmed, 0):
		return "", &InvalidError{Argument: argument, Reason: "must not contain a NUL character"}
	case length > maxLength:
		return "", &InvalidError{
			Argument: argument,
			Reason:   fmt.Sprintf("has %d characters, at most %d are allowed", length, maxLength),
		}
	}
	return trimmed, nil
}

// checkTTL returns a TTL in whole seconds, zero for one that is not given.
func checkTTL(value time.Duration) (int64, error) { return checkOptionalSeconds("TTL", value) }

// checkSeconds returns a duration in whole seconds.
func checkSeconds(argument string, value time.Duration) (int64, error) {
	if value%time.Second != 0 {
		return 0, &InvalidError{Argument: argument, Reason: fmt.Sprintf("%s is not a whole number of seconds", value)}
	}
	if value < time.Second || value > MaxTTL {
		return 0, &InvalidError{Argument: argument, Reason: "must lie between 1 s and 3650 days"}
	}
	return int64(value / time.Second), nil
}
