//go:build unix

package main

import (
	"bufio"
	"context"
	"crypto/tls"
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
	"time"
)

// The variables of Redis that the launcher reads. The tests read the ones that end in DSN, PID and SERVER.
const (
	redisDSN = "APPLOCK_TEST_REDIS_DSN"
	redisBin = "APPLOCK_TEST_REDIS_BIN"
)

const (
	// redisAccount is the operating system user for the server if the launcher is root.
	redisAccount = "redis"

	redisServer = "redis-server"

	// redisAnswerLimit bounds the size of an answer, which may come from another program than Redis.
	redisAnswerLimit = 64 << 10
)

func newRedis(h host) product {
	p := product{
		host:         h,
		name:         "redis",
		title:        "Redis",
		service:      service{dsn: "redis://:applock@127.0.0.1:63799/0", port: 63799},
		find:         findRedis,
		probe:        probeRedis,
		startPrivate: startRedis,

		serverVariable: "SERVER",
		unpacking: unpacking{
			name:     "redis-debian",
			packages: []string{redisServer},
			programs: []string{"usr/bin/" + redisServer},
			user:     redisAccount,
		},
	}
	p.fetch = p.unpacking.fetch
	return p
}

func findRedis(_ context.Context, h host) (installation, error) {
	return findProgram(h, redisBin, redisServer)
}

// redis is the engine of a private Redis server.
type redis struct {
	programs installation
}

func startRedis(ctx context.Context, programs installation) (*server, error) {
	return startPrivateServer(ctx, redis{programs}, programs.origin)
}

func (r redis) product() string { return "redis" }

func (r redis) user() string { return redisAccount }

// initialise writes the configuration, without the port, which may differ between attempts.
func (r redis) initialise(_ context.Context, s *privateServer) error {
	_, err := s.writeSecret("redis.conf", redisSettings(s))
	return err
}

// redisSettings are for a server that stores nothing on disk.
func redisSettings(s *privateServer) string {
	return "bind " + loopback + "\n" +
		"requirepass " + s.password + "\n" +
		"dir " + strconv.Quote(s.dir) + "\n" +
		"save \"\"\n" +
		"appendonly no\n" +
		"daemonize no\n"
}

func (r redis) command(s *privateServer) (*exec.Cmd, error) {
	return exec.Command(r.programs.server, filepath.Join(s.dir, "redis.conf"), "--port", strconv.Itoa(s.port)), nil
}

func (r redis) dsn(s *privateServer) string {
	dsn := url.URL{Scheme: "redis", User: url.UserPassword("", s.password), Host: s.address(), Path: "/0"}
	return dsn.String()
}

func (r redis) probe(ctx context.Context, dsn string) (string, error) { return probeRedis(ctx, dsn) }

func (r redis) shutdown() []shutdownStep {
	return []shutdownStep{
		{syscall.SIGTERM, 10 * time.Second},
		{syscall.SIGKILL, 5 * time.Second},
	}
}

// parentDeath needs no shutdown: the server is one process and stores nothing.
func (r redis) parentDeath() syscall.Signal { return syscall.SIGKILL }

// probeRedis asks the server for its version. Its errors name the host but neither password nor DSN.
func probeRedis(ctx context.Context, dsn string) (string, error) {
	u, err := url.Parse(dsn)
	if err != nil || u.Scheme != "redis" && u.Scheme != "rediss" || u.Hostname() == "" {
		// The cause quotes the DSN.
		return "", errors.New("its DSN cannot be parsed: write redis://:password@host:port/0")
	}
	conn, err := dialRedis(ctx, u)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	// A connection ignores contexts.
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	answers := bufio.NewReader(io.LimitReader(conn, redisAnswerLimit))
	if password, isSet := u.User.Password(); isSet {
		if _, err := askRedis(conn, answers, authentication(u.User.Username(), password)...); err != nil {
			return "", err
		}
	}
	info, err := askRedis(conn, answers, "INFO", "server")
	if err != nil {
		return "", err
	}
	_, version, found := strings.Cut(info, "redis_version:")
	if !found {
		return "", errors.New("it is no Redis server: it states no version")
	}
	version, _, _ = strings.Cut(version, "\r\n")
	return version, nil
}

func dialRedis(ctx context.Context, u *url.URL) (net.Conn, error) {
	port := u.Port()
	if port == "" {
		port = "6379"
	}
	address := net.JoinHostPort(u.Hostname(), port)
	if u.Scheme == "rediss" {
		return new(tls.Dialer).DialContext(ctx, "tcp", address)
	}
	return new(net.Dialer).DialContext(ctx, "tcp", address)
}

func authentication(user, password string) []string {
	if user == "" {
		return []string{"AUTH", password}
	}
	return []string{"AUTH", user, password}
}

// askRedis sends a command in Redis's protocol and returns the answer, which must be a single text.
func askRedis(conn net.Conn, answers *bufio.Reader, command ...string) (string, error) {
	var request strings.Builder
	fmt.Fprintf(&request, "*%d\r\n", len(command))
	for _, word := range command {
		fmt.Fprintf(&request, "$%d\r\n%s\r\n", len(word), word)
	}
	if _, err := io.WriteString(conn, request.String()); err != nil {
		return "", err
	}
	line, err := answers.ReadString('\n')
	if err != nil {
		return "", err
	}
	kind, rest := line[:1], strings.TrimRight(line[1:], "\r\n")
	switch kind {
	case "+":
		return rest, nil
	case "-":
		// The answer names the command, but not its arguments.
		return "", errors.New("it answers: " + rest)
	case "$":
		return readBulk(answers, rest)
	default:
		return "", errors.New("it is no Redis server: it answers in another protocol")
	}
}

// readBulk reads a text of known length.
func readBulk(answers *bufio.Reader, length string) (string, error) {
	n, err := strconv.Atoi(length)
	if err != nil || n < 0 || n > redisAnswerLimit {
		return "", errors.New("it is no Redis server: it answers in another protocol")
	}
	text := make([]byte, n+len("\r\n"))
	_, err = io.ReadFull(answers, text)
	return string(text[:n]), err
}
