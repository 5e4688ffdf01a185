// Package cron_test runs and checks the blocks of docs/cron.md.
package cron_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// blocks returns the code blocks of the page in a language.
func blocks(t *testing.T, language string) []string {
	t.Helper()
	page, err := os.ReadFile("../cron.md")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, block := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllSubmatch(page, -1) {
		found = append(found, string(block[1]))
	}
	if found == nil {
		t.Fatalf("the page has no block of %s", language)
	}
	return found
}

// host is where jobs run: a folder with the programs, and a database of which the DSN is in a file.
type host struct{ folder string }

func newHost(t *testing.T) host {
	t.Helper()
	h := host{folder: t.TempDir()}
	build := exec.CommandContext(t.Context(), "go", "build", "-o", h.path("applockctl"), "../../cmd/applockctl")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, output)
	}
	h.write(t, "jobs.dsn", "sqlite:"+h.path("applock.db")+"\n", 0o600)
	h.write(t, "reports", "#!/bin/sh\necho \"$@\" >> "+h.path("reports.log")+"\n", 0o700)
	if output, code := h.sh(t, "APPLOCK_DSN_FILE="+h.path("jobs.dsn")+" applockctl migrate up"); code != 0 {
		t.Fatalf("migrate up: exit code %d: %s", code, output)
	}
	return h
}

func (h host) path(name string) string { return filepath.Join(h.folder, name) }

func (h host) write(t *testing.T, name, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(h.path(name), []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

// here puts the folder's paths in the place of the page's.
func (h host) here(text string) string {
	return strings.NewReplacer("/etc/applock/jobs.dsn", h.path("jobs.dsn"), "/usr/local/bin/", h.folder+"/").Replace(text)
}

// sh runs a line as cron does: without an environment.
func (h host) sh(t *testing.T, line string) (output string, code int) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "env", "-i", "HOME="+h.folder, "PATH="+h.folder+":/usr/bin:/bin", "sh", "-c", line)
	text, err := command.CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return string(text), exit.ExitCode()
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(text), 0
}

// checkReports checks how often the job has run.
func (h host) checkReports(t *testing.T, times int) {
	t.Helper()
	log, _ := os.ReadFile(h.path("reports.log")) // none is none
	if got := strings.Count(string(log), "--all\n"); got != times {
		t.Errorf("the job has run %d times, want %d", got, times)
	}
}

// Goal: of two hosts that run the crontab's line within a period one runs the job, and the other says nothing. Method: the line, run as cron
// does, twice.
func TestCrontab(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	variable, line, _ := strings.Cut(strings.TrimSpace(h.here(blocks(t, "crontab")[0])), "\n")
	command := regexp.MustCompile(`^(\S+ +){5}`).ReplaceAllString(line, "")
	for range 2 {
		if output, code := h.sh(t, variable+" "+command); code != 0 || output != "" {
			t.Errorf("exit code %d: %s", code, output)
		}
		h.checkReports(t, 1)
	}
}

// Goal: systemd takes the units, and the service runs the job once. Method: systemd-analyze, where it is, and the service's own
// command.
func TestSystemd(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	var units []string
	for _, unit := range blocks(t, "systemd") {
		name := filepath.Base(regexp.MustCompile(`^# (\S+)`).FindStringSubmatch(unit)[1])
		h.write(t, name, h.here(unit), 0o600)
		units = append(units, h.path(name))
	}
	service := h.here(blocks(t, "systemd")[0])
	start := regexp.MustCompile(`ExecStart=(.*)`).FindStringSubmatch(service)[1]
	variable := regexp.MustCompile(`Environment=(.*)`).FindStringSubmatch(service)[1]
	conflict := "0"
	for range 2 {
		if output, code := h.sh(t, variable+" "+start+" || test $? -eq "+conflict); code != 0 {
			t.Errorf("exit code %d: %s", code, output)
		}
		conflict = regexp.MustCompile(`SuccessExitStatus=(\d+)`).FindStringSubmatch(service)[1]
		h.checkReports(t, 1)
	}
	analyze, err := exec.LookPath("systemd-analyze")
	switch {
	case err != nil && os.Getenv("CI") != "":
		t.Fatal("there is no systemd-analyze in PATH: install systemd")
	case err != nil:
		t.Skip("there is no systemd-analyze in PATH: install systemd")
	}
	if output, err := exec.CommandContext(t.Context(), analyze, append([]string{"verify"}, units...)...).CombinedOutput(); err != nil || len(output) > 0 {
		t.Errorf("systemd-analyze verify: %v\n%s", err, output)
	}
}
