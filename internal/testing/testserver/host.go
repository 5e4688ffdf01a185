//go:build unix

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// toolKillDelay is the time in which an interrupted tool must end before it is killed.
const toolKillDelay = 20 * time.Second

// outputLines is the number of lines of a log or a tool's output in an error.
const outputLines = 20

// host is the machine as the sources see it. Tests replace its functions, so that no test installs a package or starts a container.
type host struct {
	getenv   func(string) string
	lookPath func(string) (string, error)
	glob     func(string) ([]string, error)
	isFile   func(string) bool
	isRoot   bool

	// resolve returns the target of a link, or the path itself. Distributions put links to some programs into the path; the other
	// programs are at the links' targets.
	resolve func(path string) string

	// run runs a tool to its end; its error carries the last lines of the tool's output.
	run func(ctx context.Context, name string, args ...string) error

	// output is the same as run, and returns the tool's output.
	output func(ctx context.Context, name string, args ...string) (string, error)

	// installing serializes changes of the machine's packages, because apt-get does not wait for itself everywhere.
	installing *sync.Mutex

	// say prints progress for people.
	say func(format string, args ...any)
}

func newHost(say func(format string, args ...any)) host {
	return host{
		getenv:   os.Getenv,
		lookPath: exec.LookPath,
		glob:     filepath.Glob,
		isFile:   isFile,
		isRoot:   os.Geteuid() == 0,
		resolve:  resolve,
		run: func(ctx context.Context, name string, args ...string) error {
			return runTool(exec.CommandContext(ctx, name, args...))
		},
		output: func(ctx context.Context, name string, args ...string) (string, error) {
			return toolOutput(exec.CommandContext(ctx, name, args...))
		},
		installing: &sync.Mutex{},
		say:        say,
	}
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

func resolve(path string) string {
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return path
	}
	return target
}

// runTool runs a command made by exec.CommandContext to its end.
func runTool(cmd *exec.Cmd) error {
	_, err := toolOutput(cmd)
	return err
}

// toolOutput runs a command as runTool does and returns its output. When the context ends first, it terminates the command and its
// children.
func toolOutput(cmd *exec.Cmd) (string, error) {
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
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
	lines = lines[max(0, len(lines)-outputLines):]
	return "\n    " + strings.Join(lines, "\n    ")
}
