package console

import (
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// pipes is a network within a test, in a time of the test's own.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	conn, open := <-p
	if !open {
		return nil, net.ErrClosed
	}
	return conn, nil
}

func (p pipes) Close() error {
	close(p)
	return nil
}

func (p pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipes"} }

const halfForm = "POST /release HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 100\r\n\r\nname="

// speak sends a text to a server within a bubble of synctest, and returns the other end, which the caller reads and closes.
func speak(t *testing.T, handler http.Handler, text string) net.Conn {
	t.Helper()
	network := make(pipes)
	server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Second}
	go func() { _ = server.Serve(network) }()
	t.Cleanup(func() { _ = server.Close() })
	browser, side := net.Pipe()
	t.Cleanup(func() { _ = browser.Close() })
	network <- side
	if _, err := io.WriteString(browser, text); err != nil {
		t.Fatal(err)
	}
	return browser
}

// anybody lets everybody in by one name.
type anybody string

func (a anybody) Identify(*http.Request) (Person, error) { return Person{Name: string(a)}, nil }

// Goal: a form that never ends does not hold a connection, also not of somebody who does not get in; who gets in is told. Method: half a
// form, in a time of the test's own.
func TestFormsHaveADeadline(t *testing.T) {
	t.Parallel()
	for _, signIn := range []SignIn{nobody{}, anybody("MLEE")} {
		synctest.Test(t, func(t *testing.T) {
			d := newDesk(t, Config{SignIn: signIn, MayChange: func(string) bool { return true }})
			begun := time.Now()
			text, err := io.ReadAll(speak(t, d.handler, halfForm))
			if took := time.Since(begun); err != nil || took > 2*bodyLimit {
				t.Errorf("it is open for %s: %v", took, err)
			}
			if signIn == anybody("MLEE") {
				check(t, string(text), "HTTP/1.1 408", "The form did not arrive in time. Nothing has happened")
			}
		})
	}
}
