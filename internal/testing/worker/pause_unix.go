//go:build unix

package worker

import (
	"errors"
	"os/exec"
	"syscall"
	"testing"
)

// apart puts a process into a group of its own: should the test die, the system ends a stopped process that is the last of its group.
func apart(command *exec.Cmd) { command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// Pause stops the process, and returns when it has stopped.
func (p *Process) Pause(t testing.TB) {
	t.Helper()
	_ = p.Process.Signal(syscall.SIGSTOP)
	for {
		var status syscall.WaitStatus
		_, err := syscall.Wait4(p.Process.Pid, &status, syscall.WUNTRACED, nil)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil || !status.Stopped() {
			t.Fatalf("a process has not stopped: %#x, %v", status, err)
		}
		return
	}
}

// Resume has a stopped process go on.
func (p *Process) Resume() { _ = p.Process.Signal(syscall.SIGCONT) }
