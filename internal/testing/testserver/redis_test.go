//go:build unix

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"slices"
	"strings"
	"testing"
)

func newFakeRedis(f *fakeHost) product { return f.fake(newRedis(f.host()), "7.0.15") }

func TestRedisIsFound(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		arrange func(*fakeHost)
		want    string // "" if absent
		fails   bool
	}{
		"Nothing":  {arrange: func(*fakeHost) {}},
		"InPath":   {arrange: func(f *fakeHost) { f.path["redis-server"] = "/usr/bin/redis-server" }, want: "/usr/bin/redis-server"},
		"NotThere": {arrange: func(f *fakeHost) { f.files = []string{"/usr/sbin/redis-server"} }, want: "/usr/sbin/redis-server"},
		"Named": {arrange: func(f *fakeHost) {
			f.path["redis-server"] = "/usr/bin/redis-server"
			f.files = []string{"/own/redis-server"}
			f.env[redisBin] = "/own"
		}, want: "/own/redis-server"},
		"NamedWithout": {arrange: func(f *fakeHost) {
			f.path["redis-server"] = "/usr/bin/redis-server"
			f.env[redisBin] = "/own"
		}, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fakeHost{path: map[string]string{}, env: map[string]string{}}
			test.arrange(f)
			p := newFakeRedis(f)
			got, err := p.find(t.Context(), p.host)
			if absent := errors.As(err, new(*absentError)); got.server != test.want || absent != (test.want == "" && !test.fails) {
				t.Errorf("server %q, %v, want %q", got.server, err, test.want)
			}
			if test.fails != (err != nil && strings.Contains(err.Error(), "correct or unset it")) {
				t.Errorf("error = %v", err)
			}
		})
	}
}

// fakeRedisServer answers every command with the next of answers, and returns its address and the commands it was given.
func fakeRedisServer(t *testing.T, answers ...string) (address string, commands chan string) {
	t.Helper()
	listener, err := net.Listen("tcp", net.JoinHostPort(loopback, "0"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	commands = make(chan string, len(answers))
	go func() {
		defer close(commands)
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		requests := bufio.NewReader(conn)
		for _, answer := range answers {
			command, err := readRequest(requests)
			if err != nil {
				return
			}
			commands <- command
			fmt.Fprint(conn, answer)
		}
	}()
	return listener.Addr().String(), commands
}

// readRequest reads an array of texts.
func readRequest(requests *bufio.Reader) (string, error) {
	var count int
	if _, err := fmt.Fscanf(requests, "*%d\r\n", &count); err != nil {
		return "", err
	}
	words := make([]string, count)
	for i := range words {
		var length int
		if _, err := fmt.Fscanf(requests, "$%d\r\n", &length); err != nil {
			return "", err
		}
		line, err := requests.ReadString('\n')
		if err != nil {
			return "", err
		}
		words[i] = line[:length]
	}
	return strings.Join(words, " "), nil
}

func bulk(text string) string { return fmt.Sprintf("$%d\r\n%s\r\n", len(text), text) }

func TestRedisStatesItsVersion(t *testing.T) {
	t.Parallel()
	info := bulk("# Server\r\nredis_version:7.0.15\r\nredis_mode:standalone\r\n")
	for name, test := range map[string]struct {
		user    *url.Userinfo
		answers []string
		want    []string // the commands
		wantErr string
	}{
		"Password":        {url.UserPassword("", "s3cret"), []string{"+OK\r\n", info}, []string{"AUTH s3cret", "INFO server"}, ""},
		"UserAndPassword": {url.UserPassword("alice", "s3cret"), []string{"+OK\r\n", info}, []string{"AUTH alice s3cret", "INFO server"}, ""},
		"NoPassword":      {nil, []string{info}, []string{"INFO server"}, ""},
		"WrongPassword": {url.UserPassword("", "s3cret"), []string{"-WRONGPASS invalid username-password pair\r\n"},
			[]string{"AUTH s3cret"}, "it answers: WRONGPASS"},
		"OtherProtocol": {nil, []string{"HTTP/1.1 400 Bad Request\r\n"}, []string{"INFO server"}, "it is no Redis server"},
		"OtherServer":   {nil, []string{bulk("# Server\r\n")}, []string{"INFO server"}, "it states no version"},
		"HugeAnswer":    {nil, []string{"$9999999999\r\n"}, []string{"INFO server"}, "it is no Redis server"},
		"NoAnswer":      {nil, []string{""}, []string{"INFO server"}, "EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address, commands := fakeRedisServer(t, test.answers...)
			dsn := url.URL{Scheme: "redis", User: test.user, Host: address, Path: "/0"}
			version, err := probeRedis(t.Context(), dsn.String())
			if test.wantErr == "" && (err != nil || version != "7.0.15") {
				t.Errorf("version %q, %v", version, err)
			}
			if test.wantErr != "" && (err == nil || !strings.Contains(err.Error(), test.wantErr) || strings.Contains(err.Error(), "s3cret")) {
				t.Errorf("error = %v, want one with %q", err, test.wantErr)
			}
			var got []string
			for command := range commands {
				got = append(got, command)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("commands %q, want %q", got, test.want)
			}
		})
	}
}

// A server that accepts and says nothing must not hang the run.
func TestAMuteRedisEndsWithItsContext(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", net.JoinHostPort(loopback, "0"))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*readyInterval)
	defer cancel()
	if _, err := probeRedis(ctx, "redis://"+listener.Addr().String()+"/0"); err == nil {
		t.Error("it answered")
	}
}

func TestAGivenRedisThatDoesNotAnswerIsAnErrorWithoutTheDSN(t *testing.T) {
	t.Parallel()
	for name, dsn := range map[string]string{
		"NotADSN":       "redis://:s3cret@host:port:port/0",
		"OtherScheme":   "http://alice:s3cret@127.0.0.1:1/0",
		"NobodyListens": "redis://alice:s3cret@127.0.0.1:1/0",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fakeHost{env: map[string]string{redisDSN: dsn}}
			_, err := newRedis(f.host()).backend().supply(t.Context())
			if err == nil || errors.As(err, new(*absentError)) || !strings.Contains(err.Error(), "the server given by "+redisDSN) {
				t.Errorf("error = %v", err)
			}
			if strings.Contains(err.Error(), "s3cret") || strings.Contains(err.Error(), "alice:") {
				t.Errorf("the error tells too much: %v", err)
			}
		})
	}
}

// checkRedis checks that the server wants its password and keeps nothing on disk.
func checkRedis(t *testing.T, l *launched) {
	t.Helper()
	if l.product.name != "redis" {
		return
	}
	dsn, err := url.Parse(l.dsn)
	if err != nil {
		t.Fatal(err)
	}
	password, _ := dsn.User.Password()
	conn, err := dialRedis(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	answers := bufio.NewReader(conn)
	if _, err := askRedis(conn, answers, "PING"); err == nil || !strings.Contains(err.Error(), "NOAUTH") {
		t.Errorf("without its password it answers %v", err)
	}
	if answer, err := askRedis(conn, answers, "AUTH", password); err != nil || answer != "OK" {
		t.Errorf("AUTH: %q, %v", answer, err)
	}
	persistence, err := askRedis(conn, answers, "INFO", "persistence")
	if err != nil || !strings.Contains(persistence, "aof_enabled:0") {
		t.Errorf("persistence: %q, %v", persistence, err)
	}
	// The answer is a list of two texts: no point in time at which to save.
	if _, err := io.WriteString(conn, "CONFIG GET save\r\n"); err != nil {
		t.Fatal(err)
	}
	answer := make([]byte, len("*2\r\n$4\r\nsave\r\n$0\r\n\r\n"))
	if _, err := io.ReadFull(answers, answer); err != nil || !strings.HasSuffix(string(answer), "$0\r\n\r\n") {
		t.Errorf("it saves %q, %v", answer, err)
	}
}
