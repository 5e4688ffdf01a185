package main

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// testProcessSecrets: goal: a password of the environment, or of a file, is in no command line, and in nothing that is written; a command that run starts has
// of it what the shell would have given it, and no more. Method: a user of each product with a password, named in each way; all processes' command
// lines on Linux, as the command of run sees them, and its own environment.
func testProcessSecrets(t *testing.T, b binary) {
	onServers(t, func(t *testing.T, s server) {
		dsn := s.installedDatabase(t)
		const secret = "Zq7xSecret"
		name := s.newUser(t, dsn, secret)
		userOf(dsn).must(t, "grant", "--to", name, "--as", "supervisor")
		mine := withUser(t, dsn, name, secret)
		file := filepath.Join(t.TempDir(), "dsn")
		if err := os.WriteFile(file, []byte(mine+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, way := range []struct {
			variable  string
			flags     []string
			inherited bool // the command of run has the password
			visible   bool // the command line has it
		}{
			{variable: dsnVariable + "=" + mine, inherited: true},
			{variable: dsnFileVariable + "=" + file},
			{variable: "NOTHING=", flags: []string{"--dsn", mine}, visible: true},
		} {
			run := func(args ...string) result {
				var stdout, stderr bytes.Buffer
				command := b.command(t.Context(), append(way.flags, args...)...)
				command.Env = []string{way.variable, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + b.directory}
				command.Stdout, command.Stderr = &stdout, &stderr
				return result{code: codeOf(command.Run()), stdout: stdout.String(), stderr: stderr.String()}
			}
			for _, args := range []string{
				"get customer:42 --operator jdoe --output json", "list --output json", "migrate status", "get", "--help", "__complete inquire cust", "verify",
			} {
				checkHidden(t, run(strings.Fields(args)...))
			}
			environment := run("run", "job:secret", "--", "env")
			environment.check(t, exitYes, "")
			if has := strings.Contains(environment.stdout, secret); has != way.inherited {
				t.Errorf("%s %v: the command has the password in its environment: %t, want %t", way.variable[:12], way.flags, has, way.inherited)
			}
			if runtime.GOOS != "linux" {
				continue
			}
			// Only this way's processes: those of another one have the password where they may.
			lines := run("run", "job:secret", "--", "sh", "-c", "cat /proc/$PPID/cmdline /proc/$$/cmdline")
			lines.check(t, exitYes, "")
			if !strings.Contains(lines.stdout, "job:secret") || strings.Contains(lines.stdout, secret) != way.visible {
				t.Errorf("%s: the command lines are %q, want the password there: %t", way.variable[:12], lines.stdout, way.visible)
			}
		}
	})
}
