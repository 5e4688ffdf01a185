//go:build unix

package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// readyLimit bounds the start of a private server, and readyInterval is the time between two probes of it.
	readyLimit    = 3 * time.Minute
	readyInterval = 30 * time.Millisecond

	// portAttempts bounds the attempts with another port. A free port may be taken before the server listens, and only the failed start
	// shows it.
	portAttempts = 3
)

// engine is the part of a private server that depends on the product.
type engine interface {
	product() string

	// user is the best operating system user for the server if the launcher is root.
	user() string

	// initialise creates the server's data.
	initialise(ctx context.Context, s *privateServer) error

	// command is the server's program. For clients it listens only on the server's port.
	command(s *privateServer) (*exec.Cmd, error)

	dsn(s *privateServer) string

	// probe connects and returns the server's version.
	probe(ctx context.Context, dsn string) (string, error)

	// shutdown is the list of ways to stop the server, from the best to the last resort.
	shutdown() []shutdownStep

	// parentDeath is the signal for a server whose launcher has died, when nothing can wait for a clean stop.
	parentDeath() syscall.Signal
}

// shutdownStep is a signal and the time in which the server must end.
type shutdownStep struct {
	signal syscall.Signal
	limit  time.Duration
}

// privateServer is a server that the launcher started. All its files are in one temporary directory.
type privateServer struct {
	engine   engine
	dir      string
	account  *account // nil: the launcher's own user
	password string
	port     int
	process  *process

	// durable makes committed data survive a power cut, as in production. Tests need it to survive only the death of the server, which
	// costs nothing; the bench measures the difference.
	durable bool
}

// durableVariable makes private servers durable if it is not empty.
const durableVariable = "APPLOCK_TEST_DURABLE"

// startPrivateServer creates a server and starts it. If it fails, it leaves nothing behind. origin describes the source of the programs.
func startPrivateServer(ctx context.Context, e engine, origin string) (*server, error) {
	s, err := newPrivateServer(e)
	if err != nil {
		return nil, err
	}
	version, err := s.start(ctx)
	if err != nil {
		return nil, errors.Join(err, s.remove())
	}
	dsn := e.dsn(s)
	return &server{
		version: version,
		origin:  fmt.Sprintf("private, %s, port %d", origin, s.port),
		env: []string{
			variable(e.product(), "DSN") + "=" + dsn,
			variable(e.product(), "PID") + "=" + strconv.Itoa(s.process.cmd.Process.Pid),
		},
		dsn:  dsn,
		stop: s.stop,
	}, nil
}

// newPrivateServer makes the directory of a server.
func newPrivateServer(e engine) (*privateServer, error) {
	account, err := serverAccount(os.Geteuid(), e.user(), lookupAccount)
	if err != nil {
		return nil, err
	}
	base, err := reachableTempDir(account)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(base, "applock-"+e.product()+"-")
	if err != nil {
		return nil, err
	}
	s := &privateServer{engine: e, dir: dir, account: account, password: rand.Text(), durable: os.Getenv(durableVariable) != ""}
	if err := account.own(dir); err != nil {
		return nil, errors.Join(err, s.remove())
	}
	return s, nil
}

// start initialises the server's data, starts the server and returns its version once it answers.
func (s *privateServer) start(ctx context.Context) (string, error) {
	if err := s.engine.initialise(ctx, s); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	var err error
	for range portAttempts {
		var version string
		if version, err = s.startOnFreePort(ctx); err == nil {
			return version, nil
		}
		if ctx.Err() != nil {
			break
		}
	}
	return "", fmt.Errorf("%w; the end of its log:%s", err, s.logTail())
}

// startOnFreePort starts the server and waits until it answers. If the server does not answer, it is stopped.
func (s *privateServer) startOnFreePort(ctx context.Context) (string, error) {
	var err error
	if s.port, err = freePort(); err != nil {
		return "", err
	}
	if err := s.startProcess(); err != nil {
		return "", err
	}
	version, err := s.ready(ctx)
	if err != nil {
		s.stopProcess()
	}
	return version, err
}

func (s *privateServer) startProcess() error {
	log, err := os.OpenFile(s.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	// The server has its own copy of the descriptor.
	defer log.Close()
	cmd, err := s.engine.command(s)
	if err != nil {
		return err
	}
	cmd.Stdout, cmd.Stderr = log, log
	s.prepare(cmd)
	s.process, err = startProcess(cmd, s.engine.parentDeath())
	return err
}

// ready waits until the server answers and returns its version.
func (s *privateServer) ready(ctx context.Context) (string, error) {
	for {
		version, err := s.engine.probe(ctx, s.engine.dsn(s))
		if err == nil {
			return version, nil
		}
		select {
		case <-s.process.done:
			return "", fmt.Errorf("the server ended while starting (%v)", s.process.cmd.ProcessState)
		case <-ctx.Done():
			return "", fmt.Errorf("the server does not answer: %w, last answer: %w", ctx.Err(), err)
		case <-time.After(readyInterval):
		}
	}
}

// stop stops the server and removes the directory. It returns an error if the server had ended by itself.
func (s *privateServer) stop() error {
	var err error
	if s.process.hasEnded() {
		err = fmt.Errorf("the server had ended before it was stopped (%v); the end of its log:%s",
			s.process.cmd.ProcessState, s.logTail())
	}
	s.stopProcess()
	return errors.Join(err, s.remove())
}

// stopProcess goes through the steps of the shutdown until the server has ended. It first resumes a server that a test has paused,
// because that receives no signal.
func (s *privateServer) stopProcess() {
	s.process.signal(syscall.SIGCONT)
	for _, step := range s.engine.shutdown() {
		s.process.signal(step.signal)
		if s.process.ended(step.limit) {
			return
		}
	}
}

// remove deletes the directory. Processes of a killed server may still be writing their last files into it, so a first attempt can fail
// with "not empty".
func (s *privateServer) remove() error {
	var err error
	for range 20 {
		if err = os.RemoveAll(s.dir); err == nil {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return fmt.Errorf("remove it by hand: %w", err)
}

// runSetup runs a program that prepares the server's data. The program is killed when the launcher is, because its data would be useless.
func (s *privateServer) runSetup(ctx context.Context, name string, args ...string) error {
	// The thread has to live as long as the program, as with the server itself.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd := exec.CommandContext(ctx, name, args...)
	s.prepare(cmd)
	setParentDeathSignal(cmd.SysProcAttr, syscall.SIGKILL)
	return runTool(cmd)
}

// prepare makes cmd run as the server's account, in its directory, and without settings for other servers. A starting MariaDB deletes
// temporary tables that seem abandoned, so two servers must not share a directory for them.
func (s *privateServer) prepare(cmd *exec.Cmd) {
	cmd.Dir = s.dir
	cmd.Env = slices.DeleteFunc(os.Environ(), isMeantForOtherServers)
	cmd.Env = append(cmd.Env, "LC_ALL=C", "HOME="+s.dir, "TMPDIR="+s.dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	if s.account != nil {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: s.account.uid, Gid: s.account.gid}
	}
}

// isMeantForOtherServers reports whether an entry is an environment variable that the products' programs read.
func isMeantForOtherServers(entry string) bool {
	return slices.ContainsFunc([]string{"PG", "MYSQL", "MARIADB"}, func(prefix string) bool {
		return strings.HasPrefix(entry, prefix)
	})
}

// writeSecret writes a file that only the server's account can read, and returns its path. Secrets travel in files
// because arguments are visible to every user of the machine.
func (s *privateServer) writeSecret(name, content string) (string, error) {
	path := filepath.Join(s.dir, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		return "", err
	}
	return path, s.account.own(path)
}

// address is where the server listens.
func (s *privateServer) address() string { return net.JoinHostPort(loopback, strconv.Itoa(s.port)) }

func (s *privateServer) data() string { return filepath.Join(s.dir, "data") }

func (s *privateServer) logFile() string { return filepath.Join(s.dir, "log") }

// logTail returns the end of the server's log, without the password: a server may log a statement that it rejects.
func (s *privateServer) logTail() string {
	log, err := os.ReadFile(s.logFile())
	if err != nil {
		return " " + err.Error()
	}
	return quoteTail(strings.ReplaceAll(string(log), s.password, "***"))
}

// loopback is the only address that private servers listen on.
const loopback = "127.0.0.1"

// freePort returns a TCP port of the loopback address that is free now.
func freePort() (int, error) {
	listener, err := net.Listen("tcp", net.JoinHostPort(loopback, "0"))
	if err != nil {
		return 0, err
	}
	port := listener.Addr().(*net.TCPAddr).Port
	return port, listener.Close()
}
