//go:build unix

package main

import (
	"bufio"
	"bytes"
	"errors"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// launched is a launcher with a real server, as a process of its own, whose command waits to be ended.
type launched struct {
	cmd    *exec.Cmd
	temp   string // the directory where it makes its temporary directories
	stderr *bytes.Buffer
	pid    int // of the server
	dsn    string
}

// launch starts the launcher and waits until its command runs.
func launch(t *testing.T) *launched {
	t.Helper()
	bin, err := newPostgres(newHost(t.Logf)).findBinaries()
	if err != nil {
		t.Skipf("this test needs a real server: %v", err)
	}
	temp := reachableDir(t)
	l := &launched{temp: temp, stderr: &bytes.Buffer{}}
	l.cmd = exec.Command(os.Args[0], "--", "sh", "-c", "echo $"+postgresPID+" $"+postgresDSN+"; exec sleep 120")
	l.cmd.Stderr = l.stderr
	l.cmd.Env = append(withoutOurVariables(), asLauncher+"=1", postgresBin+"="+bin, "TMPDIR="+temp)
	stdout, err := l.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := l.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.cmd.Process.Kill() })
	line, err := bufio.NewReader(stdout).ReadString('\n')
	pid, dsn, _ := strings.Cut(strings.TrimSpace(line), " ")
	if l.pid, _ = strconv.Atoi(pid); err != nil || l.pid == 0 {
		l.cmd.Wait()
		t.Fatalf("no server: the command said %q, %v; the launcher:\n%s", line, err, l.stderr)
	}
	l.dsn = dsn
	return l
}

// withoutOurVariables is the environment as it is outside of a launcher.
func withoutOurVariables() []string {
	var env []string
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "APPLOCK_TEST_") {
			env = append(env, entry)
		}
	}
	return env
}

// isGone reports whether a process has ended within ten seconds. A zombie that init has yet to collect counts as ended.
func isGone(pid int) bool {
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) || isZombie(pid) {
			return true
		}
	}
	return false
}

func isZombie(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && strings.Contains(string(stat), ") Z ")
}

func TestASignalStopsTheServerAndRemovesItsDirectory(t *testing.T) {
	t.Parallel()
	l := launch(t)
	if _, err := probePostgres(t.Context(), l.dsn); err != nil {
		t.Errorf("the server does not answer: %v", err)
	}
	if err := l.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	l.cmd.Wait()
	if code := l.cmd.ProcessState.ExitCode(); code != 143 {
		t.Errorf("exit code = %d, want 143", code)
	}
	if !isGone(l.pid) {
		t.Error("the server still runs")
	}
	if left, err := os.ReadDir(l.temp); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	checkOutput(t, l)
}

func checkOutput(t *testing.T, l *launched) {
	t.Helper()
	output := l.stderr.String()
	if !strings.HasPrefix(output, "testserver: backends: sqlite (embedded) ran; postgres ") || strings.Count(output, "\n") != 1 {
		t.Errorf("output, want the summary and nothing else:\n%s", output)
	}
	dsn, err := url.Parse(l.dsn)
	if err != nil {
		t.Fatal(err)
	}
	password, _ := dsn.User.Password()
	if len(password) < 16 || strings.Contains(output, password) || strings.Contains(output, "postgres://") {
		t.Errorf("a password of %d characters, or the output tells it", len(password))
	}
}

// The launcher cannot stop anything then: the kernel must.
func TestAKilledLauncherLeavesNoServer(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only linux can signal a child when its parent dies")
	}
	l := launch(t)
	if err := l.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	l.cmd.Wait()
	if !isGone(l.pid) {
		t.Error("the server still runs")
		syscall.Kill(l.pid, syscall.SIGQUIT)
	}
}

// fakeServer is a directory with programs that do as initdb and postgres when the server cannot start.
func fakeServer(t *testing.T) string {
	t.Helper()
	bin := reachableDir(t)
	for name, script := range map[string]string{
		"initdb":   `for arg; do case $arg in --pgdata=*) mkdir ${arg#*=}; : > ${arg#*=}/postgresql.conf;; esac; done`,
		"postgres": `echo "FATAL: out of sorts" >&2; exit 1`,
	} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return bin
}

// Not parallel: it sets the environment.
func TestAServerThatDoesNotStartShowsItsLogAndLeavesNothing(t *testing.T) {
	temp := reachableDir(t)
	t.Setenv("TMPDIR", temp)
	_, err := startCluster(t.Context(), fakeServer(t))
	if err == nil {
		t.Fatal("it started")
	}
	if got := strings.Count(err.Error(), "FATAL: out of sorts"); got != portAttempts {
		t.Errorf("the error shows %d lines of the log, want one of each attempt:\n%v", got, err)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
