//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	clusterUser = "applock"

	// clusterAccount is the operating system user for the server if the launcher is root, because the server refuses to run as root.
	clusterAccount = "postgres"
)

const clusterSettings = `
listen_addresses = '127.0.0.1'
unix_socket_directories = %[1]s
max_connections = 1000
max_prepared_transactions = 10
shared_buffers = 64MB
fsync = %[2]t
full_page_writes = %[2]t
`

// cluster is the engine of a private PostgreSQL server.
type cluster struct {
	programs installation
}

func startCluster(ctx context.Context, programs installation) (*server, error) {
	return startPrivateServer(ctx, cluster{programs}, programs.origin)
}

func (c cluster) product() string { return "postgres" }

func (c cluster) user() string { return clusterAccount }

// initialise runs initdb and configures the result.
func (c cluster) initialise(ctx context.Context, s *privateServer) error {
	passwordFile, err := s.writeSecret("password", s.password+"\n")
	if err != nil {
		return err
	}
	defer os.Remove(passwordFile)
	if err := s.runSetup(ctx, c.programs.setup,
		"--pgdata="+s.data(), "--username="+clusterUser, "--pwfile="+passwordFile,
		"--auth=scram-sha-256", "--encoding=UTF8", "--locale=C"); err != nil {
		return err
	}
	return c.configure(s)
}

// configure appends our settings to the configuration file. ALTER SYSTEM can change these, but not arguments.
func (c cluster) configure(s *privateServer) error {
	file, err := os.OpenFile(filepath.Join(s.data(), "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	socketDir := "'" + strings.ReplaceAll(s.dir, "'", "''") + "'"
	_, err = fmt.Fprintf(file, clusterSettings, socketDir, s.durable)
	return errors.Join(err, file.Close())
}

func (c cluster) command(s *privateServer) (*exec.Cmd, error) {
	return exec.Command(c.programs.server, "-D", s.data(), "-p", strconv.Itoa(s.port)), nil
}

func (c cluster) dsn(s *privateServer) string {
	dsn := url.URL{
		Scheme:   "postgres",
		User:     url.UserPassword(clusterUser, s.password),
		Host:     s.address(),
		Path:     "/postgres",
		RawQuery: "sslmode=disable",
	}
	return dsn.String()
}

func (c cluster) probe(ctx context.Context, dsn string) (string, error) {
	return probePostgres(ctx, dsn)
}

// shutdown sends the signals of pg_ctl's fast and immediate shutdown, and at last a kill.
func (c cluster) shutdown() []shutdownStep {
	return []shutdownStep{
		{syscall.SIGINT, 20 * time.Second},
		{syscall.SIGQUIT, 10 * time.Second},
		{syscall.SIGKILL, 5 * time.Second},
	}
}

// parentDeath is the signal for the immediate shutdown. A kill would leave the processes that serve the connections.
func (c cluster) parentDeath() syscall.Signal { return syscall.SIGQUIT }
