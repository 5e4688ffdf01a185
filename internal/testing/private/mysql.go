//go:build unix

package private

import (
	"context"
	"database/sql"
	"errors"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/go-sql-driver/mysql"

	mysqldriver "github.com/applock/applock/internal/db/mysql"
	"github.com/applock/applock/internal/testing/private/mysqldsn"
)

const (
	mysqlUser     = "root"
	mysqlDatabase = "applock"
	mysqlAccount  = "mysql"

	// firstStatements is the name of the file with the statements that the server executes before it listens.
	firstStatements = "first.sql"
)

// MariaDB is a MariaDB with the superuser root.
func MariaDB(p Programs) Kind {
	// Its option without syncing also covers what InnoDB does not store: the log of CREATE and DROP and the table of the routines, which
	// otherwise take most of its time.
	k := mysqlKind("mariadb", p, "--debug-no-sync")
	// The first statements drop the socket's account, so the setup must not create another one.
	k.Initialise = initialiseMySQL(p, p.Setup, "--skip-test-db", "--auth-root-authentication-method=socket", "--auth-root-socket-user=root",
		"--skip-name-resolve")
	k.Probe = ProbeMariaDB
	return k
}

// MySQL is a MySQL with the superuser root.
func MySQL(p Programs) Kind {
	// Debian's default for files is a directory that only its own service can use. The X plugin would open a second port.
	// No test reads what the instruments of statements measure, which takes a tenth of an installation. Those of threads stay: they show who waits.
	k := mysqlKind("mysql", p, "--innodb-flush-method=nosync", "--secure-file-priv=NULL", "--mysqlx=OFF",
		"--performance-schema-instrument=statement/%=OFF", "--performance-schema-instrument=stage/%=OFF",
		"--performance-schema-instrument=transaction=OFF", "--performance-schema-instrument=memory/%=OFF",
		"--performance-schema-instrument=wait/%=OFF")
	k.Initialise = initialiseMySQL(p, p.Server, "--initialize-insecure", "--secure-file-priv=NULL")
	k.Probe = ProbeMySQL
	return k
}

// mysqlKind is what both products have. noSync is the option of a server that need not be durable.
func mysqlKind(product string, p Programs, noSync string, options ...string) Kind {
	return Kind{
		Product:     product,
		User:        mysqlAccount,
		Command:     func(s *Server) (*exec.Cmd, error) { return mysqlCommand(s, p, noSync, options), nil },
		DSN:         mysqlDSN,
		Stop:        []syscall.Signal{syscall.SIGTERM},
		ParentDeath: syscall.SIGKILL, // the server is one process, and its data is not read again
	}
}

// initialiseMySQL creates the data, and the statements that the server executes before it listens. Its only account until then has no
// password.
func initialiseMySQL(p Programs, setup string, options ...string) func(ctx context.Context, s *Server) error {
	return func(ctx context.Context, s *Server) error {
		// The file stays: the server reads it whenever it starts. It requires one line for each statement.
		_, err := s.write(firstStatements, "CREATE USER IF NOT EXISTS 'root'@'%' IDENTIFIED BY '"+s.Password+"';\n"+
			"GRANT ALL PRIVILEGES ON *.* TO 'root'@'%' WITH GRANT OPTION;\n"+
			"CREATE DATABASE IF NOT EXISTS "+mysqlDatabase+";\n"+
			"DROP USER IF EXISTS 'root'@'localhost';\n")
		if err != nil {
			return err
		}
		return s.setup(ctx, setup, append([]string{"--no-defaults", "--basedir=" + baseDir(p), "--datadir=" + s.data()}, options...)...)
	}
}

// mysqlCommand sets nothing that would make the server safer than in production. The server keeps no binary log, which no test reads.
func mysqlCommand(s *Server, p Programs, noSync string, options []string) *exec.Cmd {
	all := []string{
		// This option must come first.
		"--no-defaults",
		"--basedir=" + baseDir(p),
		"--datadir=" + s.data(),
		"--tmpdir=" + s.Dir,
		"--socket=" + filepath.Join(s.Dir, "socket"),
		"--pid-file=" + filepath.Join(s.Dir, "pid"),
		"--init-file=" + filepath.Join(s.Dir, firstStatements),
		"--bind-address=" + loopback,
		"--port=" + strconv.Itoa(s.Port),
		"--skip-name-resolve",
		"--skip-log-bin",
		"--max-connections=600",
		"--innodb-buffer-pool-size=256M",
		// The collation stays the product's default, because the schema must not rely on the server's.
		"--character-set-server=utf8mb4",
	}
	if !s.Durable {
		all = append(all, "--innodb-flush-log-at-trx-commit=2", "--innodb-doublewrite=OFF", noSync)
	}
	return exec.Command(p.Server, append(all, options...)...)
}

// baseDir is the directory that contains the program in bin or sbin and the messages in share. It is set explicitly, because the built-in
// one is wrong if the server was unpacked elsewhere.
func baseDir(p Programs) string { return filepath.Dir(filepath.Dir(p.Server)) }

func mysqlDSN(s *Server) string {
	config := mysql.NewConfig()
	config.User, config.Passwd = mysqlUser, s.Password
	config.Net, config.Addr, config.DBName = "tcp", s.address(), mysqlDatabase
	// Format fails only for servers that are not reached by TCP.
	dsn, _ := mysqldsn.Format(config)
	return dsn
}

// ProbeMariaDB returns the version of a MariaDB. Its errors name host and user but neither password nor DSN.
func ProbeMariaDB(ctx context.Context, dsn string) (string, error) { return probeMySQL(ctx, dsn, true) }

// ProbeMySQL is ProbeMariaDB for MySQL.
func ProbeMySQL(ctx context.Context, dsn string) (string, error) {
	return probeMySQL(ctx, dsn, false)
}

func probeMySQL(ctx context.Context, dsn string, isMariaDB bool) (string, error) {
	version, err := askMySQL(ctx, dsn, "SELECT 'version', version()")
	if err != nil {
		return "", err
	}
	if strings.Contains(version, "MariaDB") != isMariaDB {
		return "", errors.New("it is a server of another product: its version is " + version)
	}
	version, _, _ = strings.Cut(version, "-") // "10.11.19-MariaDB-0+deb12u1", "9.7.4-2"
	return version, nil
}

// askMySQL returns the second column of an answer, "" if that has no row.
func askMySQL(ctx context.Context, dsn, query string) (string, error) {
	config, err := mysqldriver.ParseDSN(dsn)
	if err != nil {
		return "", err
	}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return "", err
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	var name, value string
	if err = db.QueryRowContext(ctx, query).Scan(&name, &value); errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return value, err
}
