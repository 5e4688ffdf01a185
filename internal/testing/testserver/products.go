//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/applock/applock/internal/testing/private"
)

// postgresPackage is Debian's, whose scripts would create a cluster.
const postgresPackage = "postgresql"

// mysqlAccount is the operating system user for MariaDB and MySQL if the launcher is root.
const mysqlAccount = "mysql"

func backends(m *machine) []*backend {
	postgres := newPostgres(m).backend()
	return []*backend{
		postgres,
		newPgBouncer(m, postgres).backend(),
		newMariaDB(m).backend(),
		newGalera(m).backend(),
		newMySQL(m).backend(),
		newRedis(m).backend(),
		newHSQLDB(m),
		newDerby(m),
		newTool(m, "sqlite3", "-version"),
		newTool(m, "tmux", "-V"),
	}
}

func newPostgres(m *machine) *product {
	return &product{
		machine: m, name: "postgres", title: "PostgreSQL", user: "postgres",
		servers: []string{"postgres"}, setups: []string{"initdb"}, clients: []string{"psql"}, clientVariable: "PSQL",
		packages:     []string{postgresPackage},
		composeDSN:   "postgres://applock:applock@127.0.0.1:54329/applock?sslmode=disable",
		probe:        private.ProbePostgres,
		startPrivate: startKind(private.Postgres),
		versions:     postgresVersions(),
	}
}

// newPgBouncer is a pooler in transaction mode in front of the server of another backend.
func newPgBouncer(m *machine, postgres *backend) *product {
	return &product{
		machine: m, name: "pgbouncer", title: "PgBouncer", user: "postgres", servers: []string{"pgbouncer"}, needs: postgres,
		// Debian 12 has 1.18, which ends itself when a client cancels under load
		// (https://github.com/pgbouncer/pgbouncer/issues/822, mended in 1.21).
		unpacked: debianRoot{suite: "unstable", packages: []string{"pgbouncer"}, bin: "usr/sbin", programs: []string{"pgbouncer"}},
		probe:    private.ProbePgBouncer,
		startPrivate: func(ctx context.Context, programs private.Programs) (*server, error) {
			kind, err := private.PgBouncer(programs, postgres.server.dsn)
			if err != nil {
				return nil, err
			}
			return startKind(func(private.Programs) private.Kind { return kind })(ctx, programs)
		},
	}
}

func isMariaDB(version string) bool { return strings.Contains(version, "MariaDB") }

// newMariaDB omits Debian's package with the service, which would start at once and at every boot. The client's package has mariadb-dump, which
// the tests of backups need.
func newMariaDB(m *machine) *product {
	return &product{
		machine: m, name: "mariadb", title: "MariaDB", user: mysqlAccount, isOwn: isMariaDB,
		servers: []string{"mariadbd", "mysqld"}, setups: []string{"mariadb-install-db", "mysql_install_db"},
		clients: []string{"mariadb", "mysql"}, clientVariable: "CLIENT",
		packages:     []string{"mariadb-server-core", "mariadb-client"},
		composeDSN:   "mysql://root:applock@127.0.0.1:33068/applock",
		probe:        private.ProbeMariaDB,
		startPrivate: startKind(private.MariaDB),
		versions:     mariadbVersions(),
	}
}

// newGalera omits the service as well: MariaDB's server has all of Galera but the library.
func newGalera(m *machine) *product {
	p := newMariaDB(m)
	p.name, p.title, p.versions, p.composeDSN = "galera", "Galera", nil, ""
	p.library, p.libraryDirs = "libgalera_smm.so", []string{"/usr/lib/galera", "/usr/lib64/galera-4", "/usr/lib/galera-4", "/usr/lib64/galera"}
	p.packages = append(p.packages, "galera-4")
	p.probe = private.ProbeGalera
	p.startPrivate = func(ctx context.Context, programs private.Programs) (*server, error) {
		first, second, err := private.StartGalera(ctx, programs)
		if err != nil {
			return nil, err
		}
		s, peer := running(first, programs), running(second, programs)
		s.origin += ", and its peer"
		s.env = append(s.env, peer.env...)
		// Nodes that stop one after the other may wait five seconds for each other.
		s.stop = func() error { return errors.Join(peer.stop(), first.Stop()) }
		return s, nil
	}
	return p
}

func newMySQL(m *machine) *product {
	return &product{
		machine: m, name: "mysql", title: "MySQL", user: mysqlAccount, isOwn: func(version string) bool { return !isMariaDB(version) },
		servers: []string{"mysqld"}, clients: []string{"mysql"}, clientVariable: "CLIENT",
		// No other suite has it.
		unpacked: debianRoot{
			suite: "unstable", packages: []string{"mysql-server-core", "mysql-client-core"}, bin: "usr/sbin",
			programs: []string{"mysqld", "../bin/mysql", "../bin/mysqldump"},
		},
		composeDSN:   "mysql://root:applock@127.0.0.1:33069/applock",
		probe:        private.ProbeMySQL,
		startPrivate: startKind(private.MySQL),
		versions:     mysqlVersions(),
	}
}

func newRedis(m *machine) *product {
	return &product{
		machine: m, name: "redis", title: "Redis", user: "redis", servers: []string{"redis-server"}, serverVariable: "SERVER",
		unpacked:     debianRoot{packages: []string{"redis-server"}, bin: "usr/bin", programs: []string{"redis-server"}},
		composeDSN:   "redis://:applock@127.0.0.1:63799/0",
		probe:        private.ProbeRedis,
		startPrivate: startKind(private.Redis),
	}
}

// newTool is a program for tests that is no server. Its Debian package has the same name.
func newTool(m *machine, name, versionFlag string) *backend {
	return library(m, name, []string{name}, func(ctx context.Context) (*server, error) {
		path, err := exec.LookPath(name)
		if err != nil {
			return nil, absent("there is no %s in the path", name)
		}
		version, err := output(ctx, path, versionFlag)
		version, _, _ = strings.Cut(strings.TrimSpace(strings.TrimPrefix(version, name)), " ")
		return &server{version: version, origin: path}, err
	})
}

// newHSQLDB is a library: the tests run the Db2 procedures on it in their own Java process.
func newHSQLDB(m *machine) *backend {
	const jarVariable = "APPLOCK_TEST_HSQLDB_JAR"
	packages := []string{"libhsqldb-java"}
	if _, err := exec.LookPath("javac"); err != nil {
		packages = append(packages, "default-jdk-headless")
	}
	return library(m, "hsqldb", packages, func(ctx context.Context) (*server, error) {
		jar := os.Getenv(jarVariable)
		switch {
		case jar == "":
			jar = "/usr/share/java/hsqldb.jar"
			if !isFile(jar) {
				return nil, absent("%s is not set, and there is no %s", jarVariable, jar)
			}
		case !isFile(jar):
			return nil, fmt.Errorf("%s names no file: correct or unset it", jarVariable)
		}
		if _, err := exec.LookPath("java"); err != nil {
			return nil, absent("there is no java in the path")
		}
		version, err := output(ctx, "javac", "-version")
		if err != nil {
			return nil, absent("there is no Java development kit: %v", err)
		}
		return &server{version: "on " + strings.TrimSpace(version), origin: jar, env: []string{jarVariable + "=" + jar}}, nil
	})
}

// library is a backend without a server, which find finds, perhaps after its packages are installed.
func library(m *machine, name string, packages []string, find source) *backend {
	missing := func(ctx context.Context) []string {
		if _, err := find(ctx); err == nil {
			return nil
		}
		return packages
	}
	fetched := func(ctx context.Context) (*server, error) {
		if err := m.install(ctx, packages); err != nil {
			return nil, err
		}
		return find(ctx)
	}
	sources := []source{find}
	if len(packages) > 0 {
		sources = append(sources, fetched)
	}
	return &backend{name: name, title: name, packages: missing, sources: sources}
}
