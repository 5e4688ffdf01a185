package testdb

import (
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// OwnRedis starts a Redis for one test in a directory, with additional settings, and returns its socket as soon as it answers. kill ends the server at
// once, as the end of the test does; another one can be started in the directory then. Without Redis's program the test ends as in Require.
func OwnRedis(t testing.TB, directory string, settings ...string) (socket string, kill func()) {
	t.Helper()
	socket = filepath.Join(directory, "redis.sock")
	options := append([]string{"--port", "0", "--unixsocket", socket, "--dir", directory, "--save", ""}, settings...)
	server := exec.Command(RedisServer(t), options...) //nolint:gosec,noctx // the developer named the path, and the test ends the server in its own way
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	kill = func() {
		_ = server.Process.Kill() // it has ended already at the end of the test
		_ = server.Wait()
	}
	t.Cleanup(kill)
	for deadline := time.Now().Add(serverLimit); !redisAnswers(socket); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the server does not answer")
		}
	}
	return socket, kill
}

// redisAnswers reports whether a server has read its data.
func redisAnswers(socket string) bool {
	conn, err := net.Dial("unix", socket) //nolint:noctx // of this machine
	if err != nil {
		return false
	}
	defer func() { _ = conn.Close() }()
	answer := make([]byte, len("+PONG"))
	_ = conn.SetDeadline(time.Now().Add(time.Second)) // a socket has deadlines
	_, err = conn.Write([]byte("PING\r\n"))
	n, readErr := conn.Read(answer)
	return err == nil && readErr == nil && strings.HasPrefix(string(answer[:n]), "+PONG")
}
