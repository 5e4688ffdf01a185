package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// servedConsole is a run of console.
type servedConsole struct {
	line, address string
	stop          func() (code int, stderr string)
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
	var answer struct{ Address string }
	if err := json.Unmarshal([]byte(line), &answer); err != nil {
		t.Fatalf("%v: %s", err, line)
	}
	return servedConsole{line: line, address: answer.Address, stop: func() (int, string) {
		cancel()
		return <-codes, stderr.String()
	}}
}

// fetch returns the status of a page and its text.
func (s servedConsole) fetch(t *testing.T, page string, change func(r *http.Request)) (status int, text string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.address+page, nil)
	if err != nil {
		t.Fatal(err)
	}
	change(r)
	answer, err := http.DefaultClient.Do(r)
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

// Goal: the console serves what the database has, on every dialect, tells where, and ends when it is told to, also while
// somebody looks on. Method: its pages, a stream of changes, and an interrupt.
func TestConsole(t *testing.T) {
	t.Parallel()
	onEveryDialect(t, func(t *testing.T, u user) {
		u.must(t, "get", "customer:42", "--operator", "jdoe")
		s := serveConsole(t, u, "--by", "mlee", "--may-change", "mlee")
		same := func(*http.Request) {}
		for page, want := range map[string]string{
			"": "Who blocks whom", "locks": "customer:42", "locks?sort=left&within=3650d": "customer:42", "operator?name=jdoe": "customer:42", "waiters": "Nobody waits", "health": "0 of them pending",
			"statistics": "customer", "object?name=customer:42": `href="release?name=customer%3a42"`, "release?name=customer:42": "You will be asked once more",
		} {
			if status, text := s.fetch(t, page, same); status != http.StatusOK || !strings.Contains(text, want) {
				t.Errorf("%q: status %d, lacks %q: %s", page, status, want, text)
			}
		}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.address+"changes?topics=locks", nil)
		if err != nil {
			t.Fatal(err)
		}
		stream, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer stream.Body.Close()
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
		dsn := s.newDatabase(t)
		u := userOf(dsn)
		u.must(t, "migrate", "up")
		look := func(status int, texts ...string) {
			t.Helper()
			console := serveConsole(t, u)
			got, text := console.fetch(t, "health", func(*http.Request) {})
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
		if status != want || strings.Contains(text, "You are mlee") != (want == http.StatusOK) {
			t.Errorf("password %q: status %d", password, status)
		}
	}
	basic.stop()
	proxied := serveConsole(t, u, "--user-header", "X-User", "--proxy", "127.0.0.0/8")
	if status, text := proxied.fetch(t, "", func(r *http.Request) { r.Header.Set("X-User", "mlee") }); status != http.StatusOK || !strings.Contains(text, "You are mlee") {
		t.Errorf("status %d: %s", status, text)
	}
	if status, _ := proxied.fetch(t, "", func(*http.Request) {}); status != http.StatusForbidden {
		t.Errorf("without a name: status %d", status)
	}
	proxied.stop()
}

// Goal: people of a role are served by the database user of that role, and may change things without being named by --may-change. Method: the
// same file by another DSN, for a member by name and for groups that a proxy tells of.
func TestConsoleHasRoles(t *testing.T) {
	t.Parallel()
	u := sqliteUser(t)
	u.must(t, "get", "customer:42", "--operator", "jdoe")
	dsn := filepath.Join(t.TempDir(), "dsn")
	if err := os.WriteFile(dsn, []byte(u.getenv(dsnVariable)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := serveConsole(t, u, "--user-header", "X-User", "--roles-header", "X-Groups", "--proxy", "127.0.0.0/8", "--role", "supervisors="+dsn,
		"--member", "mlee=supervisors")
	for _, test := range []struct {
		person, groups string
		may            bool
	}{{"mlee", "", true}, {"pking", "staff, supervisors", true}, {"pking", "staff", false}} {
		_, text := s.fetch(t, "object?name=customer:42", func(r *http.Request) {
			r.Header.Set("X-User", test.person)
			r.Header.Set("X-Groups", test.groups)
		})
		if !strings.Contains(text, "jdoe") || strings.Contains(text, "as supervisors") != test.may || strings.Contains(text, "release?name=") != test.may {
			t.Errorf("%s of %q: %s", test.person, test.groups, text)
		}
	}
	s.stop()
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
	u.run(t, "console", "--user-header", "X-User").check(t, exitUsage, "proxy")
	u.run(t, "console", "--user-header", "X-User", "--proxy", "10.1.0.4").check(t, exitUsage, "--proxy is written as")
	issuer := []string{"console", "--oidc-issuer", "https://127.0.0.1:1/", "--oidc-client", "locks", "--address"}
	u.run(t, issuer[:5]...).check(t, exitUsage, "address")
	u.run(t, append(issuer, "http://locks.example.com/")...).check(t, exitUsage, "address is written as")
	u.run(t, append(issuer, "https://locks.example.com/", "--oidc-secret-file", filepath.Join(folder, "open"))...).check(t, exitUsage, "chmod 600")
	u.run(t, append(issuer, "https://locks.example.com/")...).check(t, exitError, "openid: the issuer")
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
	fileUser(t).run(t, "console", "--listen", "127.0.0.1:0").check(t, exitError, "migrate up")
}
