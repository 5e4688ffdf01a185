//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"slices"
	"strings"
	"testing"

	mysqldriver "github.com/applock/applock/internal/db/mysql"
)

func newFakeMariaDB(f *fakeHost) product { return f.fake(newMariaDB(f.host()), "10.11.19") }

func newFakeMySQL(f *fakeHost) product { return f.fake(newMySQL(f.host()), "9.7.4") }

// addProgram puts a program into the machine that states a version.
func (f *fakeHost) addProgram(path, version string) {
	f.files = append(f.files, path)
	if f.outputs == nil {
		f.outputs = map[string]string{}
	}
	f.outputs[path+" --version"] = version
}

const (
	mariadbVersion = "mysqld  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)"
	mysqlVersion   = "/usr/sbin/mysqld  Ver 9.7.4-2 for Linux on x86_64 ((Debian))"
)

// A mysqld may be of either product, and one machine may have both.
func TestTheServersOfBothProductsAreToldApart(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		arrange        func(*fakeHost)
		mariadb, mysql string // the servers; "" if absent
	}{
		"Nothing": {arrange: func(*fakeHost) {}},
		"MariaDB": {arrange: func(f *fakeHost) {
			f.addProgram("/usr/sbin/mariadbd", mariadbVersion)
			f.addProgram("/usr/sbin/mysqld", mariadbVersion)
			f.addProgram("/usr/bin/mariadb-install-db", "")
		}, mariadb: "/usr/sbin/mariadbd"},
		"OldNames": {arrange: func(f *fakeHost) {
			f.addProgram("/usr/libexec/mysqld", mariadbVersion)
			f.addProgram("/usr/bin/mysql_install_db", "")
		}, mariadb: "/usr/libexec/mysqld"},
		"MySQL": {arrange: func(f *fakeHost) {
			f.addProgram("/usr/sbin/mysqld", mysqlVersion)
		}, mysql: "/usr/sbin/mysqld"},
		"MySQLBesideMariaDB": {arrange: func(f *fakeHost) {
			f.addProgram("/usr/sbin/mariadbd", mariadbVersion)
			f.addProgram("/usr/sbin/mysqld", mariadbVersion)
			f.addProgram("/usr/bin/mariadb-install-db", "")
			f.addProgram("/opt/mysql/bin/mysqld", mysqlVersion)
			f.path = map[string]string{"mysqld": "/opt/mysql/bin/mysqld"}
		}, mariadb: "/usr/sbin/mariadbd", mysql: "/opt/mysql/bin/mysqld"},
		"NoInstallDB": {arrange: func(f *fakeHost) {
			f.addProgram("/usr/sbin/mariadbd", mariadbVersion)
		}},
		"Named": {arrange: func(f *fakeHost) {
			f.addProgram("/usr/sbin/mysqld", mysqlVersion)
			f.addProgram("/own/sbin/mysqld", mysqlVersion)
			f.addProgram("/own/bin/mariadbd", mariadbVersion)
			f.addProgram("/own/scripts/mariadb-install-db", "")
			f.env = map[string]string{mysqlBin: "/own/sbin", mariadbBin: "/own/bin"}
		}, mariadb: "/own/bin/mariadbd", mysql: "/own/sbin/mysqld"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fakeHost{}
			test.arrange(f)
			for _, p := range []product{newFakeMariaDB(f), newFakeMySQL(f)} {
				want := map[string]string{"mariadb": test.mariadb, "mysql": test.mysql}[p.name]
				got, err := p.find(t.Context(), p.host)
				if got.server != want || (want == "") != errors.As(err, new(*absentError)) {
					t.Errorf("%s: server %q, %v, want %q", p.name, got.server, err, want)
				}
			}
		})
	}
}

func TestProgramsAreFoundBesideTheServer(t *testing.T) {
	t.Parallel()
	f := &fakeHost{path: map[string]string{"mariadbd": "/opt/maria/bin/mariadbd"}}
	for _, path := range []string{
		"/opt/maria/bin/mariadbd", "/opt/maria/scripts/mariadb-install-db", "/opt/maria/bin/mariadb",
		"/usr/sbin/mariadbd", "/usr/bin/mariadb-install-db", "/usr/bin/mariadb",
	} {
		f.addProgram(path, mariadbVersion)
	}
	p := newFakeMariaDB(f)
	want := installation{
		origin: "/opt/maria/bin",
		server: "/opt/maria/bin/mariadbd",
		setup:  "/opt/maria/scripts/mariadb-install-db",
		client: "/opt/maria/bin/mariadb",
	}
	if got, err := p.find(t.Context(), p.host); err != nil || got != want {
		t.Errorf("find() = %+v, %v, want %+v", got, err, want)
	}
}

func TestANamedDirectoryWithTheOtherProductIsAnError(t *testing.T) {
	t.Parallel()
	f := &fakeHost{env: map[string]string{mysqlBin: "/own/sbin"}}
	f.addProgram("/own/sbin/mysqld", mariadbVersion)
	f.addProgram("/usr/sbin/mysqld", mysqlVersion)
	_, err := newFakeMySQL(f).backend().supply(t.Context())
	if err == nil || errors.As(err, new(*absentError)) || !strings.Contains(err.Error(), "correct or unset it") {
		t.Errorf("error = %v", err)
	}
}

// MariaDB's client goes by MySQL's name as well, and does not understand all of MySQL.
func TestTheClientInThePathIsOfTheProduct(t *testing.T) {
	t.Parallel()
	f := &fakeHost{path: map[string]string{"mysql": "/usr/bin/mysql"}}
	f.addProgram("/usr/bin/mysql", mariadbVersion)
	if got, want := newFakeMariaDB(f).clientEnv(t.Context(), ""), []string{"APPLOCK_TEST_MARIADB_CLIENT=/usr/bin/mysql"}; !slices.Equal(got, want) {
		t.Errorf("env = %q, want %q: the old name will do", got, want)
	}
	if got := newFakeMySQL(f).clientEnv(t.Context(), ""); got != nil {
		t.Errorf("env = %q, want none", got)
	}
	f.env = map[string]string{"APPLOCK_TEST_MYSQL_CLIENT": "/own/mysql"}
	if got := newFakeMySQL(f).clientEnv(t.Context(), "/opt/mysql"); got != nil {
		t.Errorf("env = %q, want none: the environment says it already", got)
	}
}

func TestAGivenMySQLThatDoesNotAnswerIsAnErrorWithoutTheDSN(t *testing.T) {
	t.Parallel()
	for name, dsn := range map[string]string{
		"NotADSN":          "mysql://alice:s3cret@host:port:port/x",
		"NobodyListens":    "mysql://alice:s3cret@127.0.0.1:1/x",
		"NobodyListensTCP": "alice:s3cret@tcp(127.0.0.1:1)/x",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fakeHost{env: map[string]string{mysqlDSN: dsn}}
			_, err := newMySQL(f.host()).backend().supply(t.Context())
			if err == nil || errors.As(err, new(*absentError)) || !strings.Contains(err.Error(), "the server given by "+mysqlDSN) {
				t.Errorf("error = %v", err)
			}
			if strings.Contains(err.Error(), "s3cret") || strings.Contains(err.Error(), "alice:") {
				t.Errorf("the error tells too much: %v", err)
			}
		})
	}
}

// checkMySQL checks that the server is what the tests were promised, and that it is not taken for the other product.
func checkMySQL(t *testing.T, l *launched) {
	t.Helper()
	others := map[string]func(host) product{"mariadb": newMySQL, "galera": newMySQL, "mysql": newMariaDB}
	newOther, isMySQL := others[l.product.name]
	if !isMySQL {
		return
	}
	checkClient(t, l)
	if _, err := newOther(l.product.host).probe(t.Context(), l.dsn); err == nil || !strings.Contains(err.Error(), "another product") {
		t.Errorf("a %s was taken for the other product: %v", l.product.name, err)
	}
	checkGalera(t, l)
}

// checkGalera checks that only a node is taken for one, and that it is not alone.
func checkGalera(t *testing.T, l *launched) {
	t.Helper()
	_, err := newGalera(l.product.host).probe(t.Context(), l.dsn)
	if l.product.name != "galera" {
		if err == nil || !strings.Contains(err.Error(), "no node of a Galera cluster") {
			t.Errorf("a %s was taken for a node: %v", l.product.name, err)
		}
		return
	}
	config, err := mysqldriver.ParseDSN(l.dsn)
	if err != nil {
		t.Fatal(err)
	}
	if size, err := galeraStatus(t.Context(), config, "wsrep_cluster_size"); err != nil || size != "2" {
		t.Errorf("the cluster has %q nodes, %v", size, err)
	}
}

// checkClient asks the server by its own client.
func checkClient(t *testing.T, l *launched) {
	t.Helper()
	programs, err := presentPrograms(t.Context(), l.product)
	if err != nil {
		t.Fatal(err)
	}
	if programs.client == "" {
		return
	}
	config, err := mysqldriver.ParseDSN(l.dsn)
	if err != nil {
		t.Fatal(err)
	}
	port := config.Addr[strings.LastIndex(config.Addr, ":")+1:]
	ctx, cancel := context.WithTimeout(t.Context(), givenLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, programs.client, "--no-defaults", "--host=127.0.0.1", "--port="+port, "--user="+config.User,
		"--batch", "--skip-column-names", config.DBName, "--execute",
		"SELECT database(), @@log_bin, @@max_connections, @@character_set_server, @@innodb_flush_log_at_trx_commit; "+
			"SELECT count(*) FROM mysql.user WHERE user = 'root'")
	cmd.Env = append(cmd.Environ(), "MYSQL_PWD="+config.Passwd)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	output, err := cmd.Output()
	if want := "applock\t0\t300\tutf8mb4\t2\n1\n"; err != nil || string(output) != want {
		t.Errorf("the client said %q, %v, want %q\n%s", output, err, want, stderr.String())
	}
}
