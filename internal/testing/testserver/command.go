//go:build unix

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/applock/applock/internal/testing/private"
)

// commandGrace is the time in which a signalled command must end before it is killed.
const commandGrace = 10 * time.Second

// runCommand runs the command to its end, passes signals on to its process group and returns its exit code. An error means that the
// command could not be started.
func (l *launcher) runCommand(argv, env []string) (int, error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = l.stdin, l.stdout, l.stderr
	p, err := private.StartProcess(cmd, syscall.SIGTERM)
	if err != nil {
		return 0, fmt.Errorf("run %q: %w", argv[0], err)
	}
	forwardSignals(p, l.signals)
	return exitCode(p.State()), nil
}

// forwardSignals passes signals on until the process has ended.
func forwardSignals(p *private.Process, signals <-chan os.Signal) {
	var grace <-chan time.Time
	for {
		select {
		case <-p.Done:
			if grace != nil {
				// A shell that dies of the signal may leave children that ignored it.
				p.SignalGroup(syscall.SIGKILL)
			}
			return
		case sig := <-signals:
			if grace == nil {
				grace = time.After(commandGrace)
			}
			p.SignalGroup(sig.(syscall.Signal))
		case <-grace:
			p.SignalGroup(syscall.SIGKILL)
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
