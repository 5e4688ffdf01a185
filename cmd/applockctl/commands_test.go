package main

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/applock/applock/applock/open"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func newTree() *cobra.Command {
	a := &app{stdout: io.Discard, stderr: io.Discard, getenv: func(string) string { return "" }}
	return a.rootCommand()
}

// The names, flags and defaults are API: a change must be seen in review.
func TestCommandTree(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	describe(&text, newTree())
	golden(t, "commands.golden", text.String())
}

func describe(text *strings.Builder, command *cobra.Command) {
	path, _, _ := strings.Cut(command.CommandPath()+" ", command.Name()+" ")
	fmt.Fprintf(text, "%s%s\n", path, command.Use)
	command.NonInheritedFlags().VisitAll(func(flag *pflag.Flag) {
		fmt.Fprintf(text, "    --%s %s", flag.Name, flag.Value.Type())
		if flag.DefValue != "" {
			fmt.Fprintf(text, " = %s", flag.DefValue)
		}
		if _, required := flag.Annotations[cobra.BashCompOneRequiredFlag]; required {
			text.WriteString(" (required)")
		}
		text.WriteString("\n")
	})
	for _, child := range command.Commands() {
		describe(text, child)
	}
}

// What people read is reviewed in one place.
func TestHelpTexts(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for _, command := range ownCommands(newTree()) {
		fmt.Fprintf(&text, "# %s: %s\n\n%s\n\n%s\n\n%s\n", command.CommandPath(), command.Short, command.Long, command.Example,
			command.NonInheritedFlags().FlagUsages())
	}
	golden(t, "help.golden", text.String())
}

func TestEveryCommandIsExplained(t *testing.T) {
	t.Parallel()
	for _, command := range ownCommands(newTree()) {
		if command.Short == "" || command.Long == "" || command.Example == "" {
			t.Errorf("%s lacks a short text, a long text or an example", command.CommandPath())
		}
		for line := range strings.Lines(command.Long + "\n" + command.Example) {
			if len(line) > 110 {
				t.Errorf("%s has a line that terminals would break: %s", command.CommandPath(), line)
			}
		}
		path := strings.Fields(command.CommandPath())[1:]
		got := userOf("").must(t, append(path, "--help")...)
		if !strings.Contains(got.stdout, command.Long) || !strings.Contains(got.stdout, command.Example) || got.stderr != "" {
			t.Errorf("%s --help prints %s%s", command.CommandPath(), got.stdout, got.stderr)
		}
	}
}

// Goal: the help of the program has its commands in groups, and none is left out. Method: what it
// prints, and the groups of all commands.
func TestCommandsAreInGroups(t *testing.T) {
	t.Parallel()
	got := userOf("").must(t, "--help")
	if !inOrder(got.stdout, "\nRun:\n", "  run ", "\nLocks:\n", "  get ", "\nSupervise:\n", "  watch ", "\nDatabase:\n", "  migrate ", "\nFlags:\n") {
		t.Errorf("the help has no groups: %s", got.stdout)
	}
	root := newTree()
	for _, command := range root.Commands() {
		own := !slices.Contains([]string{"help", "completion"}, command.Name())
		if own && !root.ContainsGroup(command.GroupID) {
			t.Errorf("%s is in no group", command.Name())
		}
	}
}

// Each example is a command line that the program understands, whatever a database would answer.
func TestExamplesParse(t *testing.T) {
	t.Parallel()
	quoted := regexp.MustCompile(`"[^"]*"`)
	for _, command := range ownCommands(newTree()) {
		for line := range strings.Lines(strings.ReplaceAll(command.Example, "\\\n", "")) {
			_, line, _ = strings.Cut(line, program+" ")
			line, _, _ = strings.Cut(line, " |")
			line, _, _ = strings.Cut(line, " >")
			line, _, _ = strings.Cut(line, " &&")
			line = quoted.ReplaceAllString(strings.ReplaceAll(line, `"$(hostname):$$"`, "host:1"), "quoted")
			args := strings.Fields(line)
			found, rest, err := newTree().Find(args)
			if err != nil {
				t.Errorf("%q: %v", line, err)
				continue
			}
			if err := found.ParseFlags(rest); err != nil {
				t.Errorf("%q: %v", line, err)
			}
			if err := found.ValidateArgs(found.Flags().Args()); err != nil {
				t.Errorf("%q: %v", line, err)
			}
			if err := found.ValidateRequiredFlags(); err != nil {
				t.Errorf("%q: %v", line, err)
			}
		}
	}
}

// ownCommands returns all commands that are not cobra's.
func ownCommands(command *cobra.Command) []*cobra.Command {
	if slices.Contains([]string{"help", "completion"}, command.Name()) {
		return nil
	}
	all := []*cobra.Command{command}
	for _, child := range command.Commands() {
		all = append(all, ownCommands(child)...)
	}
	return all
}

func TestCompletion(t *testing.T) {
	t.Parallel()
	dialects := ""
	for _, dialect := range open.Dialects() {
		dialects += dialect.Name + "\n"
	}
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"--output", ""}, "table\njson\n:4\n"},
		{[]string{"list", "--output", ""}, "table\njson\n:4\n"},
		{[]string{"migrate", "print", "--dialect", ""}, dialects + ":4\n"},
		{[]string{"get", "--operator", ""}, ":4\n"},
		{[]string{"--dsn", ""}, ":4\n"},
		{[]string{"get", ""}, "--operator\tthe operator that gets the lock; default $APPLOCK_OPERATOR\n:4\n"},
		{[]string{"inquire", ""}, ":4\n"},
		{[]string{"migrate", ""}, "down\tUndo the newest step\ngoto\tApply or undo steps until VERSION is the newest\nprint\tPrint steps as SQL\n" +
			"repair\tRepair an installation, for example after a restore\n" +
			"status\tPrint all steps, and what differs from them\nuninstall\tRemove everything that was installed\nup\tApply all pending steps\n:4\n"},
	} {
		got := userOf("").must(t, append([]string{"__complete"}, test.args...)...)
		if got.stdout != test.want {
			t.Errorf("%v completes to %q, want %q", test.args, got.stdout, test.want)
		}
	}
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if got := userOf("").must(t, "completion", shell); !strings.Contains(got.stdout, program) {
			t.Errorf("no completion for %s: %q", shell, got.stdout)
		}
	}
}
