package lease

import (
	"syscall"
	"time"
	"unsafe"
)

// Clocks of Linux that no step moves. Go's timers use the first one, which stands still while the machine sleeps.
const (
	clockMonotonic = 1
	clockBoottime  = 7
)

// sleepClock returns a clock of how long the machine has slept since a fixed moment in the past.
func sleepClock() func() time.Duration { return kernelSlept }

func kernelSlept() time.Duration {
	const undisturbed = time.Millisecond // the kernel may run something else between the two readings
	for {
		before := clock(clockMonotonic)
		since := clock(clockBoottime)
		if took := clock(clockMonotonic) - before; took < undisturbed {
			return since - before - took/2
		}
	}
}

func clock(id uintptr) time.Duration {
	var now syscall.Timespec
	if _, _, err := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, id, uintptr(unsafe.Pointer(&now)), 0); err != 0 { //nolint:gosec // the kernel's interface
		return 0
	}
	return time.Duration(now.Nano())
}
