// Package cron_test runs and checks the blocks of docs/cron.md.
package cron_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/applock/applock/internal/testing/readme"
	"github.com/applock/applock/internal/testing/testdb"
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
type host struct {
	folder string
	// as is what commands are begun with, so that another user runs them.
	as []string
}

// newHost makes a host with a database of its own, of SQLite if dsn is empty.
func newHost(t *testing.T, dsn string) host {
	t.Helper()
	h := host{folder: filepath.Dir(testdb.Applockctl(t))}
	if dsn == "" {
		dsn = "sqlite:" + h.path("applock.db")
	}
	h.write(t, "jobs.dsn", dsn+"\n", 0o600)
	h.write(t, "reports", "#!/bin/sh\necho \"$@\" >> "+h.path("reports.log")+"\n", 0o700)
	if output, code := h.sh(t, "APPLOCK_DSN_FILE="+h.path("jobs.dsn")+" "+h.path("applockctl")+" migrate up"); code != 0 {
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
	words := append(slices.Clone(h.as), "env", "-i", "HOME="+h.folder, "PATH=/usr/bin:/bin", "sh", "-c", line)
	command := exec.CommandContext(t.Context(), words[0], words[1:]...)
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

// withoutTimes returns the command of a crontab's line.
func withoutTimes(line string) string {
	return regexp.MustCompile(`^(\S+ +){5}`).ReplaceAllString(line, "")
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
	h := newHost(t, "")
	variable, line, _ := strings.Cut(strings.TrimSpace(h.here(blocks(t, "crontab")[0])), "\n")
	command := withoutTimes(line)
	for range 2 {
		if output, code := h.sh(t, variable+" "+command); code != 0 || output != "" {
			t.Errorf("exit code %d: %s", code, output)
		}
		h.checkReports(t, 1)
	}
}

// runTwice runs each line of some crontabs twice, which says nothing.
func (h host) runTwice(t *testing.T, crontabs []string) {
	t.Helper()
	files := strings.NewReplacer("/etc/applock/janitor.dsn", h.path("jobs.dsn"), "/etc/applock/administrator.dsn", h.path("jobs.dsn"))
	variable := ""
	for _, block := range crontabs {
		for line := range strings.Lines(files.Replace(h.here(block))) {
			command := withoutTimes(strings.TrimSpace(line))
			if strings.HasPrefix(command, "APPLOCK_DSN_FILE=") {
				variable = command
				continue
			}
			for range 2 {
				if output, code := h.sh(t, variable+" "+command); code != 0 || output != "" {
					t.Errorf("%s: exit code %d: %s", command, code, output)
				}
			}
		}
	}
}

// Goal: the janitor's and the administrator's lines work. Method: run each twice.
func TestPurges(t *testing.T) {
	t.Parallel()
	h := newHost(t, "")
	h.runTwice(t, blocks(t, "crontab")[1:])
}

// Goal: systemd takes the units, and the service runs the job once. Method: systemd-analyze, where it is, and the service's own
// command.
func TestSystemd(t *testing.T) {
	t.Parallel()
	h := newHost(t, "")
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

// Goal: Kubernetes takes the manifest, and would not take a wrong one. Method: the schema of its API.
func TestHeavyKubernetesTakesTheManifest(t *testing.T) {
	t.Parallel()
	manifest := blocks(t, "yaml")[0]
	for text, want := range map[string]int{
		manifest: 0,
		strings.Replace(manifest, "backoffLimit", "backOffLimit", 1):  1,
		strings.Replace(manifest, "values: [4]", "values: [four]", 1): 1,
	} {
		file := filepath.Join(t.TempDir(), "cronjob.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if output, code := readme.Python(t, "../..", "", "kubernetes_validate", "--strict", file); code != want || code == 0 && !strings.Contains(output, "passed for resource cronjob/reports") {
			t.Errorf("exit code %d, want %d: %s\n%s", code, want, output, text)
		}
	}
}

// pod runs what the manifest's container runs, as Kubernetes does: the user and the mode of the secret's file are the
// manifest's where the test may choose them.
type pod struct {
	host
	manifest string
}

func newPod(t *testing.T, dsn string) pod {
	t.Helper()
	p := pod{newHost(t, dsn), blocks(t, "yaml")[0]}
	const user = "65532"
	if p.value(t, "runAsUser: (\\d+)")+p.value(t, "runAsGroup: (\\d+)")+p.value(t, "fsGroup: (\\d+)") != user+user+user || p.value(t, "defaultMode: (\\d+)") != "0400" {
		t.Fatal("the manifest has another user, group or mode of the secret than this test")
	}
	if os.Geteuid() != 0 {
		return p
	}
	id, _ := strconv.Atoi(user)
	for name, mode := range map[string]os.FileMode{"..": 0o755, ".": 0o755, "applockctl": 0o755, "reports": 0o700, "applock.db": 0o600} {
		err := errors.Join(os.Chown(p.path(name), id, id), os.Chmod(p.path(name), mode))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Chown(p.path("jobs.dsn"), 0, id), os.Chmod(p.path("jobs.dsn"), 0o440)); err != nil {
		t.Fatal(err)
	}
	p.as = []string{"setpriv", "--reuid", user, "--regid", user, "--clear-groups"}
	return p
}

// value returns what a line of the manifest has.
func (p pod) value(t *testing.T, expression string) string {
	t.Helper()
	found := regexp.MustCompile(expression).FindStringSubmatch(p.manifest)
	if found == nil {
		t.Fatalf("the manifest has no %s", expression)
	}
	return found[1]
}

// run runs the container's command, with flags of the test before the job.
func (p pod) run(t *testing.T, flags string) (output string, code int) {
	t.Helper()
	words := strings.NewReplacer(", ", " ", `"`, "'")
	return p.sh(t, "APPLOCK_DSN_FILE="+p.here(p.value(t, "APPLOCK_DSN_FILE, value: ([^}]*)}"))+" "+
		p.here(words.Replace(p.value(t, `command: \[(.*)\]`)))+" "+flags+" "+p.here(words.Replace(p.value(t, `args: \[(.*)\]`))))
}

// Goal: of the pods of several clusters within a period one runs the job, the others complete; and what Kubernetes makes of the
// exit codes is what the page says. Method: the container's command, environment, user and secret, without Kubernetes, on SQLite and on
// a server.
func TestKubernetesRunsTheJobOnce(t *testing.T) {
	t.Parallel()
	for name, database := range map[string]func(testing.TB) string{
		"sqlite":   func(testing.TB) string { return "" },
		"postgres": testdb.Postgres,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPod(t, database(t))
			p.checkOnce(t)
		})
	}
}

func (p pod) checkOnce(t *testing.T) {
	t.Helper()
	p.manifest = strings.Replace(p.manifest, "--skip-if-held", "", 1)
	if output, code := p.run(t, ""); code != 0 {
		t.Fatalf("exit code %d: %s", code, output)
	}
	if output, code := p.run(t, ""); code != 75 {
		t.Errorf("held, without --skip-if-held: exit code %d, want 75: %s", code, output)
	}
	if output, code := p.run(t, "--skip-if-held"); code != 0 || output != "" {
		t.Errorf("held, with --skip-if-held: exit code %d: %s", code, output)
	}
	p.checkReports(t, 1)
}

// Goal: a pod whose database is down is tried again, and one whose job has failed is not: the second would skip, and the job
// count as done. Method: the exit codes of both, and the manifest's rule.
func TestKubernetesTriesAgainWhatHasNotRun(t *testing.T) {
	t.Parallel()
	p := newPod(t, "")
	again := p.value(t, `values: \[(\d+)\]`)
	if rule := p.value(t, `(action: FailJob\n +onExitCodes: {operator: NotIn, )`); rule == "" {
		t.Error("the manifest has another rule")
	}
	p.write(t, "reports", "#!/bin/sh\nexit 1\n", 0o700)
	if _, code := p.run(t, ""); code != 1 {
		t.Errorf("a failed job: exit code %d, want its own, 1", code)
	}
	if output, code := p.run(t, ""); code != 0 || output != "" {
		t.Errorf("another try of it: exit code %d, want that it skips: %s", code, output)
	}
	p.write(t, "jobs.dsn", "postgres://127.0.0.1:1/nothing\n", 0o600)
	if output, code := p.run(t, ""); strconv.Itoa(code) != again {
		t.Errorf("no database: exit code %d, want %s: %s", code, again, output)
	}
	grace, _ := strconv.Atoi(p.value(t, `--grace, (\d+)s`))
	if whole, _ := strconv.Atoi(p.value(t, `terminationGracePeriodSeconds: (\d+)`)); whole <= grace {
		t.Errorf("the pod has %d s, --grace %d s", whole, grace)
	}
}
