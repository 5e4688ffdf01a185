package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/applock/applock/cmd/internal/secret"
)

// sessions returns a morning's work: all answers of all operations.
func sessions() [][]string {
	return [][]string{
		{"list"},
		{"inquire", "customer:42"},
		{"get", "customer:42", "--operator", "jdoe", "--department", "sales"},
		{"get", "customer:42", "--operator", "asmith", "--department", "service"},
		{"get", "customer:42", "--operator", "jdoe", "--department", "sales", "--ttl", "1d12h"},
		{"get", "customer:42 ", "--operator", "asmith ", "--department", "service "},
		{"inquire", "customer:42"},
		{"get", "customer:a:b\tc", "--operator", "J Döe"},
		{"get", "order:<1&2>", "--operator", "asmith", "--department", "service"},
		{"note", "customer:42", "waits for documents until Friday", "--operator", "jdoe"},
		{"note", "order:<1&2>", "one\ntwo \x1b[31m\u202e", "--operator", "asmith"},
		{"note", "order:<1&2>", "mine", "--operator", "jdoe"},
		{"note", "order:<1&2>", "mine", "--operator", "asmith", "--fence", "1"},
		{"note", "order:none", "mine", "--operator", "asmith"},
		{"note", "order:none", "--operator", "asmith"},
		{"note", "order:none", "two", "words", "--operator", "asmith"},
		{"get", "customer:42", "--operator", "asmith"},
		{"get", "order:<1&2>", "--operator", "asmith"},
		{"inquire", "order:<1&2>"},
		{"list"},
		{"list", "--type", "order"},
		{"list", "--operator", "jdoe"},
		{"list", "--department", "service", "--operator", "asmith"},
		{"list", "--type", "nothing"},
		{"list", "--waiting"},
		{"transfer", "customer:1", "--from", "jdoe", "--to", "asmith", "--by", "boss"},
		{"transfer", "customer:42", "--from", "asmith", "--to", "mlee", "--by", "boss"},
		{"transfer", "customer:42", "--from", "jdoe", "--to", "asmith", "--by", "boss", "--to-department", "service", "--ttl", "2d"},
		{"release", "customer:42", "--operator", "jdoe"},
		{"release", "customer:42", "--operator", "asmith", "--fence", "1"},
		{"release", "customer:42", "--operator", "asmith"},
		{"release", "customer:42", "--operator", "asmith"},
		{"purge"},
	}
}

// The same work prints the same text on every dialect.
func TestSession(t *testing.T) {
	t.Parallel()
	for _, output := range []string{"table", "json"} {
		t.Run(output, func(t *testing.T) {
			t.Parallel()
			onEveryDialect(t, func(t *testing.T, u user) { checkSession(t, u, output) })
		})
	}
}

func checkSession(t *testing.T, u user, output string) {
	t.Helper()
	var text strings.Builder
	for _, args := range sessions() {
		words := make([]string, len(args))
		for i, arg := range args {
			words[i] = secret.Quote(arg)
		}
		got := u.run(t, append([]string{"--output", output}, args...)...)
		fmt.Fprintf(&text, "$ applockctl %s\n%s", strings.Join(words, " "), got.stdout)
		for line := range strings.Lines(got.stderr) {
			text.WriteString("stderr: " + line)
		}
		fmt.Fprintf(&text, "exit code %d\n\n", got.code)
	}
	golden(t, "session_"+output+".golden", normalise(text.String()))
}

// A list longer than a page, and than what a table keeps back, is complete and in order.
func TestLongList(t *testing.T) {
	t.Parallel()
	u := sqliteUser(t)
	const total = 2500
	withFile(t, u, func(exec func(statement string)) {
		exec(fmt.Sprintf(`
			WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
			INSERT INTO appl_lock
			SELECT 'customer', printf('%%05d', i), 'jdoe', '', 1, 0, 0, 604800, 4102444800000000, '', 'N', NULL FROM n`, total))
	})
	checkLongList(t, u, total)
}

func checkLongList(t *testing.T, u user, total int) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(u.must(t, "list", "--output", "json").stdout), "\n")
	if len(lines) != total {
		t.Fatalf("%d lines", len(lines))
	}
	for i, line := range lines {
		var lock listedLockID
		if err := json.Unmarshal([]byte(line), &lock); err != nil || lock.ObjectID != fmt.Sprintf("%05d", i+1) {
			t.Fatalf("line %d: %s %v", i+1, line, err)
		}
	}
	table := u.must(t, "list")
	if strings.Count(table.stdout, "\n") != total+1 || strings.Count(table.stdout, "OBJECT") != 1 || table.stderr != fmt.Sprintf("%d locks\n", total) {
		t.Errorf("%d lines, %s", strings.Count(table.stdout, "\n"), table.stderr)
	}
}

type listedLockID struct {
	ObjectID string `json:"object_id"`
}
