//go:build unix

package main

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestServerAccount(t *testing.T) {
	t.Parallel()
	users := func(names ...string) func(string) (*account, error) {
		return func(name string) (*account, error) {
			for i, known := range names {
				if known == name {
					return &account{name: name, uid: uint32(100 + i)}, nil
				}
			}
			return nil, errors.New("unknown user")
		}
	}
	for name, test := range map[string]struct {
		euid   int
		lookup func(string) (*account, error)
		want   string // "" means ourselves
		fails  bool
	}{
		"Ordinary":   {euid: 1000, lookup: users()},
		"Root":       {euid: 0, lookup: users("nobody", "postgres"), want: "postgres"},
		"NoPostgres": {euid: 0, lookup: users("nobody"), want: "nobody"},
		"Neither":    {euid: 0, lookup: users(), fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := serverAccount(test.euid, "postgres", test.lookup)
			if (err != nil) != test.fails {
				t.Fatalf("error = %v", err)
			}
			if (got == nil) != (test.want == "") || got != nil && got.name != test.want {
				t.Errorf("account = %v, want %q", got, test.want)
			}
		})
	}
}

func TestReaches(t *testing.T) {
	t.Parallel()
	stranger := &account{name: "stranger", uid: 4_000_000_000, gid: 4_000_000_000}
	open := reachableDir(t)
	closed := filepath.Join(open, "closed")
	below := filepath.Join(closed, "below")
	if err := os.MkdirAll(below, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	owner := &account{name: "owner", uid: uint32(os.Geteuid()), gid: uint32(os.Getegid())}
	for name, test := range map[string]struct {
		account *account
		dir     string
		want    bool
	}{
		"Open":      {stranger, open, true},
		"Closed":    {stranger, closed, false},
		"Below":     {stranger, below, false},
		"Owner":     {owner, below, true},
		"Ourselves": {nil, below, true},
		"NotThere":  {stranger, filepath.Join(open, "none"), false},
	} {
		if got := test.account.reaches(test.dir); got != test.want {
			t.Errorf("%s: reaches() = %t", name, got)
		}
	}
}

// reachableDir is a temporary directory that every user can get to, which t.TempDir is not.
func reachableDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "applock-testserver-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	return dir
}
