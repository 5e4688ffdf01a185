//go:build !linux

package lease

import "time"

// sleepClock returns a clock of how long the machine has slept. Go has none here. So a wall clock that is set forward counts as a sleep,
// and no lease is trusted after a real one.
func sleepClock() func() time.Duration {
	began := time.Now()
	return func() time.Duration {
		now := time.Now()
		return now.Round(0).Sub(began.Round(0)) - now.Sub(began) // without its monotonic reading a time follows the wall clock
	}
}
