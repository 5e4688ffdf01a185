package main

import (
	"os"
	"os/exec"
	"runtime"
)

type process struct {
	command *exec.Cmd
	// leads is true if the command leads a process group; signals then go to the group.
	leads bool
	ended chan struct{}
}

// startProcess starts a command that dies with this program, if the system supports it. On Linux the thread that starts it must live as
// long.
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
			_ = command.Wait() // the state has the result
			close(p.ended)
		}
	}()
	return p, <-started
}

// exitCode returns the exit code of the ended command, or 128 plus the number of the signal that ended it.
func (p *process) exitCode() int {
	if killer, ok := killedBy(p.command.ProcessState); ok {
		return 128 + killer
	}
	return p.command.ProcessState.ExitCode()
}

// forward passes a signal on, unless the terminal has sent it to the command as well.
func (p *process) forward(received os.Signal) {
	if p.leads || !fromTerminal(received) {
		p.send(received)
	}
}

// send signals the command. It does nothing if the command has ended.
func (p *process) send(signal os.Signal) {
	if !p.leads || !signalGroup(p.command.Process.Pid, signal) {
		_ = p.command.Process.Signal(signal)
	}
}

func (p *process) kill() { p.send(os.Kill) }
