//go:build unix && !linux

package private

import "syscall"

// setParentDeathSignal does nothing: only Linux supports it. Elsewhere a launcher killed with SIGKILL leaves its servers.
func setParentDeathSignal(*syscall.SysProcAttr, syscall.Signal) {}
