// Command manual writes the man pages and the completions of a program for its packages: manual PROGRAM FOLDER SUMMARY. It asks the program
// itself, so that a page says what --help says. The pages go to FOLDER/man, the completions to FOLDER/completions. A program without commands has
// one page and no completions.
package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "manual:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, arguments []string) error {
	if len(arguments) != 3 {
		return errors.New("usage: manual PROGRAM FOLDER SUMMARY")
	}
	asked, folder := cli{ctx: ctx, path: arguments[0]}, arguments[1]
	version, err := asked.output("--version")
	if err != nil {
		return err
	}
	if err := asked.writePages(filepath.Join(folder, "man"), strings.TrimSpace(version), nil, arguments[2]); err != nil {
		return err
	}
	commands, err := asked.subcommands(nil)
	if err != nil || len(commands) == 0 {
		return err
	}
	return asked.writeCompletions(filepath.Join(folder, "completions"))
}

// cli is the program that is described.
type cli struct {
	ctx  context.Context //nolint:containedctx // the context of the whole run
	path string
}

func (c cli) output(arguments ...string) (string, error) {
	command := exec.CommandContext(c.ctx, c.path, arguments...) //nolint:gosec // the caller names the program
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	if err := command.Run(); err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", c.path, strings.Join(arguments, " "), err, stderr.String())
	}
	return stdout.String(), nil
}

// subcommand is a line of the program's completion of "help COMMAND".
type subcommand struct{ name, short string }

func (c cli) subcommands(command []string) ([]subcommand, error) {
	listed, err := c.output(append(append([]string{"__complete", "help"}, command...), "")...)
	if err != nil {
		return nil, err
	}
	var found []subcommand
	for line := range strings.Lines(listed) {
		name, short, isCommand := strings.Cut(strings.TrimSpace(line), "\t")
		if isCommand && name != "help" {
			found = append(found, subcommand{name, short})
		}
	}
	return found, nil
}

// writePages writes the page of a command and those of all commands below it.
func (c cli) writePages(folder, version string, command []string, short string) error {
	below, err := c.subcommands(command)
	if err != nil {
		return err
	}
	help, err := c.output(append(command[:len(command):len(command)], "--help")...)
	if err != nil {
		return err
	}
	name := strings.Join(append([]string{filepath.Base(c.path)}, command...), "-")
	if err := writeCompressed(filepath.Join(folder, name+".1.gz"), page(name, version, short, help, below)); err != nil {
		return err
	}
	for _, each := range below {
		if err := c.writePages(folder, version, append(command[:len(command):len(command)], each.name), each.short); err != nil {
			return err
		}
	}
	return nil
}

func (c cli) writeCompletions(folder string) error {
	for shell, file := range map[string]string{"bash": "applockctl", "zsh": "_applockctl", "fish": "applockctl.fish"} {
		script, err := c.output("completion", shell)
		if err != nil {
			return err
		}
		if err := write(filepath.Join(folder, shell, file), []byte(script)); err != nil {
			return err
		}
	}
	return nil
}

// writeCompressed writes no name and no time, so that equal texts give equal bytes.
func writeCompressed(file, text string) error {
	var compressed bytes.Buffer
	writer, err := gzip.NewWriterLevel(&compressed, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := writer.Write([]byte(text)); err != nil {
		return err
	}
	if err := writer.Close(); err != nil {
		return err
	}
	return write(file, compressed.Bytes())
}

func write(file string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil { //nolint:gosec // packages are for all users
		return err
	}
	return os.WriteFile(file, content, 0o644) //nolint:gosec // packages are for all users
}
