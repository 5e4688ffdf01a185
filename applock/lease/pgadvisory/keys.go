package pgadvisory

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease/internal/sessions"
)

// LockKey is the key of an advisory lock: one of 64 bits, from [Bigint], or two of 32, from [Ints]. Locks of the two kinds never exclude
// each other. The zero value is Bigint(0).
type LockKey struct {
	bits int64 // of two keys, the first is in the upper half
	pair bool
}

// Bigint is the key of pg_advisory_lock(key).
func Bigint(key int64) LockKey { return LockKey{bits: key} }

// Ints are the keys of pg_advisory_lock(key1, key2).
func Ints(key1, key2 int32) LockKey {
	return LockKey{bits: int64(key1)<<32 | int64(uint32(key2)), pair: true} //nolint:gosec // the same bits
}

// String returns the arguments for pg_advisory_lock.
func (k LockKey) String() string {
	if k.pair {
		return fmt.Sprintf("%d, %d", k.first(), int32(k.bits)) //nolint:gosec // the lower half
	}
	return fmt.Sprint(k.bits)
}

func (k LockKey) first() int32 { return int32(k.bits >> 32) } //nolint:gosec // the upper half

// Key returns the key of the advisory lock on an object unless Config.Keys says otherwise: the first 8 bytes of the SHA-256 of
// NAMESPACE:TYPE:ID. An empty namespace is "applock".
func Key(namespace string, object applock.Object) int64 {
	digest := sessions.Digest(namespace, object)
	return int64(binary.BigEndian.Uint64(digest[:8])) //nolint:gosec // the same bits
}

var errHintKey = errors.New("its first key is one that this package uses to show who waits; choose another one, or another Namespace")

func (s *server) Name(object applock.Object) (LockKey, error) {
	if s.keys == nil {
		return Bigint(Key(s.namespace, object)), nil
	}
	key, err := s.keys(object)
	if err == nil && key.pair && key.first() == s.hintClass() {
		err = errHintKey
	}
	if err != nil {
		return LockKey{}, &applock.InvalidError{Argument: "Object", Reason: fmt.Sprintf("%s has no key: %v", object, err)}
	}
	return key, nil
}
