package roles_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/cmd/internal/roles"
)

// Goal: a person has the first role of the command line that --member or the sign-in names. Method: people of each kind.
func TestFirst(t *testing.T) {
	t.Parallel()
	r, err := roles.Parse([]string{"seniors=a", "juniors=b"}, []string{"mlee=juniors", "mlee=seniors", "pking=juniors"})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		person   string
		signedIn []string
		want     int
	}{
		{"mlee", nil, 0},
		{"pking", nil, 1},
		{"pking", []string{"staff", "seniors"}, 0},
		{"jdoe", []string{"juniors"}, 1},
		{"jdoe", []string{"staff"}, -1},
		{"", nil, -1},
	} {
		if index, known := r.First(test.person, test.signedIn); index != test.want || known != (test.want >= 0) {
			t.Errorf("%q of %q has the role %d, %t; want %d", test.person, test.signedIn, index, known, test.want)
		}
	}
	if got := r.Of("mlee"); !slices.Equal(got, []string{"juniors", "seniors"}) {
		t.Errorf("mlee has %q", got)
	}
}

// Goal: what is not written as the help says is refused by the name of its flag. Method: each mistake.
func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		roles, members []string
		want           string
	}{
		{[]string{"a"}, nil, "--role"},
		{[]string{"=b"}, nil, "--role"},
		{[]string{"a="}, nil, "--role"},
		{[]string{"a=b", "a=c"}, nil, "--role"},
		{nil, []string{"mlee=a"}, "--member"},
		{[]string{"a=b"}, []string{"mlee"}, "--member"},
		{[]string{"a=b"}, []string{"=a"}, "--member"},
	} {
		var invalid *applock.InvalidError
		if _, err := roles.Parse(test.roles, test.members); !errors.As(err, &invalid) || invalid.Argument != test.want {
			t.Errorf("%q and %q: %v, want an error of %s", test.roles, test.members, err, test.want)
		}
	}
}

// Goal: the DSN of a role comes from its file, and a role that cannot be opened leaves none open. Method: two files, and then a third that is missing.
func TestOpen(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for _, name := range []string{"a", "b"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte("sqlite:"+name+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	written := []string{"first=" + filepath.Join(folder, "a"), "second=" + filepath.Join(folder, "b")}
	var opened []string
	closed := 0
	open := func(dsn string) (*applock.Client, error) {
		opened = append(opened, dsn)
		return &applock.Client{}, nil
	}
	closing := func(*applock.Client) { closed++ }
	r, err := roles.Parse(written, nil)
	if err != nil {
		t.Fatal(err)
	}
	if clients, err := r.Open(open, closing); err != nil || len(clients) != 2 || !slices.Equal(opened, []string{"sqlite:a", "sqlite:b"}) || closed != 0 {
		t.Errorf("opened %q, closed %d, %v", opened, closed, err)
	}
	r, err = roles.Parse(append(written, "third="+filepath.Join(folder, "none")), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Open(open, closing); !errors.Is(err, applock.ErrInvalid) || !strings.Contains(err.Error(), "--role third") || closed != 2 {
		t.Errorf("closed %d, %v", closed, err)
	}
}
