//go:build db2

package main

import (
	"net"
	"strings"
	"testing"
)

// Goal: where there is no Db2, the command says so soon, with the exit code of database errors, and does not show the
// password. Method: IBM's client connects to a port that is closed, and to one that answers nonsense.
func TestNoDb2There(t *testing.T) {
	t.Parallel()
	for name, address := range map[string]string{"Closed": closedPort(t), "Nonsense": nonsensePort(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, arguments := range [][]string{
				{"get", "customer:42", "--operator", "jdoe"}, {"list"}, {"migrate", "status"},
			} {
				got := userOf("db2://user:hemlich@"+address+"/db").run(t, arguments...)
				got.check(t, exitError, "cannot reach the database")
				if strings.Contains(got.stderr, "hemlich") || !strings.Contains(got.stderr, "SQL30081N") {
					t.Errorf("%v: %s", arguments, got.stderr)
				}
			}
		})
	}
}

// closedPort returns an address where nobody listens.
func closedPort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }() // that is its purpose
	return listener.Addr().String()
}

// nonsensePort returns an address where somebody listens who speaks another protocol.
func nonsensePort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Read(make([]byte, 1000))
			_, _ = conn.Write([]byte("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\nNonsense"))
			_ = conn.Close()
		}
	}()
	return listener.Addr().String()
}
