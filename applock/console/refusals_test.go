package console

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Goal: each refusal leaves a line in the log, which names the person if one is known, the address and the page, and has no secret.
// Method: forms of somebody who may only look, of another origin, and without a name; and wrong passwords.
func TestRefusalsAreLogged(t *testing.T) {
	t.Parallel()
	d, log := logged(t)
	grant := d.get(t, "customer:42", "JDOE", time.Hour)
	form := confirmedForm(grant, "secret").Encode()
	says := func(want ...string) {
		t.Helper()
		if strings.Count(log.String(), "\n") != 1 {
			t.Errorf("not one line:\n%s", log)
		}
		for _, text := range append(want, "level=WARN", "console: refused", "address=127.0.0.1", "page=/release") {
			if !strings.Contains(log.String(), text) {
				t.Errorf("lacks %s:\n%s", text, log)
			}
		}
		if strings.Contains(log.String(), "secret") {
			t.Errorf("it has a secret:\n%s", log)
		}
		log.Reset()
	}
	for _, of := range []struct{ method, person, site, want string }{
		{http.MethodPost, "AUDITOR", "same-origin", "person=AUDITOR"}, {http.MethodPost, "MLEE", "cross-site", "another site"}, {http.MethodGet, "", "same-origin", "proxy"},
	} {
		r := request(of.method, "/release?token=secret", form)
		r.Header.Set("Sec-Fetch-Site", of.site)
		if of.person != "" {
			r.Header.Set("X-User", of.person)
		}
		d.do(r)
		says("status=403", "method="+of.method, of.want)
	}

	signIn, err := Basic(map[string]string{"mlee": "right"})
	if err != nil {
		t.Fatal(err)
	}
	d = newDesk(t, Config{SignIn: signIn, Logger: slog.New(slog.NewTextHandler(log, nil))})
	d.do(request(http.MethodGet, "/release", ""))
	if log.Len() > 0 {
		t.Errorf("a browser that asks for the sign-in is logged: %s", log)
	}
	for name, want := range map[string]string{"mlee": "person=mlee", "secret as a name": "status=401"} {
		r := request(http.MethodGet, "/release", "")
		r.SetBasicAuth(name, "secret")
		d.do(r)
		says(want, "status=401")
	}
}

// Goal: a form for a page that takes none is refused with what is allowed, and not as a page that is missing. Method: methods and pages.
func TestMethods(t *testing.T) {
	t.Parallel()
	d := newDesk(t, supervisor())
	for _, test := range []struct {
		method, page, allow string
		status              int
	}{
		{http.MethodPost, "/", "GET, HEAD", http.StatusMethodNotAllowed},
		{http.MethodPut, "/waiters", "GET, HEAD", http.StatusMethodNotAllowed},
		{http.MethodDelete, "/release", "GET, HEAD, POST", http.StatusMethodNotAllowed},
		{http.MethodPost, "/nonsense", "", http.StatusNotFound},
		{http.MethodGet, "/nonsense", "", http.StatusNotFound},
		{http.MethodHead, "/", "", http.StatusOK},
	} {
		r := request(test.method, test.page, "")
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		w := d.do(r)
		if w.Code != test.status || w.Header().Get("Allow") != test.allow || !strings.Contains(w.Body.String(), "<h1") {
			t.Errorf("%s %s: status %d, Allow %q", test.method, test.page, w.Code, w.Header().Get("Allow"))
		}
	}
}

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

// Goal: the deadline is the form's, and not that of what is done with it. Method: a page that takes longer, after a whole form.
func TestPagesOutlastTheFormsDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			err := r.ParseForm()
			time.Sleep(2 * bodyLimit)
			if err := errors.Join(err, r.Context().Err()); err != nil {
				t.Error(err)
			}
		})
		answer := make([]byte, len("HTTP/1.1 200"))
		if _, err := io.ReadFull(speak(t, sameOrigin(slow, nil), strings.Replace(halfForm, "100", "5", 1)), answer); err != nil || string(answer) != "HTTP/1.1 200" {
			t.Errorf("%s, %v", answer, err)
		}
	})
}
