//go:build unix

package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	mysqldriver "github.com/applock/applock/internal/db/mysql"
	"github.com/go-sql-driver/mysql"
)

// The variables of MariaDB and MySQL that the launcher reads. The tests read the ones that end in DSN, CLIENT and PID.
const (
	mariadbDSN = "APPLOCK_TEST_MARIADB_DSN"
	mariadbBin = "APPLOCK_TEST_MARIADB_BIN"
	mysqlDSN   = "APPLOCK_TEST_MYSQL_DSN"
	mysqlBin   = "APPLOCK_TEST_MYSQL_BIN"
)

// mysqlKind is the difference between MariaDB and MySQL.
type mysqlKind struct {
	name      string // of the product
	isMariaDB bool

	// servers, setups and clients are the possible names of the programs, best first. Without setups the server creates
	// its data itself.
	servers, setups, clients []string

	// setupOptions are for the program that creates the data, serverOptions for the server.
	setupOptions, serverOptions []string

	// noSync is the option of a server that need not be durable. MariaDB's also covers what InnoDB does not store: the log of CREATE and
	// DROP and the table of the routines, which otherwise take most of its time.
	noSync string
}

func kindMariaDB() mysqlKind {
	return mysqlKind{
		name:      "mariadb",
		isMariaDB: true,
		servers:   []string{"mariadbd", "mysqld"},
		setups:    []string{"mariadb-install-db", "mysql_install_db"},
		noSync:    "--debug-no-sync",
		clients:   []string{"mariadb", "mysql"},
		// The first statements drop the socket's account, so the setup must not create another one.
		setupOptions: []string{
			"--skip-test-db", "--auth-root-authentication-method=socket", "--auth-root-socket-user=root",
			"--skip-name-resolve",
		},
	}
}

func kindMySQL() mysqlKind {
	return mysqlKind{
		name:         "mysql",
		servers:      []string{"mysqld"},
		clients:      []string{"mysql"},
		noSync:       "--innodb-flush-method=nosync",
		setupOptions: []string{"--initialize-insecure", "--secure-file-priv=NULL"},
		// Debian's default is a directory that only its own service can use. The X plugin would open a second port.
		// No test reads what the instruments of statements measure, which takes a tenth of an installation. Those of threads stay: they show who waits.
		serverOptions: []string{
			"--secure-file-priv=NULL", "--mysqlx=OFF",
			"--performance-schema-instrument=statement/%=OFF", "--performance-schema-instrument=stage/%=OFF",
			"--performance-schema-instrument=transaction=OFF", "--performance-schema-instrument=memory/%=OFF",
			"--performance-schema-instrument=wait/%=OFF",
		},
	}
}

func newMariaDB(h host) product {
	p := newMySQLProduct(h, kindMariaDB())
	p.title = "MariaDB"
	p.versions, p.user = mariadbVersions(), mysqldAccount
	p.service = service{dsn: "mysql://root:applock@127.0.0.1:33068/applock", port: 33068}
	p.fetch = func(ctx context.Context, p product) (installation, error) {
		return p.installPackage(ctx, "mariadb-server-core", apt.installMariaDB)
	}
	return p
}

func newMySQL(h host) product {
	p := newMySQLProduct(h, kindMySQL())
	p.title = "MySQL"
	p.versions, p.user = mysqlVersions(), mysqldAccount
	p.service = service{dsn: "mysql://root:applock@127.0.0.1:33069/applock", port: 33069}
	p.unpacking = unpacking{
		name: "mysql-debian-unstable",
		// No other suite has it.
		suite:    "unstable",
		packages: []string{"mysql-server-core", "mysql-client-core"},
		programs: []string{"usr/sbin/mysqld", "usr/bin/mysql", "usr/bin/mysqldump"},
		user:     mysqldAccount,
	}
	p.fetch = p.unpacking.fetch
	return p
}

func newMySQLProduct(h host, k mysqlKind) product {
	return product{
		host:           h,
		name:           k.name,
		clients:        k.clients,
		clientVariable: "CLIENT",
		isClient:       k.isOwn,
		find:           k.find,
		probe:          k.probe,
		startPrivate:   k.startMysqld,
	}
}

// find finds the server, and the programs that belong to it.
func (k mysqlKind) find(ctx context.Context, h host) (installation, error) {
	name := variable(k.name, "BIN")
	if dir := h.getenv(name); dir != "" {
		server := h.firstFile([]string{dir}, k.servers)
		if server == "" || !k.isOwn(ctx, h, server) {
			return installation{}, fmt.Errorf("%s names %s, which has no server of this product: correct or unset it", name, dir)
		}
		programs, err := k.programsOf(h, server)
		if err != nil {
			return installation{}, fmt.Errorf("%s names %s: %w", name, dir, err)
		}
		return programs, nil
	}
	for _, server := range k.candidates(h) {
		if k.isOwn(ctx, h, server) {
			return k.programsOf(h, server)
		}
	}
	return installation{}, absent("no %s of this product in PATH or %s (%s can name the directory)",
		strings.Join(k.servers, " or "), strings.Join(serverDirs(), ", "), name)
}

// candidates are the files with a server's name. An ordinary user's PATH often lacks the directories for servers.
func (k mysqlKind) candidates(h host) []string {
	var found []string
	for _, name := range k.servers {
		if path, err := h.lookPath(name); err == nil {
			found = append(found, path)
		}
		if path := h.firstFile(serverDirs(), []string{name}); path != "" && !slices.Contains(found, path) {
			found = append(found, path)
		}
	}
	return found
}

// serverDirs are the directories in which distributions put servers.
func serverDirs() []string { return []string{"/usr/sbin", "/usr/libexec", "/usr/local/sbin"} }

// isOwn reports whether a program is of this product: a mysqld or a mysql may be of either.
func (k mysqlKind) isOwn(ctx context.Context, h host, path string) bool {
	version, err := h.output(ctx, path, "--version")
	return err == nil && isMariaDB(version) == k.isMariaDB
}

// isMariaDB recognises MariaDB's version, "10.11.19-MariaDB".
func isMariaDB(version string) bool { return strings.Contains(version, "MariaDB") }

// programsOf finds the other programs of a server: in its directory, or in the directories next to that.
func (k mysqlKind) programsOf(h host, server string) (installation, error) {
	server = h.resolve(server)
	dir := filepath.Dir(server)
	base := filepath.Dir(dir)
	dirs := []string{dir, filepath.Join(base, "bin"), filepath.Join(base, "scripts")}
	programs := installation{
		origin: dir,
		server: server,
		setup:  h.firstFile(dirs, k.setups),
		client: h.firstFile(dirs, k.clients),
	}
	if len(k.setups) > 0 && programs.setup == "" {
		return installation{}, absent("%s has no %s with it", server, strings.Join(k.setups, " or "))
	}
	return programs, nil
}

// probe connects and returns the server's version. Its errors name host and user but neither password nor DSN.
func (k mysqlKind) probe(ctx context.Context, dsn string) (string, error) {
	config, err := mysqldriver.ParseDSN(dsn)
	if err != nil {
		return "", err
	}
	version, err := queryVersion(ctx, config)
	if err != nil {
		return "", err
	}
	if isMariaDB(version) != k.isMariaDB {
		return "", errors.New("it is a server of another product: its version is " + version)
	}
	return shortVersion(version), nil
}

func queryVersion(ctx context.Context, config *mysql.Config) (string, error) {
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return "", err
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	var version string
	err = db.QueryRowContext(ctx, "SELECT version()").Scan(&version)
	return version, err
}

// shortVersion removes the suffix of a distribution: "10.11.19-MariaDB-0+deb12u1", "9.7.4-2".
func shortVersion(version string) string {
	short, _, _ := strings.Cut(version, "-")
	return short
}
