package main

import (
	"os"
	"os/exec"
	"runtime"
)

// process is a command that runs.
type process struct {
	command *exec.Cmd
	// leads is true where the command leads a process group, which gets its signals.
	leads bool
	ended chan struct{}
}

// startProcess starts a command. It dies with this program where the system can see to that: Linux asks that the thread that
// has started it lives as long.
func startProcess(command *exec.Cmd) (*process, error) {
	p := &process{command: command, ended: make(chan struct{})}
	p.leads = p.separate()
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := command.Start()
		started <- err
		if err == nil {
			_ = command.Wait() // its state tells all
			close(p.ended)
		}
	}()
	return p, <-started
}

// exitCode is that of the command, or 128 and the signal that has ended it. The command has ended.
func (p *process) exitCode() int {
	if killer, ok := killedBy(p.command.ProcessState); ok {
		return 128 + killer
	}
	return p.command.ProcessState.ExitCode()
}

// forward passes on a signal that this program has got, unless the terminal has sent it to the command as well.
func (p *process) forward(received os.Signal) {
	if p.leads || !fromTerminal(received) {
		p.send(received)
	}
}

// send signals the command. Who has ended already does not get it.
func (p *process) send(signal os.Signal) {
	if !p.leads || !signalGroup(p.command.Process.Pid, signal) {
		_ = p.command.Process.Signal(signal)
	}
}

func (p *process) kill() { p.send(os.Kill) }
