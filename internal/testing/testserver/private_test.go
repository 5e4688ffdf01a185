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
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// launched is a launcher with a real server, as a process of its own, whose command waits to be ended.
type launched struct {
	product product
	cmd     *exec.Cmd
	temp    string // the directory where it makes its temporary directories
	stderr  *bytes.Buffer
	pid     int // of the server
	peer    int // of the other node of a cluster; 0 if there is none
	dsn     string
}

// onRealServers runs a test for each product of which this machine has the programs already.
func onRealServers(t *testing.T, test func(t *testing.T, p product)) {
	t.Helper()
	h := newHost(t.Logf)
	postgres := newPostgres(h)
	pgbouncer := newPgBouncer(h, newPromise(postgres.title))
	for _, p := range []product{postgres, pgbouncer, newMariaDB(h), newGalera(h), newMySQL(h), newRedis(h)} {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			needed := []product{p}
			if p.base != nil {
				needed = append(needed, postgres)
			}
			for _, p := range needed {
				if _, err := presentPrograms(t.Context(), p); err != nil {
					t.Skipf("this test needs a real server: %v", err)
				}
			}
			test(t, p)
		})
	}
}

// presentPrograms finds a product's programs, also in the cache, without fetching them.
func presentPrograms(ctx context.Context, p product) (installation, error) {
	programs, err := p.find(ctx, p.host)
	if err == nil || p.unpacking.name == "" {
		return programs, err
	}
	root, rootErr := p.unpacking.root(p.host)
	if rootErr != nil || !root.complete() {
		return installation{}, errors.Join(err, rootErr)
	}
	return p.fetch(ctx, p)
}

// launch starts the launcher and waits until its command runs.
func launch(t *testing.T, p product) *launched {
	t.Helper()
	l := &launched{product: p, temp: reachableDir(t), stderr: &bytes.Buffer{}}
	l.cmd = exec.Command(os.Args[0], "--", "sh", "-c",
		"echo $"+p.variable("PID")+" $"+p.variable("DSN")+" $"+variable(galeraPeer, "PID")+"; exec sleep 120")
	l.cmd.Stderr = l.stderr
	l.cmd.Env = append(withoutServers(), asLauncher+"="+l.products(), "TMPDIR="+l.temp)
	stdout, err := l.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := l.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.cmd.Process.Kill() })
	line, err := bufio.NewReader(stdout).ReadString('\n')
	pid, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	dsn, peer, _ := strings.Cut(rest, " ")
	if l.pid, _ = strconv.Atoi(pid); err != nil || l.pid == 0 {
		l.cmd.Wait()
		t.Fatalf("no server: the command said %q, %v; the launcher:\n%s", line, err, l.stderr)
	}
	l.dsn = dsn
	if l.peer, _ = strconv.Atoi(peer); (l.peer != 0) != (p.name == "galera") {
		t.Errorf("the other node's process is %q", peer)
	}
	return l
}

// products lists what the launcher has to start.
func (l *launched) products() string {
	if l.product.base != nil {
		return "postgres," + l.product.name
	}
	return l.product.name
}

// pids are the processes of the servers.
func (l *launched) pids() []int {
	if l.peer == 0 {
		return []int{l.pid}
	}
	return []int{l.pid, l.peer}
}

// withoutServers is the environment as it is outside of a launcher: with what says where the programs are, but without
// servers.
func withoutServers() []string {
	var env []string
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, "APPLOCK_TEST_") || strings.HasSuffix(name, "_BIN") || name == cacheVariable {
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
	onRealServers(t, func(t *testing.T, p product) {
		l := launch(t, p)
		if _, err := p.probe(t.Context(), l.dsn); err != nil {
			t.Errorf("the server does not answer: %v", err)
		}
		checkMySQL(t, l)
		checkPgBouncer(t, l)
		checkRedis(t, l)
		if err := l.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		l.cmd.Wait()
		if code := l.cmd.ProcessState.ExitCode(); code != 143 {
			t.Errorf("exit code = %d, want 143", code)
		}
		for _, pid := range l.pids() {
			if !isGone(pid) {
				t.Errorf("the server still runs as process %d", pid)
			}
		}
		if left, err := os.ReadDir(l.temp); err != nil || len(left) != 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}
		checkOutput(t, l)
	})
}

func checkOutput(t *testing.T, l *launched) {
	t.Helper()
	output := l.stderr.String()
	first, _, _ := strings.Cut(l.products(), ",")
	if !strings.HasPrefix(output, "testserver: backends: sqlite (embedded); "+first+" ") || strings.Count(output, "\n") != 1 ||
		!strings.Contains(output, "; "+l.product.name+" ") {
		t.Errorf("output, want the summary and nothing else:\n%s", output)
	}
	dsn, err := url.Parse(l.dsn)
	if err != nil {
		t.Fatal(err)
	}
	password, _ := dsn.User.Password()
	if len(password) < 16 || strings.Contains(output, password) || strings.Contains(output, "://") {
		t.Errorf("a password of %d characters, or the output tells it", len(password))
	}
}

// The launcher cannot stop anything then: the kernel must.
func TestAKilledLauncherLeavesNoServer(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only linux can signal a child when its parent dies")
	}
	onRealServers(t, func(t *testing.T, p product) {
		l := launch(t, p)
		if err := l.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		l.cmd.Wait()
		for _, pid := range l.pids() {
			if !isGone(pid) {
				t.Errorf("the server still runs as process %d", pid)
				syscall.Kill(pid, syscall.SIGQUIT)
			}
		}
	})
}

// It may run for longer than anybody would wait, or for ever.
func TestAKilledLauncherLeavesNoSetup(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only linux can signal a child when its parent dies")
	}
	bin := reachableDir(t)
	for name, script := range map[string]string{"initdb": "echo $$ > " + bin + "/draft; mv " + bin + "/draft " + bin + "/pid; exec sleep 60", "postgres": ""} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(os.Args[0], "--", "true")
	cmd.Env = append(withoutServers(), asLauncher+"=postgres", postgresBin+"="+bin, "TMPDIR="+reachableDir(t))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() })
	var pid int
	for deadline := time.Now().Add(10 * time.Second); pid == 0 && time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		// It is not there at first.
		content, _ := os.ReadFile(filepath.Join(bin, "pid"))
		pid, _ = strconv.Atoi(strings.TrimSpace(string(content)))
	}
	if pid == 0 {
		t.Fatal("the setup was not run")
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	if !isGone(pid) {
		t.Error("the setup still runs")
		syscall.Kill(pid, syscall.SIGKILL)
	}
}

// A MariaDB that starts would delete the temporary tables of another one that is being set up.
func TestTemporaryFilesAreInTheServersDirectory(t *testing.T) {
	t.Parallel()
	s := &privateServer{dir: t.TempDir()}
	cmd := exec.CommandContext(t.Context(), "sh", "-c", "echo $TMPDIR")
	s.prepare(cmd)
	if output, err := toolOutput(cmd); err != nil || output != s.dir+"\n" {
		t.Errorf("TMPDIR = %q, %v, want %q", output, err, s.dir)
	}
}

// fakePrograms is a server that cannot start, with what creates its data.
func fakePrograms(t *testing.T, setup, server string) installation {
	t.Helper()
	bin := reachableDir(t)
	programs := installation{setup: filepath.Join(bin, "setup"), server: filepath.Join(bin, "server")}
	for path, script := range map[string]string{programs.setup: setup, programs.server: server} {
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return programs
}

// Not parallel: it sets the environment.
func TestAServerThatDoesNotStartShowsItsLogAndLeavesNothing(t *testing.T) {
	temp := reachableDir(t)
	t.Setenv("TMPDIR", temp)
	for name, start := range map[string]func() error{
		"postgres": func() error {
			_, err := startCluster(t.Context(), fakePrograms(t,
				`for arg; do case $arg in --pgdata=*) mkdir ${arg#*=}; : > ${arg#*=}/postgresql.conf;; esac; done`,
				`echo "FATAL: out of sorts" >&2; exit 1`))
			return err
		},
		"mariadb": func() error {
			// It shows more than a log should have.
			_, err := kindMariaDB().startMysqld(t.Context(), fakePrograms(t, `true`,
				`echo "FATAL: out of sorts" >&2; for arg; do case $arg in --init-file=*) cat ${arg#*=};; esac; done; exit 1`))
			return err
		},
		"redis": func() error {
			_, err := startRedis(t.Context(), fakePrograms(t, "", `echo "FATAL: out of sorts" >&2; grep requirepass $1; exit 1`))
			return err
		},
		"pgbouncer": func() error {
			_, err := startPgBouncer(t.Context(), fakePrograms(t, "", `echo "FATAL: out of sorts" >&2; cat users; exit 1`), secretDSN)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			err := start()
			if err == nil {
				t.Fatal("it started")
			}
			if got := strings.Count(err.Error(), "FATAL: out of sorts"); got != portAttempts {
				t.Errorf("the error shows %d lines of the log, want one of each attempt:\n%v", got, err)
			}
			secrets := regexp.MustCompile(`(?m)(IDENTIFIED BY|requirepass|"user") .*$`).FindAllString(err.Error(), -1)
			for _, secret := range secrets {
				if !strings.Contains(secret, "***") {
					t.Errorf("the error tells the password:\n%v", err)
				}
			}
			if len(secrets) == 0 && name != "postgres" {
				t.Error("the log has nothing to hide")
			}
			if left, err := os.ReadDir(temp); err != nil || len(left) != 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}
