package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/applock/applock/internal/testing/testfile"
)

// promisedLines returns what scripts depend on: each command, and each of its flags with its type and default.
func promisedLines(command *cobra.Command) []string {
	lines := []string{command.CommandPath()}
	command.NonInheritedFlags().VisitAll(func(flag *pflag.Flag) {
		lines = append(lines, fmt.Sprintf("%s --%s %s = %s", command.CommandPath(), flag.Name, flag.Value.Type(), flag.DefValue))
	})
	for _, child := range command.Commands() {
		lines = append(lines, promisedLines(child)...)
	}
	return lines
}

// required returns the flags that a command line must have.
func required(command *cobra.Command) []string {
	var lines []string
	command.NonInheritedFlags().VisitAll(func(flag *pflag.Flag) {
		if _, is := flag.Annotations[cobra.BashCompOneRequiredFlag]; is {
			lines = append(lines, fmt.Sprintf("%s --%s required", command.CommandPath(), flag.Name))
		}
	})
	for _, child := range command.Commands() {
		lines = append(lines, required(child)...)
	}
	return lines
}

// brokenCommands returns what is no longer as it was released, and what released commands newly require.
func brokenCommands(released string, root *cobra.Command) []string {
	was := strings.Split(strings.TrimSpace(released), "\n")
	now := append(promisedLines(root), required(root)...)
	var broken []string
	for _, line := range was {
		// A flag that is no longer required breaks nobody.
		if line != "" && !strings.HasSuffix(line, " required") && !slices.Contains(now, line) {
			broken = append(broken, line)
		}
	}
	for _, line := range required(root) {
		command, _, _ := strings.Cut(line, " --")
		if slices.Contains(was, command) && !slices.Contains(was, line) {
			broken = append(broken, line)
		}
	}
	return broken
}

// Goal: a script that works goes on working: commands and flags stay, with their types and defaults, and none is newly required. Method: the tree
// of commands against testdata/released_commands.txt; APPLOCK_RELEASE=1 (make freeze) adds what has come.
func TestReleasedCommandsStay(t *testing.T) {
	t.Parallel()
	const file = "testdata/released_commands.txt"
	broken := brokenCommands(testfile.Read(t, file), newTree())
	for _, line := range broken {
		t.Errorf("released otherwise: %s\nput it back: docs/evolution.md", line)
	}
	if os.Getenv("APPLOCK_RELEASE") != "" && broken == nil {
		text := strings.Join(append(promisedLines(newTree()), required(newTree())...), "\n") + "\n"
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// Goal: each change that breaks a script is noticed, and nothing else is. Method: a tree of two commands, and changes of it.
func TestReleasedCommandsNoticeChanges(t *testing.T) {
	t.Parallel()
	tree := func(change func(get *cobra.Command)) *cobra.Command {
		root, get := &cobra.Command{Use: "ctl"}, &cobra.Command{Use: "get", Run: func(*cobra.Command, []string) {}}
		get.Flags().Duration("ttl", 0, "")
		get.Flags().String("operator", "", "")
		must(t, get.MarkFlagRequired("operator"))
		change(get)
		root.AddCommand(get)
		return root
	}
	unchanged := tree(func(*cobra.Command) {})
	released := strings.Join(append(promisedLines(unchanged), required(unchanged)...), "\n")
	for what, test := range map[string]struct {
		change func(get *cobra.Command)
		want   int
	}{
		"another name":     {func(get *cobra.Command) { get.Use = "fetch" }, 3},
		"another flag":     {func(get *cobra.Command) { get.Flags().Lookup("ttl").Name = "lasts" }, 1},
		"another default":  {func(get *cobra.Command) { get.Flags().Lookup("ttl").DefValue = "7d" }, 1},
		"a flag required":  {func(get *cobra.Command) { must(t, get.MarkFlagRequired("ttl")) }, 1},
		"a new one, too":   {func(get *cobra.Command) { get.Flags().Bool("new", false, ""); must(t, get.MarkFlagRequired("new")) }, 1},
		"a flag more":      {func(get *cobra.Command) { get.Flags().Bool("new", false, "") }, 0},
		"a command more":   {func(get *cobra.Command) { get.AddCommand(&cobra.Command{Use: "more"}) }, 0},
		"not required now": {func(get *cobra.Command) { get.Flags().Lookup("operator").Annotations = nil }, 0},
	} {
		if broken := brokenCommands(released, tree(test.change)); len(broken) != test.want {
			t.Errorf("%s: noticed %q, want %d", what, broken, test.want)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
