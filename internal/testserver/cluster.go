//go:build unix

package main

import (
	"context"
	"crypto/rand"
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
	"time"
)

const (
	clusterUser = "applock"

	// readyLimit bounds the start of a private server, readyInterval is how often it is asked meanwhile.
	readyLimit    = 60 * time.Second
	readyInterval = 30 * time.Millisecond

	// portAttempts bounds how often another port is tried. A port that is free when we look may be taken a moment
	// later, and nothing but the failed start tells.
	portAttempts = 3
)

// clusterSettings leave durability as it is in production: benchmarks and crash tests need the truth.
const clusterSettings = `
listen_addresses = '127.0.0.1'
unix_socket_directories = %s
max_connections = 200
max_prepared_transactions = 10
shared_buffers = 64MB
fsync = on
`

// cluster is a private PostgreSQL server. All it owns is in one temporary directory.
type cluster struct {
	bin      string
	dir      string
	account  *account // nil: the server runs as ourselves
	password string
	port     int
	process  *process
}

// startCluster creates a cluster and starts it. Nothing is left when it fails.
func startCluster(ctx context.Context, bin string) (*server, error) {
	c, err := newCluster(bin)
	if err != nil {
		return nil, err
	}
	version, err := c.start(ctx)
	if err != nil {
		return nil, errors.Join(err, c.remove())
	}
	return &server{
		version: version,
		origin:  fmt.Sprintf("private, %s, port %d", bin, c.port),
		env: []string{
			postgresDSN + "=" + c.dsn(),
			postgresPID + "=" + strconv.Itoa(c.process.cmd.Process.Pid),
		},
		stop: c.stop,
	}, nil
}

// newCluster makes the directory of a cluster.
func newCluster(bin string) (*cluster, error) {
	account, err := serverAccount(os.Geteuid(), lookupAccount)
	if err != nil {
		return nil, err
	}
	base, err := reachableTempDir(account)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(base, "applock-postgres-")
	if err != nil {
		return nil, err
	}
	c := &cluster{bin: bin, dir: dir, account: account, password: rand.Text()}
	if err := account.own(dir); err != nil {
		return nil, errors.Join(err, c.remove())
	}
	return c, nil
}

// start initialises the cluster, starts the server and returns its version once it answers.
func (c *cluster) start(ctx context.Context) (string, error) {
	if err := c.initialise(ctx); err != nil {
		return "", err
	}
	if err := c.configure(); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	var err error
	for range portAttempts {
		var version string
		if version, err = c.startOnFreePort(ctx); err == nil {
			return version, nil
		}
		if ctx.Err() != nil {
			break
		}
	}
	return "", fmt.Errorf("%w; the end of its log:%s", err, c.logTail())
}

// initialise runs initdb. The password travels in a file because arguments are visible to every user of the machine.
func (c *cluster) initialise(ctx context.Context) error {
	passwordFile := filepath.Join(c.dir, "password")
	if err := os.WriteFile(passwordFile, []byte(c.password+"\n"), 0o600); err != nil {
		return err
	}
	defer os.Remove(passwordFile)
	if err := c.account.own(passwordFile); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, filepath.Join(c.bin, "initdb"),
		"--pgdata="+c.data(), "--username="+clusterUser, "--pwfile="+passwordFile,
		"--auth=scram-sha-256", "--encoding=UTF8", "--locale=C")
	c.prepare(cmd)
	return runTool(cmd)
}

// configure appends our settings to the configuration file: unlike arguments they can be changed by ALTER SYSTEM.
func (c *cluster) configure() error {
	file, err := os.OpenFile(filepath.Join(c.data(), "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	socketDir := "'" + strings.ReplaceAll(c.dir, "'", "''") + "'"
	_, err = fmt.Fprintf(file, clusterSettings, socketDir)
	return errors.Join(err, file.Close())
}

// startOnFreePort starts the server and waits until it answers. The server is stopped again when it does not.
func (c *cluster) startOnFreePort(ctx context.Context) (string, error) {
	var err error
	if c.port, err = freePort(); err != nil {
		return "", err
	}
	if err := c.startProcess(); err != nil {
		return "", err
	}
	version, err := c.ready(ctx)
	if err != nil {
		c.stopProcess()
	}
	return version, err
}

func (c *cluster) startProcess() error {
	log, err := os.OpenFile(c.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	// The server has its own copy of the descriptor.
	defer log.Close()
	cmd := exec.Command(filepath.Join(c.bin, "postgres"), "-D", c.data(), "-p", strconv.Itoa(c.port))
	cmd.Stdout, cmd.Stderr = log, log
	c.prepare(cmd)
	// SIGQUIT is the immediate shutdown: nobody is left to wait for a better one.
	c.process, err = startProcess(cmd, syscall.SIGQUIT)
	return err
}

// ready waits until the server answers and returns its version.
func (c *cluster) ready(ctx context.Context) (string, error) {
	for {
		version, err := probePostgres(ctx, c.dsn())
		if err == nil {
			return version, nil
		}
		select {
		case <-c.process.done:
			return "", fmt.Errorf("the server ended while starting (%v)", c.process.cmd.ProcessState)
		case <-ctx.Done():
			return "", fmt.Errorf("the server does not answer: %w, last answer: %w", ctx.Err(), err)
		case <-time.After(readyInterval):
		}
	}
}

// stop stops the server and removes the directory. It reports a server that had ended by itself.
func (c *cluster) stop() error {
	var err error
	if c.process.hasEnded() {
		err = fmt.Errorf("the server had ended before it was stopped (%v); the end of its log:%s",
			c.process.cmd.ProcessState, c.logTail())
	}
	c.stopProcess()
	return errors.Join(err, c.remove())
}

// stopProcess does what pg_ctl does for fast, immediate and last-resort shutdown, each with a bound. A server that a
// test has paused must be resumed first, or it hears of nothing.
func (c *cluster) stopProcess() {
	c.process.signal(syscall.SIGCONT)
	steps := []struct {
		signal syscall.Signal
		limit  time.Duration
	}{
		{syscall.SIGINT, 20 * time.Second},
		{syscall.SIGQUIT, 10 * time.Second},
		{syscall.SIGKILL, 5 * time.Second},
	}
	for _, step := range steps {
		c.process.signal(step.signal)
		if c.process.ended(step.limit) {
			return
		}
	}
}

// remove deletes the directory. Processes of a server that was killed may still be writing their last files into it,
// so that a first attempt can find a directory "not empty".
func (c *cluster) remove() error {
	var err error
	for range 20 {
		if err = os.RemoveAll(c.dir); err == nil {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return fmt.Errorf("remove it by hand: %w", err)
}

// prepare makes cmd run as the server's account, in its directory, and free of settings meant for other servers.
func (c *cluster) prepare(cmd *exec.Cmd) {
	cmd.Dir = c.dir
	cmd.Env = slices.DeleteFunc(os.Environ(), func(entry string) bool { return strings.HasPrefix(entry, "PG") })
	cmd.Env = append(cmd.Env, "LC_ALL=C", "HOME="+c.dir)
	if c.account != nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: c.account.uid, Gid: c.account.gid}}
	}
}

func (c *cluster) dsn() string {
	dsn := url.URL{
		Scheme:   "postgres",
		User:     url.UserPassword(clusterUser, c.password),
		Host:     net.JoinHostPort("127.0.0.1", strconv.Itoa(c.port)),
		Path:     "/postgres",
		RawQuery: "sslmode=disable",
	}
	return dsn.String()
}

func (c *cluster) data() string { return filepath.Join(c.dir, "data") }

func (c *cluster) logFile() string { return filepath.Join(c.dir, "postgres.log") }

func (c *cluster) logTail() string {
	log, err := os.ReadFile(c.logFile())
	if err != nil {
		return " " + err.Error()
	}
	return quoteTail(string(log))
}

// freePort returns a TCP port of 127.0.0.1 that is free now.
func freePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	port := listener.Addr().(*net.TCPAddr).Port
	return port, listener.Close()
}
