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
	for name, address := range map[string]string{"Closed": "127.0.0.1:1", "Nonsense": fakeServer(t, talkNonsense)} {
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

// talkNonsense answers as a server of another protocol.
func talkNonsense(conn net.Conn) {
	_, _ = conn.Read(make([]byte, 1000))
	_, _ = conn.Write([]byte("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\nNonsense"))
	_ = conn.Close()
}
