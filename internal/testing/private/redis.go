//go:build unix

package private

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// redisAnswerLimit bounds the size of an answer, which may come from another program than Redis.
const redisAnswerLimit = 64 << 10

// Redis is a Redis that stores nothing on disk.
func Redis(p Programs) Kind {
	return Kind{
		Product: "redis",
		User:    "redis",
		Initialise: func(_ context.Context, s *Server) error {
			_, err := s.write("redis.conf", "bind "+loopback+"\nrequirepass "+s.Password+"\ndir "+strconv.Quote(s.Dir)+"\nsave \"\"\nappendonly no\ndaemonize no\n")
			return err
		},
		Command: func(s *Server) (*exec.Cmd, error) {
			return exec.Command(p.Server, filepath.Join(s.Dir, "redis.conf"), "--port", strconv.Itoa(s.Port)), nil
		},
		DSN: func(s *Server) string {
			dsn := url.URL{Scheme: "redis", User: url.UserPassword("", s.Password), Host: s.address(), Path: "/0"}
			return dsn.String()
		},
		Probe:       ProbeRedis,
		Stop:        []syscall.Signal{syscall.SIGTERM},
		ParentDeath: syscall.SIGKILL,
	}
}

// ProbeRedis asks the server for its version. Its errors name the host but neither password nor DSN.
func ProbeRedis(ctx context.Context, dsn string) (string, error) {
	u, err := url.Parse(dsn)
	if err != nil || u.Scheme != "redis" || u.Hostname() == "" {
		// The cause quotes the DSN.
		return "", errors.New("its DSN cannot be parsed: write redis://:password@host:port/0")
	}
	port := u.Port()
	if port == "" {
		port = "6379"
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
	if err != nil {
		return "", err
	}
	defer conn.Close()
	// A connection ignores contexts.
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	if password, isSet := u.User.Password(); isSet {
		user := u.User.Username()
		if user == "" {
			user = "default"
		}
		fmt.Fprintf(conn, "AUTH %s %s\r\n", strconv.Quote(user), strconv.Quote(password))
	}
	if _, err := io.WriteString(conn, "INFO server\r\nQUIT\r\n"); err != nil {
		return "", err
	}
	text, err := io.ReadAll(io.LimitReader(conn, redisAnswerLimit))
	if err != nil {
		return "", err
	}
	_, version, found := strings.Cut(string(text), "redis_version:")
	if !found {
		// An answer names the command, but not its arguments.
		return "", fmt.Errorf("it states no version of Redis, but answers %.200q", text)
	}
	version, _, _ = strings.Cut(version, "\r\n")
	return version, nil
}
