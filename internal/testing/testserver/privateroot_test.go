//go:build unix

package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// printedURIs is what apt-get says on a machine that also gets packages from others.
const printedURIs = `'https://packages.example.org/debian/dists/bookworm/stable/binary-amd64/Packages' a 0
'http://mirror.example.org/debian/dists/bookworm-updates/main/binary-amd64/Packages.xz' u 0
'http://apt.example.org/pub/dists/bookworm/main/binary-amd64/Packages.xz' b 0
'http://mirror.example.org/debian-security/dists/bookworm-security/main/binary-amd64/Packages.xz' c 0
'http://mirror.example.org/debian/dists/bookworm/InRelease' d 0
'http://mirror.example.org/debian/dists/bookworm/main/binary-amd64/Packages.xz' e 0
'http://second.example.org/debian/dists/bookworm/main/binary-amd64/Packages.xz' f 0
`

// unstableHost is a machine with apt-get, whose downloads and programs are made up.
type unstableHost struct {
	fakeHost
	mutex  sync.Mutex
	list   string // the sources.list that apt-get was given
	loader string // where the packages have it
}

func newUnstableHost() *unstableHost {
	return &unstableHost{loader: "usr/lib/any-linux-gnu/ld-linux-any.so.2", fakeHost: fakeHost{
		path:    map[string]string{"apt-get": "/usr/bin/apt-get", "dpkg-deb": "/usr/bin/dpkg-deb"},
		outputs: map[string]string{"apt-get update --print-uris": printedURIs},
	}}
}

// root is the root that the machine would make in a cache directory.
func (f *unstableHost) root(t *testing.T, cache string) privateRoot {
	t.Helper()
	h := f.host()
	h.run = func(ctx context.Context, name string, args ...string) error {
		f.mutex.Lock()
		defer f.mutex.Unlock()
		if err := f.run(ctx, name, args...); err != nil {
			return err
		}
		switch {
		case slices.Contains(args, "--download-only"):
			return f.download(args)
		case name == "dpkg-deb":
			return f.unpack(args[1], args[2])
		}
		return nil
	}
	output := h.output
	h.output = func(ctx context.Context, name string, args ...string) (string, error) {
		f.mutex.Lock()
		defer f.mutex.Unlock()
		return output(ctx, name, args...)
	}
	return privateRoot{
		host:     h,
		dir:      filepath.Join(cache, "root"),
		suite:    "unstable",
		packages: []string{"server-core", "client-core"},
		programs: []string{"usr/sbin/server", "usr/bin/client"},
	}
}

func (f *unstableHost) download(args []string) error {
	var dir string
	for _, arg := range args {
		if path, ok := strings.CutPrefix(arg, "Dir::Cache="); ok {
			dir = path
		}
		if path, ok := strings.CutPrefix(arg, "Dir::Etc::sourcelist="); ok {
			list, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			f.list = string(list)
		}
	}
	for _, name := range []string{"libc", "server", "client"} {
		if err := os.WriteFile(filepath.Join(dir, "archives", name+".deb"), nil, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// unpack makes a loader that says what it was asked to load.
func (f *unstableHost) unpack(archive, root string) error {
	file := map[string]string{
		"libc.deb":   f.loader,
		"server.deb": "usr/sbin/server",
		"client.deb": "usr/bin/client",
	}[filepath.Base(archive)]
	path := filepath.Join(root, file)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte("#!/bin/sh\necho \"$@\"\n"), 0o755)
}

func TestTheRootIsMadeOnce(t *testing.T) {
	t.Parallel()
	f := newUnstableHost()
	r := f.root(t, t.TempDir())
	if err := r.provide(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := "deb http://mirror.example.org/debian unstable main\n"; f.list != want {
		t.Errorf("sources.list = %q, want %q", f.list, want)
	}
	if len(f.said) != 1 || !strings.Contains(f.said[0], "unpacking server-core and client-core") {
		t.Errorf("said %q", f.said)
	}
	output, err := toolOutput(exec.CommandContext(t.Context(), r.wrapper("server"), "--flag", "two words"))
	want := "--library-path ROOT/usr/lib/any-linux-gnu:ROOT/lib/any-linux-gnu ROOT/usr/sbin/server --flag two words\n"
	if got := strings.ReplaceAll(output, filepath.Join(r.dir, wrapperDir)+"/../..", "ROOT"); err != nil || got != want {
		t.Errorf("the script ran %q, %v, want %q", got, err, want)
	}
	wantEntries(t, filepath.Dir(r.dir), "root", "root.lock")

	again := &unstableHost{}
	if err := again.root(t, filepath.Dir(r.dir)).provide(t.Context()); err != nil {
		t.Error(err)
	}
	if len(again.commands) != 0 || len(again.said) != 0 {
		t.Errorf("the second time it did %q and said %q", again.commands, again.said)
	}
}

// A root that was made for fewer programs than it has gets the scripts of the others, without apt-get.
func TestARootGetsScriptsForMorePrograms(t *testing.T) {
	t.Parallel()
	r := newUnstableHost().root(t, t.TempDir())
	if err := r.provide(t.Context()); err != nil {
		t.Fatal(err)
	}
	again := &unstableHost{}
	more := again.root(t, filepath.Dir(r.dir))
	more.programs = append(more.programs, "usr/bin/dump")
	if err := more.provide(t.Context()); err != nil {
		t.Fatal(err)
	}
	output, err := toolOutput(exec.CommandContext(t.Context(), more.wrapper("dump"), "shop"))
	if err != nil || !strings.HasSuffix(output, "/usr/bin/dump shop\n") || len(again.commands) != 0 {
		t.Errorf("the script ran %q, %v, after %q", output, err, again.commands)
	}
}

// Packages of another suite than the machine's would be newer than those that its users have.
func TestARootIsOfTheMachinesOwnSuite(t *testing.T) {
	t.Parallel()
	f := newUnstableHost()
	r := f.root(t, t.TempDir())
	r.suite = ""
	if err := r.provide(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := "deb http://mirror.example.org/debian bookworm main\n"; f.list != want {
		t.Errorf("sources.list = %q, want %q", f.list, want)
	}
	if len(f.said) != 1 || !strings.Contains(f.said[0], "of Debian's bookworm suite") {
		t.Errorf("said %q", f.said)
	}
}

// Debian 12 has the C library in lib, and most others in usr/lib.
func TestLibrariesAreFoundInBothDirectories(t *testing.T) {
	t.Parallel()
	f := newUnstableHost()
	f.loader = "lib/any-linux-gnu/ld-linux-any.so.2"
	r := f.root(t, t.TempDir())
	if err := r.provide(t.Context()); err != nil {
		t.Fatal(err)
	}
	output, err := toolOutput(exec.CommandContext(t.Context(), r.wrapper("server")))
	want := "--library-path ROOT/usr/lib/any-linux-gnu:ROOT/lib/any-linux-gnu ROOT/usr/sbin/server\n"
	if got := strings.ReplaceAll(output, filepath.Join(r.dir, wrapperDir)+"/../..", "ROOT"); err != nil || got != want {
		t.Errorf("the script ran %q, %v, want %q", got, err, want)
	}
}

func wantEntries(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	if !slices.Equal(names, want) {
		t.Errorf("the directory has %q, want %q", names, want)
	}
}

func TestTwoRunsMakeOneRoot(t *testing.T) {
	t.Parallel()
	f := newUnstableHost()
	r := f.root(t, t.TempDir())
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			if err := r.provide(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	downloads := 0
	for _, command := range f.commands {
		if strings.Contains(command, "--download-only") {
			downloads++
		}
	}
	if downloads != 1 {
		t.Errorf("downloaded %d times", downloads)
	}
}

// What a killed run left must neither be taken for a root nor be in the way.
func TestAnIncompleteRootIsMadeAnew(t *testing.T) {
	t.Parallel()
	r := newUnstableHost().root(t, t.TempDir())
	for _, leftover := range []string{r.dir, r.dir + ".draft-1/root"} {
		if err := os.MkdirAll(filepath.Join(leftover, "usr/lib/old/ld-old.so.1"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.provide(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantEntries(t, filepath.Dir(r.dir), "root", "root.lock")
	if found, err := r.loader(); err != nil || found != "usr/lib/any-linux-gnu/ld-linux-any.so.2" {
		t.Errorf("loader = %q, %v", found, err)
	}
}

func TestARootThatCannotBeMadeLeavesNothing(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		spoil func(*unstableHost)
		want  string
	}{
		"NoAptGet":       {func(f *unstableHost) { delete(f.path, "apt-get") }, "there is no apt-get"},
		"NoDpkg":         {func(f *unstableHost) { delete(f.path, "dpkg-deb") }, "there is no dpkg-deb"},
		"OtherArchives":  {func(f *unstableHost) { f.outputs = nil }, "apt-get has no archive of Debian"},
		"NoNetwork":      {func(f *unstableHost) { f.fail = " update" }, "exit status 1"},
		"NoSuchPackage":  {func(f *unstableHost) { f.fail = "client-core" }, "exit status 1"},
		"CannotUnpack":   {func(f *unstableHost) { f.fail = "/root" }, "exit status 1"},
		"ProgramIsFalse": {func(f *unstableHost) { f.fail = " --version" }, "exit status 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newUnstableHost()
			test.spoil(f)
			r := f.root(t, t.TempDir())
			if err := r.provide(t.Context()); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error = %v, want one with %q", err, test.want)
			}
			if left, err := filepath.Glob(filepath.Join(filepath.Dir(r.dir), "*.draft*")); err != nil || len(left) != 0 || r.complete() {
				t.Errorf("left behind: %q, %v", left, err)
			}
		})
	}
}

func TestAMachineWithoutDebianHasNoMySQL(t *testing.T) {
	t.Parallel()
	f := &fakeHost{env: map[string]string{cacheVariable: reachableDir(t)}}
	_, err := newFakeMySQL(f).backend().supply(t.Context())
	if !errors.As(err, new(*absentError)) {
		t.Fatalf("error = %v, want an absence", err)
	}
	for _, part := range []string{mysqlDSN, "no mysqld of this product", "there is no apt-get", "no docker"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q lacks %q", err, part)
		}
	}
}

func TestAWaitForTheLockCanBeEnded(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := lockFile(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := lockFile(ctx, path); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error = %v", err)
	}
	unlock()
	again, err := lockFile(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	again()
}

func TestTheCacheIsWhereTheServersAccountCanGet(t *testing.T) {
	t.Parallel()
	stranger := &account{name: "stranger", uid: 4_000_000_000, gid: 4_000_000_000}
	open := reachableDir(t)
	closed := filepath.Join(open, "closed")
	if err := os.Mkdir(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		account *account
		dir     string
		fails   bool
	}{
		"Ourselves": {dir: closed},
		"Open":      {account: stranger, dir: filepath.Join(open, "new")},
		"Closed":    {account: stranger, dir: filepath.Join(closed, "new"), fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fakeHost{env: map[string]string{cacheVariable: test.dir}}
			got, err := f.host().cacheDir(test.account)
			if test.fails {
				if err == nil || !strings.Contains(err.Error(), "set "+cacheVariable) {
					t.Errorf("error = %v", err)
				}
				return
			}
			if err != nil || got != test.dir {
				t.Errorf("cacheDir() = %q, %v, want %q", got, err, test.dir)
			}
		})
	}
}
