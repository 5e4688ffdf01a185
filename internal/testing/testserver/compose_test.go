//go:build unix

package main

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/applock/applock/internal/testing/testfile"
)

// newComposeHost is a machine with docker and nothing else. The file is two directories above: tests run in the
// directory of their package.
func newComposeHost(t *testing.T, service string) (f *fakeHost, composeCommand string) {
	t.Helper()
	file := composePath(t)
	f = &fakeHost{path: map[string]string{"docker": "/usr/bin/docker"}, files: []string{file}}
	return f, "docker compose -p applock-testserver-" + service + " -f " + file
}

func composePath(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "..", "..", "..", composeFile)
}

func TestComposeTakesDownWhatItStarted(t *testing.T) {
	t.Parallel()
	for name, newProduct := range map[string]func(*fakeHost) product{
		"postgres": newFakePostgres,
		"mariadb":  newFakeMariaDB,
		"mysql":    newFakeMySQL,
		"redis":    newFakeRedis,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, command := newComposeHost(t, name)
			p := newProduct(f)
			s, err := p.compose(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if want := []string{p.variable("DSN") + "=" + p.service.dsn}; !slices.Equal(s.env, want) {
				t.Errorf("env = %q, want %q", s.env, want)
			}
			if err := s.stop(); err != nil {
				t.Fatal(err)
			}
			wantCommands(t, f.commands, "docker compose version", command+" up -d --wait "+name, command+" down -v")
			if want := fmt.Sprintf("docker compose, port %d", p.service.port); s.origin != want {
				t.Errorf("origin = %q, want %q", s.origin, want)
			}
		})
	}
}

// What the launcher says about the services must be what the file says.
func TestServicesAreAsTheFilePublishesThem(t *testing.T) {
	t.Parallel()
	content := testfile.Read(t, composePath(t))
	h := (&fakeHost{}).host()
	for _, p := range []product{newPostgres(h), newMariaDB(h), newMySQL(h), newRedis(h)} {
		_, text, found := strings.Cut(content, "\n  "+p.name+":\n")
		if !found {
			t.Errorf("there is no service %s", p.name)
			continue
		}
		text, _, _ = strings.Cut(text, "\n\n")
		dsn, err := url.Parse(p.service.dsn)
		if err != nil {
			t.Fatal(err)
		}
		password, _ := dsn.User.Password()
		parts := []string{"127.0.0.1:" + dsn.Port() + ":", "PASSWORD: " + password}
		if p.name != "redis" { // whose databases have numbers
			parts = append(parts, ": "+strings.TrimPrefix(dsn.Path, "/"))
		}
		for _, part := range parts {
			if !strings.Contains(text, part) {
				t.Errorf("the service %s lacks %q", p.name, part)
			}
		}
		if dsn.Port() != strconv.Itoa(p.service.port) {
			t.Errorf("%s: the port is %d or %s", p.name, p.service.port, dsn.Port())
		}
	}
}

// A product without a service must not start one that happens to have its name.
func TestComposeIsForProductsThatHaveAService(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"galera", "pgbouncer"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, _ := newComposeHost(t, name)
			f.env = map[string]string{cacheVariable: reachableDir(t)}
			postgres := newPromise("PostgreSQL")
			postgres.settle(&server{}, nil)
			p := map[string]product{"galera": newFakeGalera(f), "pgbouncer": newFakePgBouncer(f, postgres)}[name]
			if _, err := p.backend().supply(t.Context()); !errors.As(err, new(*absentError)) {
				t.Errorf("error = %v, want an absence", err)
			}
			wantCommands(t, f.commands)
		})
	}
}

func TestComposeThatFailsIsAnAbsenceAndLeavesNothing(t *testing.T) {
	t.Parallel()
	f, command := newComposeHost(t, "postgres")
	f.fail = " up -d --wait postgres"
	_, err := newFakePostgres(f).compose(t.Context())
	var none *absentError
	if !errors.As(err, &none) {
		t.Errorf("error = %v, want an absence", err)
	}
	wantCommands(t, f.commands, "docker compose version", command+" up -d --wait postgres", command+" down -v")
}

func TestComposeNeedsPluginAndFile(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*fakeHost){
		"NoPlugin": func(f *fakeHost) { f.fail = "version" },
		"NoFile":   func(f *fakeHost) { f.files = nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, _ := newComposeHost(t, "postgres")
			spoil(f)
			_, err := newFakePostgres(f).compose(t.Context())
			if !errors.As(err, new(*absentError)) {
				t.Errorf("error = %v, want an absence", err)
			}
			wantCommands(t, f.commands, "docker compose version")
		})
	}
}
