//go:build unix

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// commandLine measures applockctl from start to end, with a call and without.
func (b *bench) commandLine(ctx context.Context, p *place) error {
	program, err := b.program(ctx)
	if err != nil {
		return err
	}
	dsn := p.dsn
	if p.product == productSQLite {
		dsn = "sqlite:" + dsn
	}
	f := figure{
		Product: p.product, Name: "applockctl get, from start to answer", Unit: "ms", Samples: true, Baseline: "applockctl help",
	}
	for range b.starts {
		var times []float64
		for _, args := range [][]string{{"get", "bench:command", "--operator", jdoe}, {"help"}} {
			command := exec.CommandContext(ctx, program, args...)
			command.Env = append(os.Environ(), "APPLOCK_DSN="+dsn) // a list of processes does not show it
			began := time.Now()
			if err := started(command); err != nil {
				return err
			}
			times = append(times, milliseconds(time.Since(began))...)
		}
		b.report.compare(f, times[:1], times[1:])
	}
	return nil
}

// program builds applockctl, once.
func (b *bench) program(ctx context.Context) (string, error) {
	program := filepath.Join(b.directory, "applockctl")
	if _, err := os.Stat(program); err == nil {
		return program, nil
	}
	where, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/applock/applock").Output()
	if err != nil {
		return "", err
	}
	build := exec.CommandContext(ctx, "go", "build", "-o", program, "./cmd/applockctl")
	build.Dir = strings.TrimSpace(string(where)) // this module's go.sum lacks the command line's dependencies
	return program, started(build)
}

// started runs a program. An error has the program's output.
func started(command *exec.Cmd) error {
	if said, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", filepath.Base(command.Path), err, said)
	}
	return nil
}
