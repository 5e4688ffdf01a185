//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// fakeHost is a machine with nothing on it but what a test adds, and a record of what was done to it.
type fakeHost struct {
	env      map[string]string
	path     map[string]string // program name to path
	files    []string
	isRoot   bool
	fail     string // commands that end with it fail
	commands []string
	said     []string
}

func (f *fakeHost) host() host {
	return host{
		getenv: func(key string) string { return f.env[key] },
		lookPath: func(name string) (string, error) {
			if path, ok := f.path[name]; ok {
				return path, nil
			}
			return "", errors.New("not found")
		},
		glob:   f.glob,
		isFile: func(path string) bool { return slices.Contains(f.files, path) },
		isRoot: f.isRoot,
		run:    f.run,
		say:    func(format string, args ...any) { f.said = append(f.said, fmt.Sprintf(format, args...)) },
	}
}

// glob matches the directories of the files.
func (f *fakeHost) glob(pattern string) ([]string, error) {
	var dirs []string
	for _, file := range f.files {
		matched, err := filepath.Match(pattern, filepath.Dir(file))
		if err != nil {
			return nil, err
		}
		if matched && !slices.Contains(dirs, filepath.Dir(file)) {
			dirs = append(dirs, filepath.Dir(file))
		}
	}
	return dirs, nil
}

func (f *fakeHost) run(_ context.Context, name string, args ...string) error {
	command := strings.Join(append([]string{name}, args...), " ")
	f.commands = append(f.commands, command)
	if f.fail != "" && strings.HasSuffix(command, f.fail) {
		return errors.New("exit status 1")
	}
	return nil
}

// addServer puts PostgreSQL's programs into a directory.
func (f *fakeHost) addServer(bin string) {
	f.files = append(f.files, bin+"/initdb", bin+"/postgres", bin+"/psql")
}

// newFakePostgres is a postgres on that machine, where servers answer at once and starting one is recorded.
func newFakePostgres(f *fakeHost) postgres {
	return postgres{
		host:  f.host(),
		probe: func(context.Context, string) (string, error) { return "15.18", nil },
		startPrivate: func(_ context.Context, bin string) (*server, error) {
			f.commands = append(f.commands, "start "+bin)
			return &server{version: "15.18", origin: "private, " + bin}, nil
		},
	}
}

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
	if want := "sqlite (embedded) ran; postgres 15.18 (given by APPLOCK_TEST_POSTGRES_DSN) ran"; got != want {
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
			if want := []string{"start " + test.want}; !slices.Equal(f.commands, want) {
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
	p.host.isFile = isFile
	if got, err := p.findBinaries(); err != nil || got != real {
		t.Errorf("findBinaries() = %q, %v, want %q", got, err, real)
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
	f.addServer("/bin15")
	if env := newFakePostgres(f).psqlEnv("/bin15"); env != nil {
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
