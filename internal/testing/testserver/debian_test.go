//go:build unix

package main

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
)

const (
	aptUpdate  = "env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=120 update"
	aptInstall = "env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=120 install -y --no-install-recommends --no-remove "
)

// withoutDraft replaces the random path of the file that "install" copies.
func withoutDraft(commands []string) []string {
	var result []string
	for _, command := range commands {
		words := strings.Fields(command)
		if i := slices.Index(words, "-D"); i >= 0 {
			words[i+3] = "DRAFT"
		}
		result = append(result, strings.Join(words, " "))
	}
	return result
}

func wantCommands(t *testing.T, got []string, want ...string) {
	t.Helper()
	if got = withoutDraft(got); !slices.Equal(got, want) {
		t.Errorf("commands:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// fetchedBy returns the server that a product starts after fetching its programs. The function does what the commands
// would do to the machine; its files are read anew each time.
func fetchedBy(t *testing.T, p product, f *fakeHost, do func(command []string)) *server {
	t.Helper()
	p.host.run = func(ctx context.Context, name string, args ...string) error {
		do(append([]string{name}, args...))
		return f.run(ctx, name, args...)
	}
	s, err := p.fetched(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestThePackageIsInstalledWithoutAMainCluster(t *testing.T) {
	t.Parallel()
	f := &fakeHost{path: map[string]string{"apt-get": "/usr/bin/apt-get"}, isRoot: true}
	p := newFakePostgres(f)
	s := fetchedBy(t, p, f, func(command []string) {
		if command[0] == "install" {
			checkDraft(t, command[4])
		}
		if slices.Contains(command, "postgresql") {
			f.addServer("/usr/lib/postgresql/15/bin")
		}
	})
	wantCommands(t, f.commands,
		aptUpdate,
		aptInstall+"postgresql-common",
		"install -D -m 0644 DRAFT "+noMainCluster,
		aptInstall+"postgresql",
		"rm -f "+noMainCluster,
		startCommand("/usr/lib/postgresql/15/bin"))
	if len(f.said) != 1 || !strings.Contains(f.said[0], "because no PostgreSQL server is installed") {
		t.Errorf("said %q", f.said)
	}
	if s.origin != "private, /usr/lib/postgresql/15/bin" {
		t.Errorf("origin = %q", s.origin)
	}
}

func checkDraft(t *testing.T, path string) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil || string(content) != "create_main_cluster = false\n" {
		t.Errorf("draft = %q, %v", content, err)
	}
}

func TestAFailedInstallationIsAnAbsenceAndLeavesNoSetting(t *testing.T) {
	t.Parallel()
	f := &fakeHost{path: map[string]string{"apt-get": "/usr/bin/apt-get"}, fail: "remove postgresql"}
	_, err := newFakePostgres(f).fetched(t.Context())
	if !errors.As(err, new(*absentError)) {
		t.Errorf("error = %v, want an absence", err)
	}
	wantCommands(t, f.commands,
		"sudo -n true",
		"sudo -n "+aptUpdate,
		"sudo -n "+aptInstall+"postgresql-common",
		"sudo -n install -D -m 0644 DRAFT "+noMainCluster,
		"sudo -n "+aptInstall+"postgresql",
		"sudo -n rm -f "+noMainCluster)
}

func TestNothingIsInstalledWithoutRoot(t *testing.T) {
	t.Parallel()
	f := &fakeHost{path: map[string]string{"apt-get": "/usr/bin/apt-get"}, fail: "sudo -n true"}
	_, err := newFakePostgres(f).fetched(t.Context())
	if !errors.As(err, new(*absentError)) {
		t.Errorf("error = %v, want an absence", err)
	}
	wantCommands(t, f.commands, "sudo -n true")
	if len(f.said) != 0 {
		t.Errorf("said %q", f.said)
	}
}

// The package mariadb-server would start a service.
func TestMariaDBIsInstalledWithoutItsService(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		newProduct func(*fakeHost) product
		packages   string
		client     string
	}{
		"MariaDB": {newFakeMariaDB, "mariadb-server-core mariadb-client", "APPLOCK_TEST_MARIADB_CLIENT"},
		"Galera":  {newFakeGalera, "mariadb-server-core mariadb-client galera-4", "APPLOCK_TEST_GALERA_CLIENT"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fakeHost{
				path:    map[string]string{"apt-get": "/usr/bin/apt-get"},
				outputs: map[string]string{"/usr/sbin/mariadbd --version": "mariadbd  Ver 10.11.19-MariaDB"},
				isRoot:  true,
			}
			s := fetchedBy(t, test.newProduct(f), f, func(command []string) {
				if slices.Contains(command, "mariadb-client") {
					f.files = append(f.files, "/usr/sbin/mariadbd", "/usr/bin/mariadb-install-db", "/usr/bin/mariadb")
				}
				if slices.Contains(command, "galera-4") {
					f.files = append(f.files, "/usr/lib/galera/libgalera_smm.so")
				}
			})
			wantCommands(t, f.commands,
				aptUpdate,
				aptInstall+test.packages,
				"/usr/sbin/mariadbd --version",
				"start /usr/sbin/mariadbd /usr/bin/mariadb-install-db")
			if want := []string{test.client + "=/usr/bin/mariadb"}; !slices.Equal(s.env, want) {
				t.Errorf("env = %q, want %q", s.env, want)
			}
		})
	}
}
