//go:build unix

package main

import (
	"bufio"
	"bytes"
	"context"
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

	"github.com/applock/applock/internal/testing/private"
)

// asLauncher makes the test binary be the launcher, for the tests that need a process of its own to signal or kill.
const asLauncher = "APPLOCK_TESTSERVER_AS_LAUNCHER"

func TestMain(m *testing.M) {
	if os.Getenv(asLauncher) != "" {
		os.Exit(launch(os.Args[1:], newSay(os.Stderr)))
	}
	os.Exit(m.Run())
}

// launched is a launcher with a server of each of some products, if this machine has the programs, whose command waits to be ended.
type launched struct {
	cmd    *exec.Cmd
	temp   string // where it makes its temporary directories
	stderr bytes.Buffer
	env    map[string]string // of the command
}

func startLauncher(t *testing.T, products func(m *machine) []*product) *launched {
	t.Helper()
	var only []string
	for _, p := range products(&machine{}) {
		cached, err := filepath.Glob("/var/cache/applock-test/" + p.name + "-debian-*-own-" + runtime.GOARCH)
		if _, missing := p.find(t.Context()); missing == nil || err == nil && len(cached) > 0 {
			only = append(only, p.name)
		} else if p.name == "postgres" {
			t.Skip("this test needs PostgreSQL's programs")
		}
	}
	temp, err := os.MkdirTemp("/tmp", "applock-testserver-test-") // unlike t.TempDir it can be reached by every user
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(temp) })
	l := &launched{temp: temp, env: map[string]string{}}
	l.cmd = exec.Command(os.Args[0], "--only", strings.Join(only, ","), "--", "sh", "-c", "env; echo ready; exec sleep 120")
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "APPLOCK_TEST_") || strings.HasPrefix(entry, cacheVariable) || strings.Contains(entry, "_BIN=") {
			l.cmd.Env = append(l.cmd.Env, entry)
		}
	}
	l.cmd.Env = append(l.cmd.Env, asLauncher+"=1", "TMPDIR="+temp)
	l.cmd.Stderr = &l.stderr
	stdout, err := l.cmd.StdoutPipe()
	if err := errors.Join(err, os.Chmod(temp, 0o777), l.cmd.Start()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.cmd.Process.Kill() })
	for lines := bufio.NewScanner(stdout); lines.Scan() && lines.Text() != "ready"; {
		name, value, _ := strings.Cut(lines.Text(), "=")
		l.env[name] = value
	}
	if len(l.pids(t)) < len(only) {
		l.cmd.Wait()
		t.Fatalf("not all servers of %s run:\n%s", only, &l.stderr)
	}
	return l
}

// pids are the processes of the servers.
func (l *launched) pids(t *testing.T) []int {
	t.Helper()
	var pids []int
	for name, value := range l.env {
		if strings.HasPrefix(name, "APPLOCK_TEST_") && strings.HasSuffix(name, "_PID") {
			pid, err := strconv.Atoi(value)
			if err != nil {
				t.Fatal(err)
			}
			pids = append(pids, pid)
		}
	}
	return pids
}

// wantGone checks that the servers end within ten seconds. A zombie that init has yet to collect counts as ended.
func (l *launched) wantGone(t *testing.T) {
	t.Helper()
	for _, pid := range l.pids(t) {
		isGone := false
		for deadline := time.Now().Add(10 * time.Second); !isGone && time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
			stat, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
			isGone = errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) || strings.Contains(string(stat), ") Z ")
		}
		if !isGone {
			t.Errorf("a server still runs as process %d", pid)
			syscall.Kill(pid, syscall.SIGQUIT)
		}
	}
}

// Goal: each server is the one that was asked for, nothing is left after a signal, and no password is printed. Method: real servers, each probed as
// each product.
func TestServersAreWhatWasAskedFor(t *testing.T) {
	t.Parallel()
	l := startLauncher(t, func(m *machine) []*product {
		return []*product{newPostgres(m), newMariaDB(m), newGalera(m), newMySQL(m), newRedis(m), newPgBouncer(m, nil)}
	})
	probes := map[string]func(context.Context, string) (string, error){
		"postgres": private.ProbePostgres, "pgbouncer": private.ProbePgBouncer, "mariadb": private.ProbeMariaDB, "galera": private.ProbeGalera,
		"mysql": private.ProbeMySQL, "redis": private.ProbeRedis,
	}
	// A pooler answers as the server behind it, and a node as the MariaDB that it is.
	both := map[string]string{"pgbouncer": "postgres", "galera": "mariadb"}
	for name := range probes {
		dsn := l.env[variable(name, "DSN")]
		for asked, probe := range probes {
			ctx, cancel := context.WithTimeout(t.Context(), givenLimit)
			_, err := probe(ctx, dsn)
			cancel()
			if isIt := asked == name || both[name] == asked; dsn != "" && isIt != (err == nil) {
				t.Errorf("a %s is probed as %s: %v", name, asked, err)
			}
		}
		if u, err := url.Parse(dsn); err == nil && u.User != nil {
			if password, _ := u.User.Password(); len(password) < 16 || strings.Contains(l.stderr.String(), password) {
				t.Errorf("%s has a password of %d characters, or the output tells it", name, len(password))
			}
		}
	}
	if err := l.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	l.cmd.Wait()
	if code := l.cmd.ProcessState.ExitCode(); code != 143 {
		t.Errorf("exit code = %d, want 143", code)
	}
	l.wantGone(t)
	if left, err := os.ReadDir(l.temp); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v\n%s", left, err, &l.stderr)
	}
}

// Goal: a launcher that is killed leaves no server. It cannot stop anything then: the kernel must.
func TestKilledLauncherLeavesNoServer(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only linux can signal a child when its parent dies")
	}
	l := startLauncher(t, func(m *machine) []*product { return []*product{newPostgres(m), newMariaDB(m), newRedis(m)} })
	if err := l.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	l.cmd.Wait()
	l.wantGone(t)
}

// Goal: a server that does not start is an error with its log, which hides the password, and leaves nothing. Method: a program that prints what it
// was given.
func TestServerThatDoesNotStart(t *testing.T) {
	temp, err := os.MkdirTemp("/tmp", "applock-testserver-test-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(temp)
	script := filepath.Join(temp, "redis-server")
	if err := errors.Join(os.Chmod(temp, 0o777), os.WriteFile(script, []byte("#!/bin/sh\ngrep requirepass $1; exit 1\n"), 0o755)); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", temp)
	_, err = private.Start(t.Context(), private.Redis(private.Programs{Server: script}))
	if err == nil || !strings.Contains(err.Error(), "requirepass ***") {
		t.Errorf("error %v, want the log without the password", err)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
