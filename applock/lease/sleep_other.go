//go:build !linux

package lease

import "time"

// sleepClock returns a clock that tells how long the machine has slept. Go has none here: a wall clock that is set forward is taken for a sleep,
// so that no lease is trusted after one.
func sleepClock() func() time.Duration {
	began := time.Now()
	return func() time.Duration {
		now := time.Now()
		return now.Round(0).Sub(began.Round(0)) - now.Sub(began) // without its monotonic reading a time goes by the wall clock
	}
}
