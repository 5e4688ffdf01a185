//go:build unix

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
)

// host is the machine. Tests replace its functions.
type host struct {
	platform string // as in "linux/amd64"
	environ  func() []string
	lookPath func(name string) (string, error)
	cacheDir func() (string, error)

	// output runs a tool and returns its output, which an error includes.
	output func(ctx context.Context, name string, args ...string) (string, error)

	// become replaces this process by another program.
	become func(path string, args, env []string) error

	// say reports progress.
	say func(format string, args ...any)
}

func newHost() host {
	return host{
		platform: runtime.GOOS + "/" + runtime.GOARCH,
		environ:  os.Environ,
		lookPath: exec.LookPath,
		cacheDir: os.UserCacheDir,
		output:   output,
		become:   syscall.Exec,
		say: func(format string, args ...any) {
			fmt.Fprintf(os.Stderr, "ibmdriver: "+format+"\n", args...)
		},
	}
}

func output(ctx context.Context, name string, args ...string) (string, error) {
	text, err := exec.CommandContext(ctx, name, args...).CombinedOutput() //nolint:gosec // a tool that the developer has installed
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", name, err, text)
	}
	return string(text), nil
}

// getenv returns the value of a variable, empty if it is not set.
func (h host) getenv(name string) string { return valueOf(h.environ(), name) }

func valueOf(environ []string, name string) string {
	for _, variable := range environ {
		if value, found := strings.CutPrefix(variable, name+"="); found {
			return value
		}
	}
	return ""
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
