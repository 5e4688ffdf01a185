package applock

import "time"

// WaitSeconds is waitSeconds, for its test.
func WaitSeconds(wait time.Duration) int64 { return waitSeconds(wait) }

// ErrClosing is errClosing.
var ErrClosing = errClosing
