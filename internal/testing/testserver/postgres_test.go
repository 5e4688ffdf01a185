//go:build unix

package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// addServer puts PostgreSQL's programs into a directory.
func (f *fakeHost) addServer(bin string) {
	f.files = append(f.files, bin+"/initdb", bin+"/postgres", bin+"/psql")
}

// newFakePostgres is PostgreSQL on that machine, where servers answer at once and starting one is recorded.
func newFakePostgres(f *fakeHost) product { return f.fake(newPostgres(f.host()), "15.18") }

// fake replaces what only a real server can do.
func (f *fakeHost) fake(p product, version string) product {
	p.probe = func(context.Context, string) (string, error) { return version, nil }
	p.startPrivate = func(_ context.Context, programs installation) (*server, error) {
		f.commands = append(f.commands, strings.TrimSpace("start "+programs.server+" "+programs.setup))
		return &server{version: version, origin: "private, " + programs.origin}, nil
	}
	return p
}

// startCommand is what fake records for the programs that addServer adds.
func startCommand(bin string) string { return "start " + bin + "/postgres " + bin + "/initdb" }

const secretDSN = "postgres://user:s3cret@db.example:5432/x"

func TestGivenServerIsUsedAsIs(t *testing.T) {
	t.Parallel()
	f := &fakeHost{
		env:    map[string]string{postgresDSN: secretDSN},
		path:   map[string]string{"apt-get": "/usr/bin/apt-get", "docker": "/usr/bin/docker", "psql": "/usr/bin/psql"},
		isRoot: true,
	}
	f.addServer("/usr/lib/postgresql/15/bin")
	s, err := newFakePostgres(f).backend().supply(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(f.commands) != 0 || s.stop != nil {
		t.Errorf("something was started or would be stopped: %q", f.commands)
	}
	if want := []string{postgresPsql + "=/usr/bin/psql"}; !slices.Equal(s.env, want) {
		t.Errorf("env = %q, want %q: neither a DSN nor a pid", s.env, want)
	}
	got := summary([]outcome{{backend: "postgres", server: s}})
	if want := "sqlite (embedded); postgres 15.18 (given by APPLOCK_TEST_POSTGRES_DSN)"; got != want {
		t.Errorf("summary = %q, want %q", got, want)
	}
}

func TestGivenServerThatDoesNotAnswerIsAnErrorWithoutTheDSN(t *testing.T) {
	t.Parallel()
	for name, dsn := range map[string]string{
		"NotADSN":       "postgres://alice:s3cret@host:port:port/x",
		"NobodyListens": "postgres://alice:s3cret@127.0.0.1:1/x",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fakeHost{env: map[string]string{postgresDSN: dsn}}
			p := newFakePostgres(f)
			p.probe = probePostgres
			l := newTestLauncher(p.backend())
			if code := l.run([]string{"--", "true"}); code != 1 {
				t.Errorf("exit code = %d", code)
			}
			l.wantOutput(t, "the server given by APPLOCK_TEST_POSTGRES_DSN does not answer: ")
			if strings.Contains(l.stderr.String(), "s3cret") || strings.Contains(l.stderr.String(), "postgres://alice") {
				t.Errorf("the output tells too much:\n%s", l.stderr.String())
			}
		})
	}
}

func TestInstalledServersComeBeforeTheOtherSources(t *testing.T) {
	t.Parallel()
	const lib = "/usr/lib/postgresql"
	for name, test := range map[string]struct {
		arrange func(*fakeHost)
		want    string
	}{
		"HighestVersion": {func(f *fakeHost) {
			f.addServer(lib + "/9/bin")
			f.addServer(lib + "/15/bin")
			f.addServer(lib + "/14/bin")
		}, lib + "/15/bin"},
		"ClientOnlyIsNoServer": {func(f *fakeHost) {
			f.addServer(lib + "/14/bin")
			f.files = append(f.files, lib+"/17/bin/psql")
		}, lib + "/14/bin"},
		"PathBeforeLib": {func(f *fakeHost) {
			f.addServer(lib + "/15/bin")
			f.addServer("/opt/pg/bin")
			f.path["initdb"] = "/opt/pg/bin/initdb"
		}, "/opt/pg/bin"},
		"NamedBeforePath": {func(f *fakeHost) {
			f.addServer("/opt/pg/bin")
			f.addServer("/own/bin")
			f.path["initdb"] = "/opt/pg/bin/initdb"
			f.env[postgresBin] = "/own/bin"
		}, "/own/bin"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fakeHost{
				env:    map[string]string{},
				path:   map[string]string{"apt-get": "/usr/bin/apt-get", "docker": "/usr/bin/docker", "psql": "/usr/bin/psql"},
				isRoot: true,
			}
			test.arrange(f)
			s, err := newFakePostgres(f).backend().supply(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if want := []string{startCommand(test.want)}; !slices.Equal(f.commands, want) {
				t.Errorf("did %q, want %q", f.commands, want)
			}
			if want := postgresPsql + "=" + test.want + "/psql"; !slices.Contains(s.env, want) {
				t.Errorf("env = %q lacks %q", s.env, want)
			}
		})
	}
}

// A link in the path leads to the directory that also has the programs nobody linked.
func TestLinksInThePathAreFollowed(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	real := filepath.Join(dir, "15", "bin")
	if err := os.MkdirAll(real, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"initdb", "postgres"} {
		if err := os.WriteFile(filepath.Join(real, name), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(dir, "initdb")
	if err := os.Symlink(filepath.Join(real, "initdb"), link); err != nil {
		t.Fatal(err)
	}
	p := newFakePostgres(&fakeHost{path: map[string]string{"initdb": link}})
	p.host.isFile, p.host.resolve = isFile, resolve
	if got, err := p.find(t.Context(), p.host); err != nil || got.origin != real {
		t.Errorf("find() = %q, %v, want %q", got, err, real)
	}
}

func TestNamedDirectoryWithoutServerIsAnError(t *testing.T) {
	t.Parallel()
	f := &fakeHost{env: map[string]string{postgresBin: "/own/bin"}}
	f.addServer("/usr/lib/postgresql/15/bin")
	_, err := newFakePostgres(f).backend().supply(t.Context())
	var none *absentError
	if err == nil || errors.As(err, &none) || !strings.Contains(err.Error(), "correct or unset it") {
		t.Errorf("error = %v", err)
	}
}

func TestPsqlOfTheEnvironmentWins(t *testing.T) {
	t.Parallel()
	f := &fakeHost{env: map[string]string{postgresPsql: "/own/psql"}, path: map[string]string{"psql": "/usr/bin/psql"}}
	if env := newFakePostgres(f).clientEnv(t.Context(), "/bin15/psql"); env != nil {
		t.Errorf("env = %q", env)
	}
}

func TestEveryReasonIsGivenOnABareMachine(t *testing.T) {
	t.Parallel()
	_, err := newFakePostgres(&fakeHost{}).backend().supply(t.Context())
	var none *absentError
	if !errors.As(err, &none) {
		t.Fatalf("error = %v", err)
	}
	for _, part := range []string{postgresDSN, "no initdb and postgres", "no apt-get", "no docker"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q lacks %q", err, part)
		}
	}
}
