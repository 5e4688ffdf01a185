//go:build unix

package main

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// asLauncher makes the test binary be a launcher of the products that it lists, for the tests that need a process of its
// own to signal or kill.
const asLauncher = "APPLOCK_TESTSERVER_AS_LAUNCHER"

func TestMain(m *testing.M) {
	if names := splitList(os.Getenv(asLauncher)); len(names) > 0 {
		say := newSay(os.Stderr)
		chosen := slices.DeleteFunc(backends(newHost(say)), func(b backend) bool { return !slices.Contains(names, b.name) })
		os.Exit(runLauncher(chosen, say))
	}
	os.Exit(m.Run())
}

func TestParseOptions(t *testing.T) {
	t.Parallel()
	known := []string{"sqlite", "postgres"}
	for name, test := range map[string]struct {
		args        []string
		environment string
		want        options
		wantErr     string
	}{
		"CommandOnly":          {args: []string{"--", "go", "test"}, want: options{command: []string{"go", "test"}}},
		"RequireByFlag":        {args: []string{"--require", "postgres", "--", "x"}, want: options{require: []string{"postgres"}, command: []string{"x"}}},
		"RequireByEnvironment": {args: []string{"--", "x"}, environment: "postgres, mysql", want: options{require: []string{"postgres", "mysql"}, command: []string{"x"}}},
		"RequiredTwiceIsOnce":  {args: []string{"--require=postgres", "x"}, environment: "postgres", want: options{require: []string{"postgres"}, command: []string{"x"}}},
		"FlagsOfTheCommand":    {args: []string{"--", "x", "--require", "y"}, want: options{command: []string{"x", "--require", "y"}}},
		"UnknownRequirement":   {args: []string{"--require", "postgers", "--", "x"}, wantErr: `unknown product "postgers", use one of sqlite, postgres`},
		"NoCommand":            {args: []string{"--"}, wantErr: "usage:"},
		"UnknownFlag":          {args: []string{"--requires", "x"}, wantErr: "usage:"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := parseOptions(test.args, test.environment, known)
			if test.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), test.wantErr) {
					t.Fatalf("error = %v, want one with %q", err, test.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got.require, test.want.require) || !slices.Equal(got.command, test.want.command) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// A command that reads a terminal from the background would be stopped for ever.
func TestCommandInputIsNeverADevice(t *testing.T) {
	t.Parallel()
	device, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer device.Close()
	if commandInput(device) != nil {
		t.Error("a character device was passed on")
	}
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	defer writer.Close()
	if commandInput(reader) != reader {
		t.Error("a pipe was not passed on")
	}
}
