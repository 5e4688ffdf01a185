//go:build unix

package main

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// wheelOfTests is what a wheel of ibm_db has, in small.
func wheelOfTests() map[string]string {
	return map[string]string{
		"clidriver/include/sqlcli1.h":         "int SQLConnect();",
		"clidriver/lib/libdb2.so":             "library",
		"clidriver/lib/libdb2.so.1":           "library",
		"clidriver/license/UNIX/odbc_LI_en":   "terms",
		"ibm_db.libs/libxml2-0123.so.2":       "library",
		"ibm_db.py":                           "Python",
		"ibm_db-3.3.0.dist-info/METADATA":     "Name: ibm_db",
		"tmp/build-env/site-packages/x.py":    "Python",
		"clidriver.txt":                       "not in the directory",
		"other/clidriver/lib/libdb2.so":       "another",
		"certs/__init__.py":                   "",
		"clidriver/conv/alt/04370923.cnv":     "table",
		"clidriver/msg/en_US.iso88591/db2.mo": "messages",
	}
}

// machine is a fake host, and a record of what was done to it.
type machine struct {
	platform string
	env      []string
	programs []string
	wheel    map[string]string
	ldd      string
	cache    string

	downloads atomic.Int32
	mu        sync.Mutex
	said      []string
	became    []string
	becameEnv []string
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	return &machine{
		platform: "linux/amd64",
		env:      []string{"PATH=/bin"},
		programs: []string{"go", "python3"},
		wheel:    wheelOfTests(),
		cache:    filepath.Join(t.TempDir(), "with a blank"),
	}
}

func (m *machine) host() host {
	return host{
		platform: m.platform,
		environ:  func() []string { return m.env },
		lookPath: func(name string) (string, error) {
			if slices.Contains(m.programs, name) {
				return "/bin/" + name, nil
			}
			return "", errors.New(name + " not found")
		},
		cacheDir: func() (string, error) { return m.cache, nil },
		output:   m.output,
		become: func(path string, args, env []string) error {
			m.became, m.becameEnv = append([]string{path}, args...), env
			return nil
		},
		say: func(format string, args ...any) {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.said = append(m.said, fmt.Sprintf(format, args...))
		},
	}
}

func (m *machine) output(_ context.Context, name string, args ...string) (string, error) {
	if name == "ldd" {
		return m.ldd, nil
	}
	dest := slices.Index(args, "--dest") + 1
	if !slices.Contains(args, "download") || dest == 0 {
		return "pip 1.0", nil
	}
	m.downloads.Add(1)
	if m.wheel == nil {
		return "", errors.New("no matching distribution")
	}
	return "", writeWheel(filepath.Join(args[dest], "ibm_db-3.3.0-cp311-cp311-manylinux_2_34_x86_64.whl"), m.wheel)
}

func writeWheel(path string, files map[string]string) (err error) {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	archive := zip.NewWriter(file)
	for name, content := range files {
		header := &zip.FileHeader{Name: name}
		header.SetMode(0o555)
		if target, isLink := strings.CutPrefix(content, "-> "); isLink {
			header.SetMode(fs.ModeSymlink | 0o777)
			content = target
		}
		writer, err := archive.CreateHeader(header)
		if err != nil {
			return err
		}
		if _, err := writer.Write([]byte(content)); err != nil {
			return err
		}
	}
	return archive.Close()
}

func filesBelow(t *testing.T, dir string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			files = append(files, strings.TrimPrefix(path, dir+"/"))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func wantError(t *testing.T, err error, words ...string) {
	t.Helper()
	for _, word := range words {
		if err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("error = %v, want %q in it", err, word)
		}
	}
}

// Goal: the driver is fetched once, out of the wheel and nothing else of it, and the command sees it. Method: a
// machine with a pip that makes a wheel, used twice.
func TestFetchesOnce(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.env = append(m.env, "CGO_CFLAGS=-O0", "CGO_ENABLED=0", "CGO_LDFLAGS=-s")
	for range 2 {
		if err := run(t.Context(), m.host(), []string{"--", "go", "build", "-tags", "db2"}); err != nil {
			t.Fatal(err)
		}
	}
	dir := filepath.Join(m.cache, "applock", "ibm-db2-driver-linux-amd64")
	want := []string{
		"clidriver/conv/alt/04370923.cnv", "clidriver/include/sqlcli1.h", "clidriver/lib/libdb2.so", "clidriver/lib/libdb2.so.1",
		"clidriver/license/UNIX/odbc_LI_en", "clidriver/msg/en_US.iso88591/db2.mo", "complete", "ibm_db.libs/libxml2-0123.so.2",
	}
	if got := filesBelow(t, dir); !slices.Equal(got, want) {
		t.Errorf("unpacked %q, want %q", got, want)
	}
	if entries, _ := os.ReadDir(filepath.Dir(dir)); len(entries) != 2 {
		t.Errorf("the cache has %v, want the driver and the lock", entries)
	}
	if m.downloads.Load() != 1 || len(m.said) != 1 || !strings.Contains(m.said[0], "clidriver/license") || !strings.Contains(m.said[0], dir) {
		t.Errorf("downloaded %d times, and said %q", m.downloads.Load(), m.said)
	}
	if want := []string{"/bin/go", "go", "build", "-tags", "db2"}; !slices.Equal(m.became, want) {
		t.Errorf("became %q, want %q", m.became, want)
	}
	wantEnv := []string{
		"PATH=/bin", "IBM_DB_HOME=" + dir + "/clidriver", "CGO_ENABLED=1",
		`CGO_CFLAGS=-O0 "-I` + dir + `/clidriver/include"`,
		`CGO_LDFLAGS=-s "-L` + dir + `/clidriver/lib" "-Wl,-rpath,` + dir + `/clidriver/lib" "-Wl,-rpath-link,` + dir + `/ibm_db.libs"`,
	}
	if !slices.Equal(m.becameEnv, wantEnv) {
		t.Errorf("environment %q, want %q", m.becameEnv, wantEnv)
	}
}

// Goal: builds at the same time fetch once, and all get the driver.
func TestFetchesOnceForAll(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	var building sync.WaitGroup
	for range 8 {
		building.Go(func() {
			d, err := findDriver(t.Context(), m.host())
			if err != nil || d.check() != nil {
				t.Errorf("driver %v, error %v", d, err)
			}
		})
	}
	building.Wait()
	if m.downloads.Load() != 1 {
		t.Errorf("downloaded %d times", m.downloads.Load())
	}
}

// Goal: the remains of a killed build do not count as a driver, and are removed.
func TestLeftoversAreReplaced(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	dir := filepath.Join(m.cache, "applock", "ibm-db2-driver-linux-amd64")
	for _, leftover := range []string{dir + "/clidriver/lib/libdb2.so", dir + draftInfix + "123/root/x"} {
		if err := os.MkdirAll(filepath.Dir(leftover), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(leftover, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := findDriver(t.Context(), m.host()); err != nil {
		t.Fatal(err)
	}
	if entries, _ := os.ReadDir(filepath.Dir(dir)); len(entries) != 2 || m.downloads.Load() != 1 {
		t.Errorf("the cache has %v after %d downloads", entries, m.downloads.Load())
	}
}

// Goal: the driver that IBM_DB_HOME names is taken as it is, and nothing is fetched.
func TestDriverOfTheEnvironment(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.platform, m.programs = "linux/arm64", []string{"go"}
	home := filepath.Join(t.TempDir(), "clidriver")
	m.env = append(m.env, homeVariable+"="+home)
	_, err := findDriver(t.Context(), m.host())
	wantError(t, err, home, "include/sqlcli1.h", homeVariable)
	for _, name := range []string{"include/sqlcli1.h", "lib/libdb2.so"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(home, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(home, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := run(t.Context(), m.host(), []string{"go", "vet"}); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"PATH=/bin", "IBM_DB_HOME=" + home, "CGO_ENABLED=1", "CGO_CFLAGS=-O2 -g -I" + home + "/include",
		"CGO_LDFLAGS=-L" + home + "/lib -Wl,-rpath," + home + "/lib",
	}
	if !slices.Equal(m.becameEnv, want) || m.downloads.Load() != 0 {
		t.Errorf("environment %q, want %q; %d downloads", m.becameEnv, want, m.downloads.Load())
	}
}

// Goal: each error says what to do. Method: machines that lack something.
func TestErrorsSayWhatToDo(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(m *machine)
		args   []string
		want   []string
	}{
		"NoCommand":     {change: func(*machine) {}, args: []string{"--"}, want: []string{"usage"}},
		"NoSuchCommand": {change: func(*machine) {}, args: []string{"--", "gone"}, want: []string{"gone"}},
		"NoPython":      {change: func(m *machine) { m.programs = []string{"go"} }, want: []string{"apt-get install python3-pip", homeVariable}},
		"OtherPlatform": {change: func(m *machine) { m.platform = "linux/arm64" }, want: []string{"linux/arm64", "linux/amd64 only", homeVariable}},
		"NoWheel":       {change: func(m *machine) { m.wheel = nil }, want: []string{"no matching distribution", "pip", homeVariable}},
		"OtherWheel":    {change: func(m *machine) { m.wheel = map[string]string{"ibm_db.py": ""} }, want: []string{"ibm_db-3.3.0", "include/sqlcli1.h"}},
		"MissingLibraries": {
			change: func(m *machine) {
				m.programs = append(m.programs, "ldd")
				m.ldd = "\tlinux-vdso.so.1 (0x1)\n\tlibpam.so.0 => not found\n\tlibcrypt.so.1 => not found\n" +
					"\tlibxml2.so.2 => not found\n\tlibpam.so.0 => not found\n\tlibc.so.6 => /lib/libc.so.6 (0x2)\n"
			},
			want: []string{"libpam.so.0, libcrypt.so.1, libxml2.so.2", "apt-get install libpam0g libcrypt1 libxml2"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			test.change(m)
			args := test.args
			if args == nil {
				args = []string{"--", "go", "build"}
			}
			wantError(t, run(t.Context(), m.host(), args), test.want...)
			if m.became != nil {
				t.Errorf("became %q", m.became)
			}
		})
	}
}

// Goal: a wheel writes nowhere but into its directory. Method: paths and links that lead out of it.
func TestWheelStaysInItsDirectory(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{
		"clidriver/../../escaped": "x",
		"clidriver/lib/link":      "-> ../../../escaped",
	} {
		dir := t.TempDir()
		wheel := filepath.Join(dir, "x.whl")
		if err := writeWheel(wheel, map[string]string{name: content}); err != nil {
			t.Fatal(err)
		}
		wantError(t, unpackWheel(wheel, filepath.Join(dir, "root")), name)
		if files := filesBelow(t, dir); !slices.Equal(files, []string{"x.whl"}) {
			t.Errorf("%s: files %q", name, files)
		}
	}
}

// Goal: the machine's own functions work. Method: tools that every system has.
func TestHost(t *testing.T) {
	t.Parallel()
	h := newHost()
	text, err := h.output(t.Context(), "sh", "-c", "echo out; echo err >&2")
	if err != nil || text != "out\nerr\n" {
		t.Errorf("output = %q, %v", text, err)
	}
	_, err = h.output(t.Context(), "sh", "-c", "echo why; exit 3")
	wantError(t, err, "why", "exit status 3")
	if got, want := h.getenv("PATH"), os.Getenv("PATH"); got != want {
		t.Errorf("PATH = %q, want %q", got, want)
	}
}
