package main

import (
	"strings"
	"testing"

	"github.com/applock/applock/cmd/applockctl/internal/table"
)

// inOrder reports whether a text has these words one behind the other.
func inOrder(text string, words ...string) bool {
	for _, word := range words {
		_, rest, found := strings.Cut(text, word)
		if !found {
			return false
		}
		text = rest
	}
	return true
}

// listUser returns a user of a database with locks on customers and orders, in the table's columns object, operator,
// department. They end in the order c, a, b, and began in the order b, c, a.
func listUser(t *testing.T) user {
	t.Helper()
	u := sqliteUser(t)
	u.must(t, "get", "customer:b", "--operator", "JDOE", "--department", "sales", "--ttl", "30d")
	u.must(t, "get", "customer:c", "--operator", "asmith", "--ttl", "1h")
	u.must(t, "get", "customer:a", "--operator", "mlee", "--department", "sales", "--ttl", "2d")
	u.must(t, "get", "order:a", "--operator", "JDOE", "--ttl", "90d")
	withFile(t, u, func(exec func(statement string)) {
		exec("UPDATE appl_lock SET acquired_ts = acquired_ts - 86400000000 * 3 WHERE object_id = 'b'")
		exec("UPDATE appl_lock SET acquired_ts = acquired_ts - 86400000000 * 2 WHERE object_id = 'c'")
	})
	return u
}

// Goal: the list is what was asked for, in the order that was asked for. Method: four locks, and what each way of asking
// finds of them.
func TestListSelects(t *testing.T) {
	t.Parallel()
	u := listUser(t)
	for _, test := range []struct{ args, want string }{
		{"", "customer:a customer:b customer:c order:a"},
		{"--object customer:b", "customer:b"},
		{"--object customer:d", ""},
		{"--prefix customer:", "customer:a customer:b customer:c"},
		{"--prefix o", "order:a"},
		{"--type order", "order:a"},
		{"--no-department", "customer:c order:a"},
		{"--department sales --operator JDOE", "customer:b"},
		{"--older-than 1d", "customer:b customer:c"},
		{"--older-than 2d12h", "customer:b"},
		{"--expires-within 2d", "customer:a customer:c"},
		{"--sort object", "customer:a customer:b customer:c order:a"},
		{"--sort age", "customer:b customer:c customer:a order:a"},
		{"--sort age --type customer --older-than 1d", "customer:b customer:c"},
		{"--sort waiters", ""},
		{"--sort left", "customer:c customer:a customer:b order:a"},
		{"--sort left --limit 2", "customer:c customer:a"},
		{"--limit 1 --type customer", "customer:a"},
		{"--limit 9", "customer:a customer:b customer:c order:a"},
	} {
		got := u.must(t, append([]string{"list"}, strings.Fields(test.args)...)...)
		var objects []string
		for line := range strings.Lines(got.stdout) {
			if object := strings.Fields(line)[0]; object != "OBJECT" {
				objects = append(objects, object)
			}
		}
		counted := table.Count(len(objects), "lock")
		if strings.Contains(test.args, "--limit 1") || strings.Contains(test.args, "--limit 2") {
			counted += " of more, see --limit"
		}
		if strings.Join(objects, " ") != test.want || got.stderr != counted+"\n" {
			t.Errorf("list %s: %s, %s, want %s", test.args, objects, got.stderr, test.want)
		}
	}
	for args, want := range map[string]string{
		"--object customer:a --type customer":   "list: --object already names the type",
		"--object customer:a --prefix customer": "list: --prefix already names the type",
		"--object :a":                           "list: --object must have a type",
		"--object customer:":                    "list: --object must have a type and an id",
		"--object customer":                     `list: OBJECT "customer" is not TYPE:ID`,
		"--no-department --department d":        "list: --no-department contradicts Department: leave out one of the two",
		"--sort since":                          `"--sort" flag: write one of object, left, age, waiters`,
		"--sort left --prefix customer:a":       "list: --sort left is for a list of locks",
		"--sort age --object customer:a":        "list: --sort age is for a list of locks",
		"--sort waiters --waiting":              "list: --sort waiters is for a list of locks",
		"--limit 0":                             `"--limit" flag: write a whole number from 1`,
		"--prefix customer:a --type order":      "list: --prefix already names the type",
	} {
		u.run(t, append([]string{"list"}, strings.Fields(args)...)...).check(t, exitUsage, want)
	}
}

// Goal: who writes an operator in the wrong case is told, and nobody else is. Method: lists that find nothing, and why.
func TestListHintsAtOperator(t *testing.T) {
	t.Parallel()
	u := listUser(t)
	const hint = "nothing for operator jdoe, but for JDOE: upper and lower case are different operators\n0 locks\n"
	for args, want := range map[string]string{
		"--operator jdoe":                      hint,
		"--operator jdoe --older-than 10d":     hint,
		"--operator jdoe --type customer":      hint,
		"--operator jdoe --prefix order":       hint,
		"--operator jdoe --department service": "0 locks\n",
		"--operator jdoe --type invoice":       "0 locks\n",
		"--operator JDOE --type invoice":       "0 locks\n",
		"--operator nobody":                    "0 locks\n",
		"--operator JDOE --type order":         "1 lock\n",
		"--operator jdoe --output json":        strings.TrimSuffix(hint, "0 locks\n"),
		"--operator jdoe --quiet":              "",
		"--type cust*":                         "--type has no wildcards; to list what begins with it, run: applockctl list --prefix cust\n0 locks\n",
		"--prefix customer:%":                  "--prefix has no wildcards; to list what begins with it, run: applockctl list --prefix customer:\n0 locks\n",
		"--operator J*":                        "--operator has no wildcards: write one name in full\n0 locks\n",
	} {
		got := u.must(t, append([]string{"list"}, strings.Fields(args)...)...)
		if got.stderr != want {
			t.Errorf("list %s says %q, want %q", args, got.stderr, want)
		}
	}
	const other = "JDOE holds it, and not jdoe: upper and lower case are different operators\n"
	u.run(t, "release", "customer:b", "--operator", "jdoe").check(t, exitNo, other)
	u.run(t, "transfer", "customer:b", "--from", "jdoe", "--to", "mlee", "--by", "boss").check(t, exitNo, other)
}

// Goal: an object can be pasted from a table, whatever is in it, and no other object is meant by it. Method: a joiner that cannot be seen, and an object
// that has quotes itself.
func TestPastedObject(t *testing.T) {
	t.Parallel()
	u := sqliteUser(t)
	u.must(t, "get", "customer:4\u200d2", "--operator", "jdoe")
	if got := u.must(t, "inquire", `"customer:4\u200d2"`); !strings.Contains(got.stdout, "jdoe") {
		t.Error(got.stdout)
	}
	u.must(t, "get", `"customer:42"`, "--operator", "mlee")
	u.run(t, "inquire", "customer:42").check(t, exitNo)
}
