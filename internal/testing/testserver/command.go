//go:build unix

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// commandGrace is the time in which a signalled command must end before it is killed.
const commandGrace = 10 * time.Second

// runCommand runs the command to its end, passes signals on to its process group and returns its exit code. An error means that the
// command could not be started.
func (l *launcher) runCommand(argv, env []string) (int, error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = l.stdin, l.stdout, l.stderr
	p, err := startProcess(cmd, syscall.SIGTERM)
	if err != nil {
		return 0, fmt.Errorf("run %q: %w", argv[0], err)
	}
	forwardSignals(p, l.signals)
	return exitCode(cmd.ProcessState), nil
}

// forwardSignals passes signals on until the process has ended.
func forwardSignals(p *process, signals <-chan os.Signal) {
	var grace <-chan time.Time
	for {
		select {
		case <-p.done:
			if grace != nil {
				// A shell that dies of the signal may leave children that ignored it.
				p.signalGroup(syscall.SIGKILL)
			}
			return
		case sig := <-signals:
			if grace == nil {
				grace = time.After(commandGrace)
			}
			p.signalGroup(sig.(syscall.Signal))
		case <-grace:
			p.signalGroup(syscall.SIGKILL)
		}
	}
}

// untilSignal runs f with a context that the first signal cancels, and returns that signal or nil. Later signals stay in the channel.
func untilSignal(signals <-chan os.Signal, f func(context.Context)) os.Signal {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	caught := make(chan os.Signal, 1)
	go func() {
		defer close(caught)
		select {
		case sig := <-signals:
			caught <- sig
			cancel()
		case <-ctx.Done():
		}
	}()
	f(ctx)
	cancel()
	return <-caught
}

// exitCode is the code that a shell would report.
func exitCode(state *os.ProcessState) int {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return exitSignalBase + int(status.Signal())
	}
	return state.ExitCode()
}
