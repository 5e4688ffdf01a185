package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Goal: an archive has programs that can be run and pages that can be read, of the commit's time and of root, and the same files give the same bytes.
// Method: both forms of a small release, packed twice.
func TestArchives(t *testing.T) {
	t.Chdir(t.TempDir())
	programs := map[string]string{"linux_amd64": "applockctl", "windows_amd64": "applockctl.exe"}
	contents := map[string]string{"LICENSE": "licence", "bin/release-files/man/applockctl.1.gz": "page", "bin/release-files/completions/bash/applockctl": "bash"}
	for target, program := range programs {
		contents["bin/programs/"+target+"/"+program] = target
	}
	for name, content := range contents {
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(content), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir("bin/release", 0o700); err != nil {
		t.Fatal(err)
	}
	made := time.Unix(1_700_000_000, 0).UTC()
	for target, program := range programs {
		var packed [2][]byte
		name := "bin/release/applockctl_1.2.3_" + target + map[string]string{"linux_amd64": ".tar.gz", "windows_amd64": ".zip"}[target]
		for i := range packed {
			if err := packArchive("1.2.3", target, made); err != nil {
				t.Fatal(err)
			}
			var err error
			if packed[i], err = os.ReadFile(name); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(packed[0], packed[1]) {
			t.Errorf("%s is different each time", target)
		}
		found := entries(t, name, packed[0], made)
		want := map[string]string{
			"LICENSE": "rw-r--r-- licence", program: "rwxr-xr-x " + target, "man/applockctl.1.gz": "rw-r--r-- page",
			"completions/bash/applockctl": "rw-r--r-- bash",
		}
		if len(found) != len(want) {
			t.Errorf("%s: %q", target, found)
		}
		for entry, is := range want {
			if found[entry] != is {
				t.Errorf("%s: %s is %q, want %q", target, entry, found[entry], is)
			}
		}
	}
}

// Goal: a release without a part is refused. Method: a folder that has none.
func TestTellsWhatIsMissing(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, arguments := range [][]string{nil, {"1.2.3", "soon", "linux_amd64"}, {"1.2.3", "1", "linux_amd64"}} {
		if err := run(arguments); err == nil {
			t.Errorf("%q is no error", arguments)
		}
	}
}

// entries are what an archive has, each with its mode and content.
func entries(t *testing.T, name string, archive []byte, made time.Time) map[string]string {
	t.Helper()
	if filepath.Ext(name) == ".zip" {
		return entriesOfZip(t, archive, made)
	}
	found := map[string]string{}
	decompressed, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	for reader := tar.NewReader(decompressed); ; {
		header, err := reader.Next()
		if err == io.EOF { //nolint:errorlint // the archive ends so
			return found
		}
		if err != nil {
			t.Fatal(err)
		}
		if !header.ModTime.Equal(made) || header.Uid != 0 || header.Uname != "root" {
			t.Errorf("%s is of %v and %s", header.Name, header.ModTime, header.Uname)
		}
		found[header.Name] = described(t, header.FileInfo().Mode(), reader)
	}
}

func entriesOfZip(t *testing.T, archive []byte, made time.Time) map[string]string {
	t.Helper()
	found := map[string]string{}
	reader, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		t.Fatal(err)
	}
	for _, each := range reader.File {
		if !each.Modified.Equal(made) {
			t.Errorf("%s is of %v", each.Name, each.Modified)
		}
		content, err := each.Open()
		if err != nil {
			t.Fatal(err)
		}
		found[each.Name] = described(t, each.Mode(), content)
	}
	return found
}

func described(t *testing.T, mode os.FileMode, reader io.Reader) string {
	t.Helper()
	content, err := io.ReadAll(reader)
	if err != nil {
		t.Fatal(err)
	}
	return mode.String()[1:] + " " + string(content)
}
