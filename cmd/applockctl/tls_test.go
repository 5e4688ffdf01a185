package main

import (
	"bytes"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// heard is what a client has sent to a server.
type heard struct {
	mutex sync.Mutex
	bytes bytes.Buffer
}

// Write notes what a client sends.
func (h *heard) Write(sent []byte) (int, error) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return h.bytes.Write(sent)
}

func (h *heard) text() string {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return h.bytes.String()
}

// Goal: a DSN that wants TLS is obeyed: a server that has none is refused, and told neither a user nor a password. Method: servers that speak no TLS,
// and what they have heard when the command has failed; without TLS in the DSN they hear the user, so that the silence shows something.
func TestNoTLSNoWord(t *testing.T) {
	t.Parallel()
	const user, password = "jdoe", "Zq7xSecret"
	// What each server says first, and what it answers to the request for TLS.
	withoutTLS := map[string]func(conn net.Conn, heard *heard){
		"postgres": func(conn net.Conn, heard *heard) {
			listen(conn, heard, func(request []byte) bool {
				const lengthOfTLS = 8
				_, err := conn.Write([]byte("N")) // no TLS here
				return len(request) == lengthOfTLS && err == nil
			})
		},
		"mysql": func(conn net.Conn, heard *heard) {
			_ = mysqlWrite(conn, 0, "\x0a8.4.0\x00\x01\x00\x00\x00saltsalt\x00\x09\xa2\xff\x02\x00\x08\x00\x15"+
				strings.Repeat("\x00", 10)+"saltsaltsalt\x00mysql_native_password\x00") // without the capability of TLS
			listen(conn, heard, func([]byte) bool { return false })
		},
	}
	for _, test := range []struct {
		server, scheme, options string
		speaks                  bool
	}{
		{"postgres", "postgres", "sslmode=require", false},
		{"postgres", "postgres", "sslmode=verify-ca", false},
		{"postgres", "postgres", "sslmode=verify-full", false},
		{"postgres", "postgresql", "sslmode=verify-full&sslrootcert=system", false},
		{"postgres", "postgres", "sslmode=disable", true},
		{"mysql", "mysql", "tls=true", false},
		{"mysql", "mariadb", "tls=skip-verify", false},
		{"mysql", "mysql", "", true},
	} {
		t.Run(test.scheme+"/"+test.options, func(t *testing.T) {
			t.Parallel()
			var heard heard
			address := fakeServer(t, func(conn net.Conn) { withoutTLS[test.server](conn, &heard) })
			dsn := test.scheme + "://" + user + ":" + password + "@" + address + "/crm?" + test.options
			got := userOf(dsn).run(t, "ping", "--timeout", "2m")
			if got.code == 0 || strings.Contains(got.stdout+got.stderr, password) {
				t.Errorf("exit %d\n%s%s", got.code, got.stdout, got.stderr)
			}
			if told := heard.text(); strings.Contains(told, user) != test.speaks || strings.Contains(told, password) {
				t.Errorf("the server has heard %q", told)
			}
		})
	}
}

// listen notes all that a client sends, answers the first piece of it, and goes on where the answer says so.
func listen(conn net.Conn, heard *heard, answer func(request []byte) bool) {
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(time.Minute)) // for hangs
	piece := make([]byte, 4096)
	for first := true; ; first = false {
		n, err := conn.Read(piece)
		_, _ = heard.Write(piece[:n])
		if err != nil || first && !answer(piece[:n]) {
			return
		}
	}
}
