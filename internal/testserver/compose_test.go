//go:build unix

package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// newComposeHost is a machine with docker and nothing else. The file is two directories above: tests run in the
// directory of their package.
func newComposeHost(t *testing.T) (f *fakeHost, composeCommand string) {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(filepath.Dir(filepath.Dir(dir)), composeFile)
	f = &fakeHost{path: map[string]string{"docker": "/usr/bin/docker"}, files: []string{file}}
	return f, "docker compose -p applock-testserver-postgres -f " + file
}

func TestComposeTakesDownWhatItStarted(t *testing.T) {
	t.Parallel()
	f, command := newComposeHost(t)
	s, err := newFakePostgres(f).backend().supply(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{postgresDSN + "=" + composePostgresDSN}; !slices.Equal(s.env, want) {
		t.Errorf("env = %q, want %q", s.env, want)
	}
	if err := s.stop(); err != nil {
		t.Fatal(err)
	}
	wantCommands(t, f.commands, "docker compose version", command+" up -d --wait postgres", command+" down -v")
	if s.version != "15.18" || s.origin != "docker compose, port 54329" {
		t.Errorf("server = %q, %q", s.version, s.origin)
	}
}

func TestComposeThatFailsIsAnAbsenceAndLeavesNothing(t *testing.T) {
	t.Parallel()
	f, command := newComposeHost(t)
	f.fail = " up -d --wait postgres"
	_, err := newFakePostgres(f).backend().supply(t.Context())
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
			f, _ := newComposeHost(t)
			spoil(f)
			_, err := newFakePostgres(f).compose(t.Context())
			if !errors.As(err, new(*absentError)) {
				t.Errorf("error = %v, want an absence", err)
			}
			wantCommands(t, f.commands, "docker compose version")
		})
	}
}
