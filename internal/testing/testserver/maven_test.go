//go:build unix

package main

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// zipped returns a package with files.
func zipped(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var content bytes.Buffer
	w := zip.NewWriter(&content)
	for name, text := range files {
		file, err := w.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := file.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return content.Bytes()
}

func sumOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// mavenHost is a machine whose mvn copies a package of that content. It counts how often that is asked.
func mavenHost(t *testing.T, content []byte, fetched *int) host {
	t.Helper()
	return host{
		getenv:     func(string) string { return "" },
		lookPath:   func(name string) (string, error) { return "/bin/" + name, nil },
		isFile:     isFile,
		installing: &sync.Mutex{},
		say:        t.Logf,
		run: func(_ context.Context, name string, args ...string) error {
			if name != "mvn" {
				t.Errorf("%s %q was run", name, args)
			}
			*fetched++
			for _, arg := range args {
				if dir, ok := strings.CutPrefix(arg, "-DoutputDirectory="); ok {
					return os.WriteFile(filepath.Join(dir, "a.jar"), content, 0o600)
				}
			}
			return nil
		},
	}
}

// Goal: a package is fetched once, and its programs can be run. Method: provide it twice.
func TestAPackageIsFetchedOnce(t *testing.T) {
	t.Parallel()
	content := zipped(t, map[string]string{"linux/bin/server": "#!/bin/sh\n"})
	var fetched int
	h := mavenHost(t, content, &fetched)
	dir := filepath.Join(t.TempDir(), "server-1")
	for range 2 {
		if err := (mavenPackage{artifact: "g:a:1", sha256: sumOf(content)}).provide(t.Context(), h, dir); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := os.Stat(filepath.Join(dir, "linux/bin/server")); err != nil || info.Mode().Perm()&0o500 != 0o500 {
		t.Errorf("the program: %v, %v", info, err)
	}
	if fetched != 1 {
		t.Errorf("fetched %d times", fetched)
	}
}

// Goal: nothing runs that is not what the project was tested with, and nothing is written outside. Method: a package with
// another sum, and one whose file leads out of the directory; nothing is left of either.
func TestAPackageIsChecked(t *testing.T) {
	t.Parallel()
	good, out := zipped(t, map[string]string{"bin/server": "x"}), zipped(t, map[string]string{"../out": "x"})
	for name, test := range map[string]struct {
		content []byte
		sum     string
		want    string
	}{
		"OtherSum": {good, sumOf(out), "SHA-256"},
		"Escapes":  {out, sumOf(out), "out"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var fetched int
			parent := t.TempDir()
			dir := filepath.Join(parent, "server-1")
			err := mavenPackage{artifact: "g:a:1", sha256: test.sum}.provide(t.Context(), mavenHost(t, test.content, &fetched), dir)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want an error about %s", err, test.want)
			}
			left, err := os.ReadDir(parent)
			if err != nil || len(left) != 1 || left[0].Name() != "server-1.lock" {
				t.Errorf("left: %v, %v, want the lock alone", left, err)
			}
		})
	}
}

// Goal: whoever asks for a version gets it or an error, never another server. Method: a DSN is set as well; the version
// is one that there is none of.
func TestAVersionIsNotReplaced(t *testing.T) {
	t.Parallel()
	f := &fakeHost{env: map[string]string{postgresDSN: secretDSN, "APPLOCK_TEST_POSTGRES_VERSION": "9.0"}}
	_, err := newFakePostgres(f).backend().supply(t.Context())
	if err == nil || !strings.Contains(err.Error(), `APPLOCK_TEST_POSTGRES_VERSION is "9.0", use one of 14.20.0, 15.19.0, 16.15.0, 17.11.0, 18.6.0, 19`) {
		t.Errorf("%v, want the versions that there are", err)
	}
}
