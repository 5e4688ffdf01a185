//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
)

// Exit codes of the launcher itself, as shells use them. All other codes are the command's.
const (
	exitFailure       = 1
	exitUsage         = 2
	exitNotExecutable = 126
	exitNotFound      = 127
	exitSignalBase    = 128
)

// backendsVariable describes the servers to the command in words, for a report.
const backendsVariable = "APPLOCK_TEST_BACKENDS"

// launcher runs one command with the servers of its backends.
type launcher struct {
	backends       []*backend
	require        []string
	compiler       compiler
	say            func(format string, args ...any)
	progress       progress
	signals        <-chan os.Signal
	stdin          io.Reader
	stdout, stderr io.Writer
}

// run starts the servers, runs the command, stops the servers and returns the exit code.
func (l *launcher) run(command []string) int {
	var err error
	interrupt := untilSignal(l.signals, func(ctx context.Context) { err = l.supply(ctx) })
	defer l.stop()
	if sig, ok := interrupt.(syscall.Signal); ok {
		l.say("%v while the servers were starting, the command was not run", sig)
		return exitSignalBase + int(sig)
	}
	if err != nil {
		l.say("%v", err)
		return exitFailure
	}
	l.say("backends: %s", l.summary())
	code, err := l.runCommand(command, l.commandEnv())
	switch {
	case err == nil:
		return code
	case errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist):
		code = exitNotFound
	default:
		code = exitNotExecutable
	}
	l.say("%v", err)
	return code
}

// supply starts all backends and the compiler at the same time, except backends that need another one's server. On an error it cancels the
// unfinished starts.
func (l *launcher) supply(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wait sync.WaitGroup
	for _, b := range l.backends {
		b.done = make(chan struct{})
	}
	for _, b := range l.backends {
		wait.Go(func() {
			b.server, b.missing = b.supply(ctx)
			if err := l.tolerate(b); err != nil {
				cancel(err)
			}
			// Last, so that a failure is reported by its own backend and not by a dependent one.
			close(b.done)
		})
	}
	if l.compiler.command != "" {
		wait.Go(func() { l.compiler.run(ctx) })
	}
	supplied := make(chan struct{})
	go func() { wait.Wait(); close(supplied) }()
	l.tell(supplied)
	return context.Cause(ctx)
}

// tolerate returns the error that ends the run, or nil if it can go on without the backend.
func (l *launcher) tolerate(b *backend) error {
	switch {
	case b.missing == nil || !isAbsent(b.missing):
		return b.missing
	case slices.Contains(l.require, b.name):
		return fmt.Errorf("%s is required and missing: %w; provide one of these", b.name, b.missing)
	default:
		l.say("running without %s: %v", b.name, b.missing)
		return nil
	}
}

// stop stops the servers that the launcher started, all at the same time. It reports errors, which do not change the exit code: that is
// the command's.
func (l *launcher) stop() {
	var wait sync.WaitGroup
	for _, b := range l.backends {
		if b.server == nil || b.server.stop == nil {
			continue
		}
		wait.Go(func() {
			if err := b.server.stop(); err != nil {
				l.say("%s: %v", b.name, err)
			}
		})
	}
	wait.Wait()
}

// summary lists the backends of the run.
func (l *launcher) summary() string {
	parts := []string{"sqlite (embedded)"}
	for _, b := range l.backends {
		if b.server == nil {
			parts = append(parts, fmt.Sprintf("%s missing (%v)", b.name, b.missing))
			continue
		}
		parts = append(parts, fmt.Sprintf("%s %s (%s)", b.name, b.server.version, b.server.origin))
	}
	return strings.Join(parts, "; ")
}

// commandEnv is the launcher's environment plus the servers' variables; of two entries with one key the later wins. It includes the
// requirements, so that a test that misses something of a required product fails as well.
func (l *launcher) commandEnv() []string {
	env := append(os.Environ(), backendsVariable+"="+l.summary())
	if len(l.require) > 0 {
		env = append(env, requireVariable+"="+strings.Join(l.require, ","))
	}
	for _, b := range l.backends {
		if b.server != nil {
			env = append(env, b.server.env...)
		}
	}
	return env
}
