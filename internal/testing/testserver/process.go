//go:build unix

package main

import (
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// process is a running program that leads a process group of its own. The terminal's Ctrl-C reaches only the launcher, which decides
// which processes get the signal and in which order.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed after Wait, when cmd.ProcessState may be read
}

// startProcess starts cmd. If the system supports it, the process gets the signal parentDeath when the launcher dies without having
// stopped it.
func startProcess(cmd *exec.Cmd, parentDeath syscall.Signal) (*process, error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	setParentDeathSignal(cmd.SysProcAttr, parentDeath)
	p := &process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error, 1)
	go p.superviseOnOneThread(started)
	return p, <-started
}

// superviseOnOneThread starts the process and waits for it. The kernel sends the parent death signal when the *thread*
// that started the process ends, hence the thread stays locked to this goroutine for the life of the process.
func (p *process) superviseOnOneThread(started chan<- error) {
	runtime.LockOSThread()
	err := p.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	// The error has nothing that ProcessState lacks.
	_ = p.cmd.Wait()
	close(p.done)
}

// signal sends sig to the process alone. It returns no error, because a process that has ended needs no signal.
func (p *process) signal(sig syscall.Signal) {
	_ = p.cmd.Process.Signal(sig)
}

// signalGroup sends sig to the process and to all its descendants in its group.
func (p *process) signalGroup(sig syscall.Signal) {
	_ = syscall.Kill(-p.cmd.Process.Pid, sig)
}

// ended reports whether the process has ended within limit.
func (p *process) ended(limit time.Duration) bool {
	select {
	case <-p.done:
		return true
	case <-time.After(limit):
		return false
	}
}

// hasEnded reports whether the process has ended already.
func (p *process) hasEnded() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}
