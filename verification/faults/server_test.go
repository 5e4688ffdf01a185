//go:build linux

package faults_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/applock/applock/internal/testing/testdb"
	"github.com/applock/applock/internal/testing/testfile"
	"github.com/applock/applock/internal/testing/wire"
	"github.com/applock/applock/internal/testing/worker"
)

// serverLimit is for hangs.
const serverLimit = 2 * time.Minute

// server is a server of the test's own, which may be killed: a second one with the programs, the account and the options of that which
// all tests share.
type server struct {
	product string
	dsn     string
	options []string
	account *syscall.SysProcAttr
	env     []string
	command *exec.Cmd
	disk
	faked bool // is its clock
}

// newServer makes a server and starts it. It ends with the test.
func newServer(t *testing.T, product string) *server {
	t.Helper()
	shared := testdb.Require(t, product)
	pid := os.Getenv("APPLOCK_TEST_" + strings.ToUpper(product) + "_PID")
	if pid == "" {
		t.Skip("the server of " + product + " is not one that the launcher has started, which could be had twice")
	}
	s := &server{product: product}
	s.copyOf(t, pid)
	s.fake(t)
	s.initialise(t)
	parsed, err := url.Parse(shared)
	if err != nil {
		t.Fatal("the test DSN is no URL")
	}
	port := wire.FreePort(t)
	for i, option := range s.options {
		s.options[i] = strings.ReplaceAll(option, parsed.Port(), port)
	}
	parsed.Host = net.JoinHostPort(parsed.Hostname(), port)
	s.dsn = parsed.String()
	t.Cleanup(s.end)
	s.start(t)
	s.await(t)
	return s
}

// copyOf takes all from a process, with a folder of its own.
func (s *server) copyOf(t *testing.T, pid string) {
	t.Helper()
	process := filepath.Join("/proc", pid)
	folder, err := os.Readlink(filepath.Join(process, "cwd"))
	if err != nil {
		t.Fatal(err)
	}
	folder = filepath.Dir(folder) // it goes to its data
	info, err := os.Stat(process)
	if err != nil {
		t.Fatal(err)
	}
	owner := info.Sys().(*syscall.Stat_t)
	if s.folder, err = os.MkdirTemp(filepath.Dir(folder), "applock-faults-"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(s.folder) })
	s.confine(t, s.product)
	s.account = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if os.Getuid() == 0 {
		s.account.Credential = &syscall.Credential{Uid: owner.Uid, Gid: owner.Gid}
	}
	options, env := testfile.Started(t, process)
	for _, list := range [][]string{options, env} {
		for i := range list {
			list[i] = strings.ReplaceAll(list[i], folder, s.folder)
		}
	}
	s.options, s.env = options, env
	const first = "first.sql" // the accounts of MySQL and MariaDB
	if content, err := os.ReadFile(filepath.Join(folder, first)); err == nil {
		if err := os.WriteFile(filepath.Join(s.folder, first), content, 0o600); err != nil {
			t.Fatal(err)
		}
		s.own(t, first)
	}
	s.own(t, "")
}

func (s *server) own(t *testing.T, name string) {
	t.Helper()
	if c := s.account.Credential; c != nil {
		if err := os.Chown(filepath.Join(s.folder, name), int(c.Uid), int(c.Gid)); err != nil {
			t.Fatal(err)
		}
	}
}

// few is how many connections the server has.
const few = 40

// initialise makes the data.
func (s *server) initialise(t *testing.T) {
	t.Helper()
	data := filepath.Join(s.folder, "data")
	switch s.product {
	case postgres:
		s.run(t, filepath.Join(filepath.Dir(s.options[0]), "initdb"),
			"-D", data, "-U", "applock", "-A", "trust", "--no-sync", "--locale=C", "-E", "UTF8")
		file, err := os.OpenFile(filepath.Join(data, "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		_, err = fmt.Fprintf(file, "\nlisten_addresses = '127.0.0.1'\nunix_socket_directories = '%s'\nmax_connections = %d\n"+
			"fsync = off\nfull_page_writes = off\nautovacuum = off\n", s.folder, few)
		if err := errors.Join(err, file.Close()); err != nil {
			t.Fatal(err)
		}
	case mariadb:
		base := s.option("--basedir=")
		setup := filepath.Join(base, "bin", "mariadb-install-db")
		if _, err := os.Stat(setup); err != nil {
			setup = filepath.Join(base, "scripts", "mariadb-install-db")
		}
		s.run(t, setup, "--no-defaults", "--basedir="+base, "--datadir="+data, "--skip-test-db",
			"--auth-root-authentication-method=socket", "--auth-root-socket-user=root", "--skip-name-resolve")
	default:
		// Before its options the program may have a loader and that one's.
		first := slices.Index(s.options, "--no-defaults")
		s.run(t, s.options[0], append(slices.Clone(s.options[1:first]), "--no-defaults", "--basedir="+s.option("--basedir="),
			"--datadir="+data, "--initialize-insecure", "--secure-file-priv=NULL")...)
	}
	if s.product != postgres {
		s.options = append(s.options, "--max-connections="+strconv.Itoa(few))
	}
}

func (s *server) option(name string) string {
	i := slices.IndexFunc(s.options, func(option string) bool { return strings.HasPrefix(option, name) })
	if i < 0 {
		return ""
	}
	return strings.TrimPrefix(s.options[i], name)
}

func (s *server) program(path string, args ...string) *exec.Cmd {
	command := exec.Command(path, args...)
	command.Dir, command.Env, command.SysProcAttr = s.folder, s.env, s.account
	return command
}

func (s *server) run(t *testing.T, path string, args ...string) {
	t.Helper()
	if output, err := s.program(path, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", path, err, output)
	}
}

func (s *server) start(t *testing.T) {
	t.Helper()
	s.command = s.program(s.options[0], s.options[1:]...)
	log, err := os.OpenFile(filepath.Join(s.folder, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	s.command.Stdout, s.command.Stderr = log, log
	if err := s.command.Start(); err != nil {
		t.Fatal(err)
	}
}

// await returns when the server answers. One that could not start, because what was killed had not gone yet, is started again.
func (s *server) await(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), serverLimit)
	defer cancel()
	for {
		admin, err := openAdmin(s.product, s.dsn)
		if err == nil {
			err = admin.PingContext(ctx)
			_ = admin.Close()
		}
		if err == nil {
			return
		}
		if s.ended() {
			_ = s.command.Wait() // it says nothing that the log does not
			s.start(t)
		}
		worker.Rest(ctx, 50*time.Millisecond)
		if ctx.Err() != nil {
			t.Fatalf("the server of %s does not answer: %v\n%s", s.product, err, s.lastWords())
		}
	}
}

// lastWords is the end of the server's log.
func (s *server) lastWords() string {
	log, _ := os.ReadFile(filepath.Join(s.folder, "log"))
	return string(log[max(0, len(log)-4000):])
}

// ended reports whether the process is a zombie.
func (s *server) ended() bool {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(s.command.Process.Pid), "stat"))
	return err != nil || bytes.Contains(stat, []byte(") Z "))
}

// processes are the server and what it has started: PostgreSQL has a process for each connection.
func (s *server) processes() []int {
	pid := s.command.Process.Pid
	family := []int{pid}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		_, after, _ := bytes.Cut(stat, []byte(") "))
		if fields := bytes.Fields(after); len(fields) > 1 && string(fields[1]) == strconv.Itoa(pid) {
			if child, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil {
				family = append(family, child)
			}
		}
	}
	return family
}

func (s *server) signal(signal syscall.Signal) {
	for _, pid := range s.processes() {
		_ = syscall.Kill(pid, signal)
	}
}

// kill ends the server as a crash does.
func (s *server) kill() {
	pid := s.command.Process.Pid
	_ = syscall.Kill(pid, syscall.SIGSTOP) // so that it starts no more
	s.signal(syscall.SIGKILL)
	_ = s.command.Wait() // it was killed
	for _, left := range []string{"faketime_shm_", "sem.faketime_sem_"} {
		_ = os.Remove(filepath.Join("/dev/shm", left+strconv.Itoa(pid))) // libfaketime's; it is not always there
	}
}

// end leaves nothing: PostgreSQL itself removes what it has in shared memory, if it has the time.
func (s *server) end() {
	if s.product == postgres {
		_ = syscall.Kill(s.command.Process.Pid, syscall.SIGQUIT)
		for range 100 {
			if s.ended() {
				break
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
	s.kill()
}
