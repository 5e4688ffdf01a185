package console

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/applock/applock/applock/lease"
	"github.com/applock/applock/internal/clients"
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

const (
	halfForm   = "POST /release HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 100\r\n\r\nname="
	streamAsks = "GET /changes?topics=locks HTTP/1.1\r\nHost: localhost\r\n\r\n"
)

// Goal: a form that never ends does not hold a connection, also not of somebody who does not get in. Method: half a form, in a time of the
// test's own.
func TestFormsHaveADeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newConsole(clients.New(nothingHeld{}, nil, lease.Hooks{}), Config{})
		network := make(pipes)
		server := &http.Server{Handler: c.guarded(c.routes()), ReadHeaderTimeout: time.Second}
		go func() { _ = server.Serve(network) }()
		browser, side := net.Pipe()
		network <- side
		ended := make(chan time.Time, 1)
		go func() {
			_, _ = io.Copy(io.Discard, browser)
			ended <- time.Now()
		}()
		begun := time.Now()
		if _, err := io.WriteString(browser, halfForm); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		select {
		case at := <-ended:
			if at.Sub(begun) > 2*bodyLimit {
				t.Errorf("it is open for %s", at.Sub(begun))
			}
		default:
			t.Error("it is open for an hour")
		}
		_ = browser.Close()
		_ = server.Close()
	})
}

// anybody lets everybody in by one name.
type anybody string

func (a anybody) Identify(*http.Request) (Person, error) { return Person{Name: string(a)}, nil }

// Goal: somebody who gets in and sends half a form is told so when the time is over, and a stream of changes goes on after that time.
// Method: a limit that is short, and a stream that is told of a change after it.
func TestStreamsHaveNoDeadline(t *testing.T) {
	t.Parallel()
	d := newDesk(t, Config{SignIn: anybody("MLEE"), MayChange: func(string) bool { return true }, Interval: 10 * time.Millisecond})
	d.console.bodyLimit = 100 * time.Millisecond
	server := httptest.NewServer(d.handler)
	t.Cleanup(server.Close)
	address, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	dial := func(text string) *bufio.Reader {
		t.Helper()
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", address.Host)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		if _, err := io.WriteString(conn, text); err != nil {
			t.Fatal(err)
		}
		return bufio.NewReader(conn)
	}
	stream := dial(streamAsks)
	answer, err := http.ReadResponse(dial(halfForm), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	if answer.StatusCode != http.StatusRequestTimeout {
		t.Errorf("status %d", answer.StatusCode)
	}
	check(t, string(text), "The form did not arrive in time. Nothing has happened")
	// The form came after the stream, and had the same limit.
	d.get(t, "customer:42", "JDOE", time.Hour)
	for told := false; !told; {
		line, err := stream.ReadString('\n')
		if err != nil {
			t.Fatalf("the stream ends: %v", err)
		}
		told = strings.HasPrefix(line, "data: ")
	}
}
