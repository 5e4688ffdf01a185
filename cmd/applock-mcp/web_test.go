package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/cmd/internal/roles"
)

// signed puts what a client signs in by into each request.
type signed struct {
	name, password string
	header         map[string]string
}

func (s signed) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	if s.name != "" {
		r.SetBasicAuth(s.name, s.password)
	}
	for key, value := range s.header {
		r.Header.Set(key, value)
	}
	return http.DefaultTransport.RoundTrip(r)
}

// newWeb serves by HTTP, with a sign-in by passwords.
func newWeb(t *testing.T, log io.Writer) (address string, p place) {
	t.Helper()
	p = onSQLite(t)
	file := filepath.Join(t.TempDir(), "people")
	if err := os.WriteFile(file, []byte("agent-1:hush\nagent-2:shush\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := webFlags{Flags: roles.Flags{Passwords: file}}
	signIn, err := f.signIn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	l := locks{client: p.client, ttl: time.Hour, longestTTL: time.Hour, timeout: time.Minute, mayTake: true, logger: slog.New(slog.NewTextHandler(log, nil)), version: "1"}
	server := httptest.NewServer(f.handler(signIn, l))
	t.Cleanup(server.Close)
	return server.URL + "/mcp", p
}

func connectBy(t *testing.T, address string, as signed) (agent, error) {
	t.Helper()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(),
		&mcp.StreamableClientTransport{Endpoint: address, HTTPClient: &http.Client{Transport: as}, MaxRetries: -1, DisableStandaloneSSE: true}, nil)
	if err != nil {
		return agent{}, err
	}
	t.Cleanup(func() { _ = session.Close() })
	return agent{t: t, session: session}, nil
}

// Goal: by HTTP the operator is who has signed in, and nobody gets in without. Method: two people by passwords, and people without.
func TestSignInByHTTP(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	address, p := newWeb(t, &log)
	first, err := connectBy(t, address, signed{name: "agent-1", password: "hush", header: map[string]string{"X-User": "mlee", "X-Forwarded-User": "mlee"}})
	if err != nil {
		t.Fatal(err)
	}
	second, err := connectBy(t, address, signed{name: "agent-2", password: "shush"})
	if err != nil {
		t.Fatal(err)
	}
	first.want(first.do("lock_get", arguments{"object": "file:a"}), applock.OutcomeAcquired, true)
	got := second.do("lock_get", arguments{"object": "file:a"})
	second.want(got, applock.OutcomeHeld, false)
	if got.Holder.Operator != "agent-1" || got.You != "agent-2" {
		t.Errorf("agent-2 is answered %+v", got)
	}
	for name, as := range map[string]signed{
		"nobody": {}, "a wrong password": {name: "agent-1", password: "wrong-one"}, "a stranger": {name: "mlee", password: "hush"},
		"a header of a proxy": {header: map[string]string{"X-Forwarded-User": "agent-1"}},
		"another site's page": {name: "agent-1", password: "hush", header: map[string]string{"Origin": "https://evil.example.com"}},
	} {
		if a, err := connectBy(t, address, as); err == nil {
			t.Errorf("%s gets in: %s", name, textIn(a.try("lock_status", nil)))
		}
	}
	if lock, err := p.client.Inquire(t.Context(), applock.Object{Type: "file", ID: "a"}); err != nil || lock.Owner.Operator != "agent-1" {
		t.Errorf("the database has %+v, %v", lock, err)
	}
}

// Goal: one request is all that a client needs: there is no session. Method: a request of a client of 2025, and one of 2026, by hand; and one
// without a password.
func TestOneRequestByHTTP(t *testing.T) {
	t.Parallel()
	address, _ := newWeb(t, io.Discard)
	post := func(password, version, body string) (*http.Response, string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if password != "" {
			r.SetBasicAuth("agent-1", password)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		r.Header.Set("Mcp-Protocol-Version", version)
		r.Header.Set("Mcp-Method", "tools/call")
		r.Header.Set("Mcp-Name", "lock_get")
		return answerTo(t, r)
	}
	const params = `"name":"lock_get","arguments":{"object":"file:a"}`
	old := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{` + params + `}}`
	meta := `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},` +
		`"io.modelcontextprotocol/clientInfo":{"name":"x","version":"1"}}`
	recent := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{` + params + meta + `}}`
	for version, body := range map[string]string{"2025-06-18": old, "2026-07-28": recent} {
		answered, text := post("hush", version, body)
		var message struct {
			Result struct {
				StructuredContent answer `json:"structuredContent"`
			} `json:"result"`
		}
		if err := json.Unmarshal([]byte(text), &message); err != nil || !message.Result.StructuredContent.YouHold {
			t.Errorf("%s: %d %s", version, answered.StatusCode, text)
		}
		if answered.Header.Get("Mcp-Session-Id") != "" {
			t.Errorf("%s: there is a session", version)
		}
	}
	if answered, text := post("", "2025-06-18", old); answered.StatusCode != http.StatusUnauthorized || answered.Header.Get("WWW-Authenticate") == "" {
		t.Errorf("without a password: %d %s", answered.StatusCode, text)
	}
}

// Goal: no line of the log has a note, a message or a reason. Method: each tool on a lock with such texts, with the database and without.
func TestLogHasNoTexts(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	address, p := newWeb(t, &log)
	a, err := connectBy(t, address, signed{name: "agent-1", password: "hush"})
	if err != nil {
		t.Fatal(err)
	}
	other, _ := connectBy(t, address, signed{name: "agent-2", password: "shush"})
	held := other.do("lock_get", arguments{"object": "file:a"})
	other.do("lock_note", arguments{"object": "file:a", "fence": held.Fence, "note": "marker"})
	a.do("lock_ask", arguments{"object": "file:a", "message": "marker"})
	other.do("lock_answer", arguments{"object": "file:a", "fence": held.Fence, "asker": "agent-1", "answer": "LATER", "reason": "marker"})
	for range 2 {
		for tool, in := range everyTool() {
			a.try(tool, in)
		}
		_ = p.client.Close()
	}
	if text := log.String(); strings.Contains(text, "marker") || strings.Count(text, "level=ERROR") != len(everyTool()) {
		t.Errorf("the log is %s", text)
	}
}

// startedWeb runs the program until the test ends, and returns the address that its log names.
func startedWeb(t *testing.T, args ...string) string {
	t.Helper()
	logged, log := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		run(ctx, append([]string{"--listen", "127.0.0.1:0"}, args...), surroundings{
			stdin: io.NopCloser(strings.NewReader("")), stdout: io.Discard, stderr: log, getenv: func(string) string { return "" },
		})
		_ = log.Close() // it is a pipe
	}()
	t.Cleanup(func() { cancel(); <-ended })
	lines := bufio.NewScanner(logged)
	lines.Scan()
	found := regexp.MustCompile(`http://127\.0\.0\.1:[0-9]+/mcp`).FindString(lines.Text())
	if found == "" {
		t.Fatalf("the program has not begun: %s", lines.Text())
	}
	go func() { _, _ = io.Copy(io.Discard, logged) }() // so that the log never waits
	return found
}

// Goal: an agent with a role is served by the database user of that role, and others by that of --dsn. Method: each user has a database of its own, and
// agents have no role, one by --member, one by the header of their proxy, and one that no --role names.
func TestRolesByHTTP(t *testing.T) {
	t.Parallel()
	own, reviewers := onSQLite(t), onSQLite(t)
	file := filepath.Join(t.TempDir(), "dsn")
	if err := os.WriteFile(file, []byte(reviewers.dsn+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	address := startedWeb(t, "--dsn", own.dsn, "--user-header", "X-User", "--roles-header", "X-Groups", "--proxy", "127.0.0.0/8",
		"--role", "reviewers="+file, "--member", "member=reviewers")
	for _, test := range []struct {
		agent, groups string
		in            place
	}{{"nobody", "", own}, {"member", "", reviewers}, {"grouped", "staff, reviewers", reviewers}, {"other", "staff", own}} {
		a, err := connectBy(t, address, signed{header: map[string]string{"X-User": test.agent, "X-Groups": test.groups}})
		if err != nil {
			t.Fatal(err)
		}
		a.want(a.do("lock_get", arguments{"object": "file:" + test.agent}), applock.OutcomeAcquired, true)
		lock, err := test.in.client.Inquire(t.Context(), applock.Object{Type: "file", ID: test.agent})
		if err != nil || lock.Owner.Operator != test.agent {
			t.Errorf("%s of %q: the database of the role has %+v, %v", test.agent, test.groups, lock, err)
		}
	}
}

// answerTo sends a request, and returns the answer and its whole text.
func answerTo(t *testing.T, r *http.Request) (*http.Response, string) {
	t.Helper()
	answered, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answered.Body.Close() }()
	text, err := io.ReadAll(answered.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answered, string(text)
}

// Goal: a monitor needs no sign-in, and the issuer may come later. Method: the probes and the metrics of a server with passwords after a call, and of one
// whose issuer cannot be reached.
func TestMonitorsByHTTP(t *testing.T) {
	t.Parallel()
	p := onSQLite(t)
	file := filepath.Join(t.TempDir(), "people")
	if err := os.WriteFile(file, []byte("agent-1:hush\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	address := startedWeb(t, "--dsn", p.dsn, "--passwords", file)
	fetch := func(address, page string) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, strings.TrimSuffix(address, "/mcp")+page, nil)
		if err != nil {
			t.Fatal(err)
		}
		answered, text := answerTo(t, r)
		return answered.StatusCode, text
	}
	a, err := connectBy(t, address, signed{name: "agent-1", password: "hush"})
	if err != nil {
		t.Fatal(err)
	}
	a.want(a.do("lock_get", arguments{"object": "file:a"}), applock.OutcomeAcquired, true)
	for page, want := range map[string]int{"/livez": 200, "/readyz": 200, "/mcp": 401} {
		if status, text := fetch(address, page); status != want {
			t.Errorf("%s: %d %s", page, status, text)
		}
	}
	_, text := fetch(address, "/metrics")
	if !strings.Contains(text, `applock_database_calls_total{operation="get_appl_lock"} 1`) || strings.Contains(text, "agent-1") {
		t.Errorf("the metrics are\n%s", text)
	}
	waiting := startedWeb(t, "--dsn", p.dsn, "--oidc-issuer", "http://127.0.0.1:1/", "--oidc-client", "x", "--address", "https://locks.example.com/mcp")
	for page, want := range map[string]int{"/livez": 200, "/readyz": 503} {
		if status, text := fetch(waiting, page); status != want {
			t.Errorf("without an issuer %s: %d %s", page, status, text)
		}
	}
	if _, err := connectBy(t, waiting, signed{header: map[string]string{"Authorization": "Bearer x"}}); err == nil || !strings.Contains(err.Error(), "Service Unavailable") {
		t.Errorf("a token without an issuer: %v", err)
	}
}
