package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// servedConsole is a run of console.
type servedConsole struct {
	// line is what is printed: an address that has a token where nobody signs in. In address it is left out.
	line, printed, address string
	// browser has come in, if there is a token.
	browser *http.Client
	stop    func() (code int, stderr string)
}

func serveConsole(t *testing.T, u user, args ...string) servedConsole {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	stdout, end := io.Pipe()
	var stderr strings.Builder
	codes := make(chan int, 1)
	go func() {
		codes <- run(ctx, append([]string{"console", "--listen", "127.0.0.1:0", "--output", "json"}, args...), end, &stderr, u.getenv)
		_ = end.Close()
	}()
	t.Cleanup(func() { cancel(); _ = stdout.Close() })
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		cancel()
		t.Fatalf("%v, exit code %d: %s", err, <-codes, stderr.String())
	}
	var answer struct{ Address, Listen string }
	if err := json.Unmarshal([]byte(line), &answer); err != nil {
		t.Fatalf("%v: %s", err, line)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	_, token, _ := strings.Cut(answer.Address, "?")
	s := servedConsole{line: line, printed: answer.Address, address: "http://" + answer.Listen + "/", browser: &http.Client{Jar: jar}, stop: func() (int, string) {
		cancel()
		return <-codes, stderr.String()
	}}
	if token != "" {
		s.fetch(t, "?"+token)
	}
	return s
}

// fetch returns the status of a page and its text.
func (s servedConsole) fetch(t *testing.T, page string, changes ...func(r *http.Request)) (status int, text string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.address+page, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range changes {
		change(r)
	}
	answer, err := s.browser.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(body)
}

// Goal: a monitor needs no sign-in and learns no name, and an issuer that is down when the console starts is asked again. Method: probes, pages and the
// metrics of a console with passwords, and of one whose issuer comes up late.
func TestConsoleIsWatched(t *testing.T) {
	t.Parallel()
	u := sqliteUser(t)
	u.must(t, "get", "customer:secret", "--operator", "jdoe")
	people := filepath.Join(t.TempDir(), "people")
	if err := os.WriteFile(people, []byte("mlee:hush\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := serveConsole(t, u, "--passwords", people)
	for page, want := range map[string]int{"livez": 200, "readyz": 200, "metrics": 200, "": 401} {
		if status, text := s.fetch(t, page); status != want {
			t.Errorf("/%s: %d %s", page, status, text)
		}
	}
	s.fetch(t, "", func(r *http.Request) { r.SetBasicAuth("mlee", "hush") })
	s.fetch(t, "", func(r *http.Request) { r.SetBasicAuth("jdoe", "wrong") })
	_, text := s.fetch(t, "metrics")
	for _, want := range []string{
		`applock_http_requests_total{code="200"} 1`, `applock_http_requests_total{code="401"} 2`, "applock_failed_sign_ins_total 1", `applock_database_calls_total{operation="appl_lock_live"} `,
	} {
		if !strings.Contains(text, "\n"+want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	for _, name := range []string{"mlee", "jdoe", "customer", "secret"} {
		if strings.Contains(text, name) {
			t.Errorf("the metrics name %s:\n%s", name, text)
		}
	}
	checkWatchedIssuer(t, u)
}

func checkWatchedIssuer(t *testing.T, u user) {
	t.Helper()
	var up atomic.Bool
	var issuer *httptest.Server
	issuer = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if !up.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		_, _ = fmt.Fprintf(w, `{"issuer":%q,"authorization_endpoint":"https://id.example.com/auth"}`, issuer.URL)
	}))
	t.Cleanup(issuer.Close)
	s := serveConsole(t, u, "--oidc-issuer", issuer.URL, "--oidc-client", "locks", "--address", "https://locks.example.com/")
	s.browser.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	for page, want := range map[string]int{"livez": 200, "readyz": 503, "sign-in": 503} {
		if status, text := s.fetch(t, page); status != want {
			t.Errorf("without an issuer /%s: %d %s", page, status, text)
		}
	}
	up.Store(true)
	for status := 0; status != http.StatusOK; status, _ = s.fetch(t, "readyz") {
		time.Sleep(50 * time.Millisecond) // until the test's own limit
	}
	if status, text := s.fetch(t, "sign-in"); status != http.StatusSeeOther {
		t.Errorf("with the issuer: %d %s", status, text)
	}
	if _, text := s.fetch(t, "metrics"); !strings.Contains(text, "\napplock_sessions 0\n") {
		t.Errorf("no sessions in\n%s", text)
	}
	if _, stderr := s.stop(); !strings.Contains(stderr, "not ready") || !strings.Contains(stderr, "openid: the issuer: 503") || !strings.Contains(stderr, "ready again") {
		t.Errorf("stderr: %s", stderr)
	}
}

// Goal: the console serves what the database has, on every dialect, tells where, and ends when it is told to, also while
// somebody looks on. Method: its pages, the question of a page whether it is still the same, and an interrupt.
func TestConsole(t *testing.T) {
	t.Parallel()
	onEveryDialect(t, func(t *testing.T, u user) {
		u.must(t, "get", "customer:42", "--operator", "jdoe")
		s := serveConsole(t, u, "--by", "mlee", "--may-change", "mlee")
		for page, want := range map[string]string{
			"": "Who blocks whom", "locks": "customer:42", "locks?sort=left&within=3650d": "customer:42", "operator?name=jdoe": "customer:42", "waiters": "Nobody waits", "health": "0 of them pending",
			"statistics": "customer", "object?name=customer:42": `href="release?name=customer%3a42"`, "release?name=customer:42": "Show what will happen",
		} {
			if status, text := s.fetch(t, page); status != http.StatusOK || !strings.Contains(text, want) {
				t.Errorf("%q: status %d, lacks %q: %s", page, status, want, text)
			}
		}
		if _, text := s.fetch(t, "health"); strings.Contains(text, "SQLite") == strings.Contains(text, "pooler") {
			t.Errorf("of what is in between the page on health says %s", text)
		}
		_, page := s.fetch(t, "")
		_, behind, _ := strings.Cut(page, `data-version="`)
		version, _, _ := strings.Cut(html.UnescapeString(behind), `" data-age`)
		if status, text := s.fetch(t, "", func(r *http.Request) { r.Header.Set("If-None-Match", version) }); status != http.StatusNotModified {
			t.Errorf("a page that is still the same: status %d, %s", status, text)
		}
		if code, stderr := s.stop(); code != exitInterrupted {
			t.Errorf("exit code %d: %s", code, stderr)
		}
	})
}

// Goal: the page on health says whether the server takes changes, how its clock stands, and how far the purge is behind. Method: a
// database as it should be; then one of which nobody purges anything, and which is read only.
func TestConsoleTellsHealth(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, s server) {
		dsn := s.installedDatabase(t)
		u := userOf(dsn)
		look := func(status int, texts ...string) {
			t.Helper()
			console := serveConsole(t, u)
			got, text := console.fetch(t, "health")
			for _, want := range texts {
				if got != status || !strings.Contains(text, want) {
					t.Errorf("status %d, lacks %q: %s", got, want, text)
				}
			}
			console.stop()
		}
		look(http.StatusOK, "it is a primary", "neither a pooler nor a cluster", "The clocks", "none of 0 rows looked at")
		p := place{product: s}
		s.exec(t, dsn, staleRow(p, p.table("appl_lock")))
		look(http.StatusServiceUnavailable, "1 of 1 row looked at should have been purged")
		if s == postgresServer {
			s.exec(t, dsn, "ALTER DATABASE "+databaseOf(t, dsn)+" SET default_transaction_read_only = on")
			look(http.StatusServiceUnavailable, "transactions are read only")
		}
	})
}

// Goal: a page whose name leads to this host cannot send the header that a proxy of this host sends, and the console knows the name of
// --address. Method: requests by several names, with the header.
func TestConsoleChecksTheHost(t *testing.T) {
	t.Parallel()
	u := sqliteUser(t)
	s := serveConsole(t, u, "--address", "https://locks.example.com/", "--user-header", "X-User", "--proxy", "127.0.0.0/8")
	if s.printed != "https://locks.example.com/" {
		t.Errorf("the console prints %s", s.printed)
	}
	for host, want := range map[string]int{"localhost": http.StatusOK, "locks.example.com": http.StatusOK, "evil.example.com:8420": http.StatusForbidden} {
		status, text := s.fetch(t, "locks", func(r *http.Request) {
			r.Host = host
			r.Header.Set("X-User", "mlee")
		})
		if status != want || want == http.StatusForbidden && !strings.Contains(text, "--address") {
			t.Errorf("host %s: status %d: %s", host, status, text)
		}
	}
	s.stop()
	u.run(t, "console", "--address", "https://locks.example.com/").check(t, exitUsage, "--address is for --user-header and --oidc-issuer")
	proxied := []string{"console", "--user-header", "X-User", "--proxy", "127.0.0.0/8", "--address", "locks.example.com"}
	u.run(t, proxied...).check(t, exitUsage, "--address is written as https://locks.example.com/")
	u.run(t, "console", "--oidc-issuer", "https://127.0.0.1:1/", "--oidc-client", "locks").check(t, exitUsage, "--address is missing")
}

// Goal: by the role that the docs prescribe the page on health is well, and says what it could not look at, which is not green. Method: an
// account with the supervisor's rights.
func TestConsoleTellsWhatItDoesNotCheck(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, s server) {
		dsn := s.installedDatabase(t)
		owner := userOf(dsn)
		name := s.newUser(t, dsn, "secret")
		owner.must(t, "grant", "--to", name, "--as", "supervisor")
		console := serveConsole(t, userOf(withUser(t, dsn, name, "secret")))
		status, text := console.fetch(t, "health")
		if status != http.StatusOK || strings.Count(text, ">not checked<") != 3 || !strings.Contains(text, "run as the account that installs: applockctl migrate status") ||
			!strings.Contains(text, "run as the account that installs: applockctl verify") {
			t.Errorf("status %d: %s", status, text)
		}
		console.stop()
		obey(t, owner, text, "this account may not read which steps are applied: run as the account that installs: applockctl migrate status")
		obey(t, owner, text, "this account may not read the table appl_lock: run as the account that installs: applockctl verify")
		console = serveConsole(t, owner)
		_, text = console.fetch(t, "health")
		console.stop()
		obey(t, owner, text, "%d steps, %d of them pending, %d findings of applockctl migrate status")
	})
}

// Goal: without a sign-in only the browser that has the printed address gets in, once; stderr has the address for the next one. Method:
// a browser with that address, and another one with it used.
func TestConsoleLetsInByItsAddress(t *testing.T) {
	t.Parallel()
	s := serveConsole(t, sqliteUser(t), "--by", "mlee")
	token := strings.TrimPrefix(s.printed, s.address)
	if status, text := s.fetch(t, ""); status != http.StatusOK || !strings.Contains(text, "You are <bdi>mlee</bdi>") || !strings.HasPrefix(token, "?token=") {
		t.Errorf("%s: status %d: %s", s.printed, status, text)
	}
	s.browser = &http.Client{}
	if status, text := s.fetch(t, token); status != http.StatusForbidden || !strings.Contains(text, "After each use the next address is printed") {
		t.Errorf("another browser: status %d: %s", status, text)
	}
	code, stderr := s.stop()
	if _, next, found := strings.Cut(stderr, "the address for the next browser is "+s.address+"?token="); !found || strings.Contains(next, token) {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	sqliteUser(t).run(t, "console", "--quiet").check(t, exitUsage, "--quiet hides the address that lets the first browser in")
}

// Goal: a sign-in is what its flags say. Method: requests with names and passwords.
func TestConsoleSignsIn(t *testing.T) {
	t.Parallel()
	u := sqliteUser(t)
	people := filepath.Join(t.TempDir(), "people")
	if err := os.WriteFile(people, []byte("mlee:secret:1\npking:other\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	basic := serveConsole(t, u, "--passwords", people)
	for password, want := range map[string]int{"": http.StatusUnauthorized, "other": http.StatusUnauthorized, "secret:1": http.StatusOK} {
		status, text := basic.fetch(t, "", func(r *http.Request) { r.SetBasicAuth("mlee", password) })
		if status != want || strings.Contains(text, "You are <bdi>mlee</bdi>") != (want == http.StatusOK) {
			t.Errorf("password %q: status %d", password, status)
		}
	}
	basic.stop()
}

// Goal: people of a role are served by the database user of that role, and may change things without being named by --may-change. Method: the
// same file by another DSN, for a member by name and for groups that a proxy tells of.
func TestConsoleHasRoles(t *testing.T) {
	t.Parallel()
	u := sqliteUser(t)
	u.must(t, "get", "customer:42", "--operator", "jdoe", "--department", "sales")
	u.must(t, "get", "customer:43", "--operator", "jdoe", "--department", "legal")
	dsn := filepath.Join(t.TempDir(), "dsn")
	if err := os.WriteFile(dsn, []byte(u.getenv(dsnVariable)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := serveConsole(t, u, "--user-header", "X-User", "--roles-header", "X-Groups", "--proxy", "127.0.0.0/8", "--role", "supervisors="+dsn,
		"--member", "mlee=supervisors", "--department", "supervisors=sales", "--department", "mlee=legal")
	for _, test := range []struct {
		person, groups string
		may, legal     bool
	}{{"mlee", "", true, true}, {"pking", "staff, supervisors", true, false}, {"pking", "staff", false, false}} {
		by := func(r *http.Request) {
			r.Header.Set("X-User", test.person)
			r.Header.Set("X-Groups", test.groups)
		}
		if _, text := s.fetch(t, "object?name=customer:43", by); strings.Contains(text, "release?name=") != test.legal {
			t.Errorf("%s of %q may change a lock of another department: %t", test.person, test.groups, !test.legal)
		}
		_, text := s.fetch(t, "object?name=customer:42", by)
		if !strings.Contains(text, "jdoe") || strings.Contains(text, "as <bdi>supervisors</bdi>") != test.may || strings.Contains(text, "release?name=") != test.may {
			t.Errorf("%s of %q: %s", test.person, test.groups, text)
		}
	}
	s.stop()
}

// Goal: a desk is handed over through replicas behind round robin, of which one is replaced between the plan and its confirmation; the same confirmation
// shows the same answer at each of them. Method: two consoles with one key behind a reverse proxy, and the forms of a browser.
func TestConsoleReplicas(t *testing.T) {
	t.Parallel()
	u := sqliteUser(t)
	for _, object := range []string{"customer:42", "customer:43"} {
		u.must(t, "get", object, "--operator", "jdoe")
	}
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte(strings.Repeat("k", 32)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	start := func() servedConsole {
		return serveConsole(t, u, "--user-header", "X-User", "--proxy", "127.0.0.0/8", "--may-change", "mlee", "--key-file", key)
	}
	replicas := []servedConsole{start(), start()}
	var served atomic.Int64
	front := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		target, err := url.Parse(replicas[served.Add(1)%2].address)
		if err != nil {
			panic(err)
		}
		r.SetURL(target)
		r.Out.Header.Set("X-User", "mlee")
	}})
	t.Cleanup(front.Close)
	send := func(form url.Values) string {
		t.Helper()
		answer, err := front.Client().PostForm(front.URL+"/transfer", form) // the redirect is served by the other replica
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		page, err := io.ReadAll(answer.Body)
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("status %d, %v: %s", answer.StatusCode, err, page)
		}
		return strings.NewReplacer("<bdi>", "", "</bdi>", "").Replace(string(page))
	}
	plan := send(url.Values{"desk": {"jdoe"}, "to": {"asmith"}, "unknown": {"asmith"}, "reason": {"jdoe is ill"}})
	confirmed := url.Values{}
	for _, field := range regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)">`).FindAllStringSubmatch(plan, -1) {
		confirmed.Add(field[1], html.UnescapeString(field[2]))
	}
	replicas[0].stop()
	replicas[0] = start()
	for range 3 { // the proxy begins with another one each time
		if answer := send(confirmed); !strings.Contains(answer, "TRANSFERRED</strong> Handed over. 2 of 2.") {
			t.Errorf("the answer is %s", answer)
		}
		served.Add(1)
	}
	if history := u.must(t, "history", "--operator", "mlee"); strings.Count(history.stdout, "TRANSFERRED") != 2 {
		t.Errorf("the history is\n%s", history.stdout)
	}
	replicas[0].stop()
	replicas[1].stop()
}

// Goal: the console does not start where it would be open, or cannot work, and says why. Method: command lines.
func TestConsoleRefusesToStart(t *testing.T) {
	t.Parallel()
	u := sqliteUser(t)
	folder := t.TempDir()
	for name, text := range map[string]string{"open": "mlee:secret\n", "empty": "", "bad": "mlee\n"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Join(folder, "open"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, listen := range []string{"0.0.0.0:0", ":0", "[::]:0", "10.0.0.7:8420", "example.com:8420", "127.0.0.1"} {
		u.run(t, "console", "--listen", listen).check(t, exitUsage, "--listen has to be a loopback address", "--user-header, --oidc-issuer or --passwords")
	}
	u.run(t, "console", "--by", "m\u202elee").check(t, exitUsage, "--by cannot be used: The name has the character U+202E")
	u.run(t, "console", "--user-header", "X-User").check(t, exitUsage, "proxy")
	u.run(t, "console", "--user-header", "X-User", "--proxy", "10.1.0.4").check(t, exitUsage, "--proxy is written as")
	issuer := []string{"console", "--oidc-issuer", "https://127.0.0.1:1/", "--oidc-client", "locks", "--address"}
	u.run(t, issuer[:5]...).check(t, exitUsage, "address")
	u.run(t, append(issuer, "http://locks.example.com/")...).check(t, exitUsage, "address is written as")
	u.run(t, append(issuer, "https://locks.example.com/", "--oidc-secret-file", filepath.Join(folder, "open"))...).check(t, exitUsage, "chmod 600")
	u.run(t, append(issuer, "https://locks.example.com/", "--passwords", "people")...).check(t, exitUsage, "oidc-issuer")
	u.run(t, "console", "--passwords", filepath.Join(folder, "none")).check(t, exitUsage, "--passwords")
	u.run(t, "console", "--passwords", filepath.Join(folder, "open")).check(t, exitUsage, "chmod 600")
	u.run(t, "console", "--passwords", filepath.Join(folder, "bad")).check(t, exitUsage, "line 1 is not NAME:PASSWORD")
	u.run(t, "console", "--passwords", filepath.Join(folder, "empty")).check(t, exitUsage, "must name somebody")
	u.run(t, "console", "--role", "supervisors").check(t, exitUsage, "--role is written as NAME=FILE")
	u.run(t, "console", "--role", "a=b", "--role", "a=c").check(t, exitUsage, "each name once")
	u.run(t, "console", "--role", "a="+filepath.Join(folder, "open")).check(t, exitUsage, "chmod 600")
	u.run(t, "console", "--member", "mlee=a").check(t, exitUsage, "--member is written as PERSON=ROLE")
	u.run(t, "console", "--role", "a=b", "--roles-header", "X-Groups").check(t, exitUsage, "is for --user-header")
	u.run(t, "console", "--oidc-roles-claim", "groups").check(t, exitUsage, "--role is missing")
	u.run(t, "console", "--oidc-scope", "groups").check(t, exitUsage, "--oidc-scope is for --oidc-issuer")
	u.run(t, "console", "--department", "mlee=").check(t, exitUsage, "--department is written as NAME=DEPARTMENT")
	u.run(t, "console", "--key-file", filepath.Join(folder, "bad")).check(t, exitUsage, "--key-file has 4 characters, and a key has at least 32")
	fileUser(t).run(t, "console", "--listen", "127.0.0.1:0").check(t, exitError, "migrate up")
}
