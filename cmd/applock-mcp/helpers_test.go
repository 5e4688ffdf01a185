package main

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/migrate"
	"github.com/applock/applock/internal/testing/testclient"
)

// serverVariable has this program be the server, in a process of its own.
const serverVariable = "APPLOCK_MCP_TEST_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(serverVariable) != "" {
		main()
	}
	os.Exit(m.Run())
}

// place is a database with locks.
type place struct {
	dsn    string
	client *applock.Client
}

func onSQLite(t *testing.T) place {
	t.Helper()
	return newPlace(t, "sqlite:"+filepath.Join(t.TempDir(), "applock.db"))
}

func newPlace(t *testing.T, dsn string) place {
	t.Helper()
	p := place{dsn: dsn, client: testclient.Open(t, dsn, "", nil)}
	if _, err := migrate.Up(t.Context(), p.client, migrate.UpRequest{}); err != nil {
		t.Fatal(err)
	}
	return p
}

// agent is a client with a server process of its own.
type agent struct {
	t       *testing.T
	session *mcp.ClientSession
	process *exec.Cmd
}

// newAgent starts a server on stdio and connects to it.
func newAgent(t *testing.T, dsn, operator string, more ...string) agent {
	t.Helper()
	return newAgentIn(t, "", dsn, operator, more...)
}

// newAgentIn is newAgent with a server that runs in a folder.
func newAgentIn(t *testing.T, folder, dsn, operator string, more ...string) agent {
	t.Helper()
	process := exec.CommandContext(t.Context(), os.Args[0], append([]string{"--operator", operator}, more...)...)
	process.Dir = folder
	process.Env = append(os.Environ(), serverVariable+"=1", "APPLOCK_DSN="+dsn)
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).
		Connect(t.Context(), &mcp.CommandTransport{Command: process, TerminateDuration: time.Minute}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() }) // a server that was killed has an error
	return agent{t: t, session: session, process: process}
}

type arguments map[string]any

// try calls a tool.
func (a agent) try(tool string, in arguments) *mcp.CallToolResult {
	a.t.Helper()
	result, err := a.session.CallTool(context.WithoutCancel(a.t.Context()), &mcp.CallToolParams{Name: tool, Arguments: in})
	if err != nil {
		a.t.Fatalf("%s: %v", tool, err)
	}
	return result
}

// call calls a tool that has to answer, and reads what it answers.
func call[T any](a agent, tool string, in arguments) T {
	a.t.Helper()
	result := a.try(tool, in)
	if result.IsError {
		a.t.Fatalf("%s is an error: %s", tool, textIn(result))
	}
	encoded, err := json.Marshal(result.StructuredContent)
	if err != nil {
		a.t.Fatal(err)
	}
	var out T
	if err := json.Unmarshal(encoded, &out); err != nil {
		a.t.Fatal(err)
	}
	return out
}

func (a agent) do(tool string, in arguments) answer { a.t.Helper(); return call[answer](a, tool, in) }

func textIn(result *mcp.CallToolResult) string {
	var texts []string
	for _, content := range result.Content {
		if text, is := content.(*mcp.TextContent); is {
			texts = append(texts, text.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// want compares what counts of an answer.
func (a agent) want(got answer, outcome applock.Outcome, holds bool) {
	a.t.Helper()
	if got.Outcome != outcome || got.YouHold != holds || holds != (got.Fence > 0) || got.Advice == "" || got.You == "" {
		a.t.Fatalf("%+v, want %s, held: %t", got, outcome, holds)
	}
}
