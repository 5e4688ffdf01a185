//go:build unix

package private

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

const (
	// toolKillDelay is the time in which an interrupted tool must end before it is killed.
	toolKillDelay = 20 * time.Second

	// outputLines is the number of lines of a log or a tool's output in an error.
	outputLines = 20
)

// Process is a running program that leads a process group of its own. The terminal's Ctrl-C reaches only the parent, which decides which
// processes get the signal and in which order.
type Process struct {
	Done chan struct{} // closed when it has ended, and State may be called
	cmd  *exec.Cmd
}

// StartProcess starts cmd. If the system supports it, the process gets the signal parentDeath when this process dies without having
// stopped it.
func StartProcess(cmd *exec.Cmd, parentDeath syscall.Signal) (*Process, error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	setParentDeathSignal(cmd.SysProcAttr, parentDeath)
	p := &Process{cmd: cmd, Done: make(chan struct{})}
	started := make(chan error, 1)
	go p.superviseOnOneThread(started)
	return p, <-started
}

// superviseOnOneThread starts the process and waits for it. The kernel sends the parent death signal when the *thread*
// that started the process ends, hence the thread stays locked to this goroutine for the life of the process.
func (p *Process) superviseOnOneThread(started chan<- error) {
	runtime.LockOSThread()
	err := p.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	_ = p.cmd.Wait() // the error has nothing that the state lacks
	close(p.Done)
}

// State is the state of a process that has ended.
func (p *Process) State() *os.ProcessState { return p.cmd.ProcessState }

// signal sends sig to the process alone. A process that has ended needs none.
func (p *Process) signal(sig syscall.Signal) { _ = p.cmd.Process.Signal(sig) }

// SignalGroup sends sig to the process and to all its descendants in its group.
func (p *Process) SignalGroup(sig syscall.Signal) { _ = syscall.Kill(-p.cmd.Process.Pid, sig) }

// ended reports whether the process has ended within limit.
func (p *Process) ended(limit time.Duration) bool {
	select {
	case <-p.Done:
		return true
	case <-time.After(limit):
		return false
	}
}

// Output runs a command made by exec.CommandContext to its end and returns its output, whose last lines are in the error, unless the command has
// another place for it. When the context ends first, it terminates the command and its children.
func Output(cmd *exec.Cmd) (string, error) {
	var output bytes.Buffer
	if cmd.Stdout == nil {
		cmd.Stdout, cmd.Stderr = &output, &output
	}
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = toolKillDelay
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s: %w%s", filepath.Base(cmd.Path), err, quoteTail(output.String()))
	}
	return output.String(), nil
}

// quoteTail returns the last lines of text, indented, for the end of an error; nothing if there are none.
func quoteTail(text string) string {
	text = strings.TrimSpace(text)
	if text == "" {
		return ""
	}
	lines := strings.Split(text, "\n")
	return "\n    " + strings.Join(lines[max(0, len(lines)-outputLines):], "\n    ")
}
