//go:build unix

// Package private starts servers of a run's or a test's own, each in a directory of its own.
package private

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
	// readyLimit bounds the start of a server, and readyInterval is the time between two probes of it.
	readyLimit    = 3 * time.Minute
	readyInterval = 30 * time.Millisecond

	// portAttempts bounds the attempts with another port. A free port may be taken before the server listens, and only the failed start
	// shows it.
	portAttempts = 3

	// stopLimit is the time in which a server must end after a signal, before the next one.
	stopLimit = 20 * time.Second

	// loopback is the only address that servers listen on.
	loopback = "127.0.0.1"
)

// DurableVariable makes servers durable if it is not empty: committed data survives a power cut, as in production. Tests need it to survive only
// the death of the server, which costs nothing; the bench measures the difference.
const DurableVariable = "APPLOCK_TEST_DURABLE"

// Programs are the programs of one product.
type Programs struct {
	Origin string // for people: the directory, mostly
	Server string // path of the server
	Setup  string // path of the program that creates its data; "" if the server does that itself
	Client string // path of its own client; "" if it has none

	// Library is the path of the library that makes the server a node of a cluster; "" for a single server.
	Library string
}

// Kind is the part of a server that depends on the product.
type Kind struct {
	Product string // as in the names of variables: "postgres"

	// User is the best operating system user for the server if this process is root, because most refuse to run as root.
	User string

	// Initialise creates the server's data; nil if there is none.
	Initialise func(ctx context.Context, s *Server) error

	// Command is the server's program. For clients it listens only on the server's port.
	Command func(s *Server) (*exec.Cmd, error)

	DSN func(s *Server) string

	// Probe connects and returns the server's version.
	Probe func(ctx context.Context, dsn string) (string, error)

	// Stop are the signals that stop the server, from the best on. SIGKILL is the last resort.
	Stop []syscall.Signal

	// ParentDeath is the signal for a server whose parent has died, when nothing can wait for a clean stop.
	ParentDeath syscall.Signal
}

// Server is a server of one's own. All its files are in one temporary directory.
type Server struct {
	Kind     Kind
	Dir      string
	Password string
	Port     int
	Version  string // when it runs
	Durable  bool

	account *Account // nil: this process's user
	process *Process
}

// Start creates a server and starts it. If it fails, it leaves nothing behind.
func Start(ctx context.Context, k Kind) (*Server, error) {
	s, err := newServer(k)
	if err != nil {
		return nil, err
	}
	if err := s.start(ctx); err != nil {
		return nil, errors.Join(err, s.remove())
	}
	return s, nil
}

// newServer makes the directory of a server.
func newServer(k Kind) (*Server, error) {
	account, err := ServerAccount(k.User)
	if err != nil {
		return nil, err
	}
	base, err := account.tempDir()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(base, "applock-"+k.Product+"-")
	if err != nil {
		return nil, err
	}
	s := &Server{Kind: k, Dir: dir, Password: rand.Text(), Durable: os.Getenv(DurableVariable) != "", account: account}
	if err := account.own(dir); err != nil {
		return nil, errors.Join(err, s.remove())
	}
	return s, nil
}

// start initialises the server's data, and starts the server on a free port.
func (s *Server) start(ctx context.Context) error {
	if s.Kind.Initialise != nil {
		if err := s.Kind.Initialise(ctx, s); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	var err error
	for range portAttempts {
		if err = s.startOnFreePort(ctx); err == nil || ctx.Err() != nil {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("%w; the end of its log:%s", err, s.logTail())
	}
	return nil
}

// startOnFreePort starts the server and waits until it answers. If the server does not answer, it is stopped.
func (s *Server) startOnFreePort(ctx context.Context) error {
	var err error
	if s.Port, err = freePort(); err != nil {
		return err
	}
	if err := s.startProcess(); err != nil {
		return err
	}
	if s.Version, err = s.ready(ctx); err != nil {
		s.stopProcess()
	}
	return err
}

func (s *Server) startProcess() error {
	log, err := os.OpenFile(s.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	// The server has its own copy of the descriptor.
	defer log.Close()
	cmd, err := s.Kind.Command(s)
	if err != nil {
		return err
	}
	cmd.Stdout, cmd.Stderr = log, log
	s.prepare(cmd)
	s.process, err = StartProcess(cmd, s.Kind.ParentDeath)
	return err
}

// ready waits until the server answers and returns its version.
func (s *Server) ready(ctx context.Context) (string, error) {
	for {
		version, err := s.Kind.Probe(ctx, s.DSN())
		if err == nil {
			return version, nil
		}
		select {
		case <-s.process.Done:
			return "", fmt.Errorf("the server ended while starting (%v)", s.process.State())
		case <-ctx.Done():
			return "", fmt.Errorf("the server does not answer: %w, last answer: %w", ctx.Err(), err)
		case <-time.After(readyInterval):
		}
	}
}

// Stop stops the server and removes the directory. It returns an error if the server had ended by itself.
func (s *Server) Stop() error {
	var err error
	select {
	case <-s.process.Done:
		err = fmt.Errorf("the server had ended before it was stopped (%v); the end of its log:%s", s.process.State(), s.logTail())
	default:
	}
	s.stopProcess()
	return errors.Join(err, s.remove())
}

// stopProcess first resumes a server that a test has paused, because that receives no signal.
func (s *Server) stopProcess() {
	s.process.signal(syscall.SIGCONT)
	for _, signal := range append(slices.Clone(s.Kind.Stop), syscall.SIGKILL) {
		s.process.signal(signal)
		if s.process.ended(stopLimit) {
			return
		}
	}
}

// remove deletes the directory. Processes of a killed server may still be writing their last files into it, so a first attempt can fail
// with "not empty".
func (s *Server) remove() error {
	var err error
	for range 20 {
		if err = os.RemoveAll(s.Dir); err == nil {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return fmt.Errorf("remove it by hand: %w", err)
}

// setup runs a program that prepares the server's data. The program is killed when this process is, because its data would be useless.
func (s *Server) setup(ctx context.Context, name string, args ...string) error {
	// The thread has to live as long as the program, as with the server itself.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd := exec.CommandContext(ctx, name, args...)
	s.prepare(cmd)
	setParentDeathSignal(cmd.SysProcAttr, syscall.SIGKILL)
	_, err := Output(cmd)
	return err
}

// prepare makes cmd run as the server's account, in its directory, and without settings for other servers. A starting MariaDB deletes
// temporary tables that seem abandoned, so two servers must not share a directory for them.
func (s *Server) prepare(cmd *exec.Cmd) {
	cmd.Dir = s.Dir
	cmd.Env = slices.DeleteFunc(os.Environ(), isMeantForOtherServers)
	cmd.Env = append(cmd.Env, "LC_ALL=C", "HOME="+s.Dir, "TMPDIR="+s.Dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	if s.account != nil {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: s.account.uid, Gid: s.account.gid}
	}
}

// isMeantForOtherServers reports whether an entry is an environment variable that the products' programs read.
func isMeantForOtherServers(entry string) bool {
	return slices.ContainsFunc([]string{"PG", "MYSQL", "MARIADB"}, func(prefix string) bool { return strings.HasPrefix(entry, prefix) })
}

// write writes a file that only the server's account can read, and returns its path. Secrets travel in files because arguments are visible to
// every user of the machine.
func (s *Server) write(name, content string) (string, error) {
	path := filepath.Join(s.Dir, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		return "", err
	}
	return path, s.account.own(path)
}

// DSN is the address of the server for clients. It holds a password.
func (s *Server) DSN() string { return s.Kind.DSN(s) }

// PID is the process of the server.
func (s *Server) PID() int { return s.process.cmd.Process.Pid }

func (s *Server) address() string { return net.JoinHostPort(loopback, strconv.Itoa(s.Port)) }

func (s *Server) data() string { return filepath.Join(s.Dir, "data") }

func (s *Server) logFile() string { return filepath.Join(s.Dir, "log") }

// logTail returns the end of the server's log, without the password: a server may log a statement that it rejects.
func (s *Server) logTail() string {
	log, err := os.ReadFile(s.logFile())
	if err != nil {
		return " " + err.Error()
	}
	return quoteTail(strings.ReplaceAll(string(log), s.Password, "***"))
}

// freePort returns a TCP port of the loopback address that is free now.
func freePort() (int, error) {
	listener, err := net.Listen("tcp", net.JoinHostPort(loopback, "0"))
	if err != nil {
		return 0, err
	}
	port := listener.Addr().(*net.TCPAddr).Port
	return port, listener.Close()
}
