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
	backends []backend
	getenv   func(string) string
	say      func(format string, args ...any)
	signals  <-chan os.Signal
	stdin    io.Reader
	stdout   io.Writer
	stderr   io.Writer
}

// outcome is the result of one backend: a server, or the reason for its absence.
type outcome struct {
	backend string
	server  *server
	missing error
}

// run does everything between the command line and the exit code.
func (l *launcher) run(args []string) int {
	o, err := parseOptions(args, l.getenv(requireVariable), l.known())
	if err != nil {
		l.say("%v", err)
		return exitUsage
	}
	if len(o.only) > 0 {
		l.backends = slices.DeleteFunc(slices.Clone(l.backends), func(b backend) bool { return !slices.Contains(o.only, b.name) })
	}
	var outcomes []outcome
	interrupt := untilSignal(l.signals, func(ctx context.Context) {
		outcomes, err = l.supply(ctx, o.require)
	})
	if interrupt != nil || err != nil {
		l.stop(outcomes)
		return l.abandoned(interrupt, err)
	}
	l.say("backends: %s", summary(outcomes))
	code, err := l.runCommand(o.command, commandEnv(o.require, outcomes))
	l.stop(outcomes)
	if err != nil {
		return l.notStarted(err)
	}
	return code
}

// known lists the names that --require accepts. SQLite is part of the program and always there.
func (l *launcher) known() []string {
	names := []string{"sqlite"}
	for _, b := range l.backends {
		names = append(names, b.name)
	}
	return names
}

// supply starts all backends at the same time, except those that need another one's server. On an error it cancels the unfinished starts
// and returns the running servers, for the caller to stop.
func (l *launcher) supply(ctx context.Context, require []string) ([]outcome, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	outcomes := make([]outcome, len(l.backends))
	var wait sync.WaitGroup
	for i, b := range l.backends {
		wait.Go(func() {
			s, err := b.supply(ctx)
			outcomes[i] = outcome{backend: b.name, server: s, missing: err}
			if err := l.tolerate(b.name, err, require); err != nil {
				cancel(err)
			}
			// Settle the promise last, so that a failure is reported by its own backend and not by a dependent one.
			b.promise.settle(s, err)
		})
	}
	wait.Wait()
	return outcomes, context.Cause(ctx)
}

// tolerate returns the error that ends the run, or nil if it can go on without the backend.
func (l *launcher) tolerate(name string, err error, require []string) error {
	switch {
	case err == nil || !errors.As(err, new(*absentError)):
		return err
	case slices.Contains(require, name):
		return fmt.Errorf("%s is required and missing: %w; provide one of these", name, err)
	default:
		l.say("running without %s: %v", name, err)
		return nil
	}
}

// stop stops the servers that the launcher started, all at the same time. It reports errors, which do not change the exit code: that is
// the command's.
func (l *launcher) stop(outcomes []outcome) {
	var wait sync.WaitGroup
	for _, o := range outcomes {
		if o.server == nil || o.server.stop == nil {
			continue
		}
		wait.Go(func() {
			if err := o.server.stop(); err != nil {
				l.say("%s: %v", o.backend, err)
			}
		})
	}
	wait.Wait()
}

// abandoned reports why the command did not run, and returns the exit code.
func (l *launcher) abandoned(interrupt os.Signal, err error) int {
	if sig, ok := interrupt.(syscall.Signal); ok {
		l.say("%v while the servers were starting, the command was not run", sig)
		return exitSignalBase + int(sig)
	}
	l.say("%v", err)
	return exitFailure
}

func (l *launcher) notStarted(err error) int {
	l.say("%v", err)
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
		return exitNotFound
	}
	return exitNotExecutable
}

// summary lists the backends of the run.
func summary(outcomes []outcome) string {
	parts := []string{"sqlite (embedded)"}
	for _, o := range outcomes {
		if o.server == nil {
			parts = append(parts, fmt.Sprintf("%s missing (%v)", o.backend, o.missing))
			continue
		}
		parts = append(parts, fmt.Sprintf("%s %s (%s)", o.backend, o.server.version, o.server.origin))
	}
	return strings.Join(parts, "; ")
}

// commandEnv is the launcher's environment plus the servers' variables; of two entries with one key the later wins. It includes the
// requirements, so that a test that misses something of a required product fails as well.
func commandEnv(require []string, outcomes []outcome) []string {
	env := append(os.Environ(), backendsVariable+"="+summary(outcomes))
	if len(require) > 0 {
		env = append(env, requireVariable+"="+strings.Join(require, ","))
	}
	for _, o := range outcomes {
		if o.server != nil {
			env = append(env, o.server.env...)
		}
	}
	return env
}
