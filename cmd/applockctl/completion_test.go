package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

// Goal: the shell offers objects and operators of the database. Method: ask as its script does.
func TestCompletionFromTheDatabase(t *testing.T) {
	t.Parallel()
	u := sqliteUser(t)
	u.must(t, "get", "customer:42", "--operator", "jdoe", "--department", "sales")
	u.must(t, "get", "customer:43", "--operator", "asmith")
	u.must(t, "get", "customer:5\u200b", "--operator", "J\u200bDoe")
	u.must(t, "get", "order:42", "--operator", "jdoe")
	const customers = "customer:42\tjdoe (sales)\ncustomer:43\tasmith\n"
	for _, test := range []struct{ args, want string }{
		{"inquire|", customers + "order:42\tjdoe\n"},
		{"inquire|cust", customers},
		{"inquire|customer:4", customers},
		{"inquire|customer:43", "customer:43\tasmith\n"},
		{"inquire|x", ""},
		{"inquire|:", ""},
		{"inquire|customer:42|", ""},
		{"get|--operator|o|customer:4", customers},
		{"release|--operator|jdoe|o", "order:42\tjdoe\n"},
		{"transfer|--from|jdoe|--to|asmith|customer:42", "customer:42\tjdoe (sales)\n"},
		{"list|--object|o", "order:42\tjdoe\n"},
		{"list|--operator|", "jdoe\nasmith\n"},
		{"list|--operator|a", "asmith\n"},
		{"list|--operator=a", "asmith\n"},
		{"list|--operator|A", ""},
		{"release|--operator|", "jdoe\nasmith\n"},
		{"release|customer:43|--operator|", "asmith\n"},
		{"release|customer:44|--operator|", ""},
		{"release|customer|--operator|", ""},
		{"renew|customer:43|--operator|", "asmith\n"},
		{"renew|--operator|o|--fence|1|customer:43", "customer:43\tasmith\n"},
		{"assert|--operator|o|--fence|1|customer:43", "customer:43\tasmith\n"},
		{"assert|customer:43|--operator|", "asmith\n"},
		{"transfer|customer:42|--from|", "jdoe\n"},
		{"transfer|customer:42|--to|", "jdoe\nasmith\n"},
		{"list|", ""},
		{"list|--sort|", "object\nleft\nage\nwaiters\n"},
	} {
		got := u.must(t, append([]string{"__complete"}, strings.Split(test.args, "|")...)...)
		if got.stdout != test.want+":4\n" {
			t.Errorf("%s completes to\n%swant\n%s", test.args, got.stdout, test.want)
		}
	}
}

// Goal: what is offered fits on a screen, and a large table is not read for it. Method: more locks than that.
func TestCompletionIsBounded(t *testing.T) {
	t.Parallel()
	const hangs = 5 * time.Minute
	u := sqliteUser(t)
	withFile(t, u, func(exec func(statement string)) {
		exec(`
			WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
			INSERT INTO appl_lock
			SELECT 'customer', printf('%05d', i), printf('o%05d', i), '', 1, 0, 0, 604800, 4102444800000000, '', 'N', NULL FROM n`)
	})
	for args, last := range map[string]string{
		"inquire|":               "customer:00100\to00100",
		"inquire|customer:":      "customer:00100\to00100",
		"inquire|customer:01":    "customer:01099\to01099",
		"inquire|customer:04321": "customer:04321\to04321",
		"list|--operator|":       "o00100",
		"list|--operator|o009":   "o00999",
		"list|--operator|o01":    "o01000",
	} {
		got := u.must(t, append([]string{"__complete"}, strings.Split(args, "|")...)...)
		for began := time.Now(); got.stdout == ":4\n" && time.Since(began) < hangs; { // a busy machine offers nothing in time, and one presses again
			got = u.must(t, append([]string{"__complete"}, strings.Split(args, "|")...)...)
		}
		lines := strings.Split(strings.TrimSuffix(got.stdout, "\n:4\n"), "\n")
		if len(lines) > completionRows || lines[len(lines)-1] != last {
			t.Errorf("%s offers %d, the last is %q, want %q", args, len(lines), lines[len(lines)-1], last)
		}
	}
}

// Goal: pressing a key does nothing but offer: without a database, or with one that is not there or does not answer, the
// shell offers nothing, soon, and nothing is printed or made. Method: the program as the shell runs it; a limit of one hour
// for calls, which the silent servers must not need.
func testProcessCompletion(t *testing.T, b binary) {
	const hangs = 2 * time.Minute
	ctx, cancel := context.WithTimeout(t.Context(), hangs)
	defer cancel()
	dsns := []string{
		"", "sqlite:nosuch.db", "sqlite:nosuch/applock.db", "oracle:x", "postgres://jdoe@127.0.0.1:1/crm",
		"mysql://jdoe@127.0.0.1:1/crm",
	}
	for _, protocol := range protocols() {
		dsns = append(dsns, protocol.dsn(fakeServer(t, silent)))
	}
	var group sync.WaitGroup
	for _, dsn := range dsns {
		b := b
		b.dsn = dsn
		for _, words := range []string{"inquire|cust", "release|customer:42|--operator|", "list|--object|"} {
			group.Go(func() {
				got := b.run(ctx, append([]string{"__complete", "--timeout", "1h"}, strings.Split(words, "|")...)...)
				const directive = "Completion ended with directive: ShellCompDirectiveNoFileComp\n" // cobra's, which the shells drop
				if got.code != exitYes || got.stdout != ":4\n" || got.stderr != directive {
					t.Errorf("%s of %q: exit code %d, %q, %q", words, dsn, got.code, got.stdout, got.stderr)
				}
			})
		}
	}
	group.Wait()
	if names := b.left(t); len(names) != 0 {
		t.Errorf("files: %v", names)
	}
	b.dsn = fmt.Sprintf("sqlite:%s/applock.db", b.directory)
	b.run(t.Context(), "migrate", "up").check(t, exitYes)
	b.run(t.Context(), "get", "customer:42", "--operator", "jdoe").check(t, exitYes)
	if got := b.run(t.Context(), "__complete", "inquire", "cust"); got.stdout != "customer:42\tjdoe\n:4\n" {
		t.Errorf("it offers %q", got.stdout)
	}
}
