//go:build linux

package clusters_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/applock/applock/internal/testing/testclient"
	"github.com/applock/applock/internal/testing/testdb"
	"github.com/applock/applock/internal/testing/testfile"
	"github.com/applock/applock/internal/testing/wire"
)

const mysqlDatabase = "clustered"

// mysqlProgram is how the launcher has started a server: the program, with a loader before it where that needs one, the account
// that it runs as, and its environment.
type mysqlProgram struct {
	product  string
	words    []string // up to --no-defaults
	base     string   // option --basedir
	all      []string // the options of that server
	beside   string   // where it has its folder
	account  *syscall.SysProcAttr
	env      []string
	password string
	fresh    string // the data of a server that was never started
}

// mysqlProgramOf reads it from the running server of a product: galera, mariadb or mysql.
func mysqlProgramOf(t *testing.T, product string) mysqlProgram {
	t.Helper()
	testdb.Require(t, product)
	variable := "APPLOCK_TEST_" + strings.ToUpper(product) + "_PID"
	pid := os.Getenv(variable)
	if pid == "" {
		t.Fatalf("%s names no server that the launcher has started, whose program is to be had once more", variable)
	}
	process := filepath.Join("/proc", pid)
	info, err := os.Stat(process)
	if err != nil {
		t.Fatal(err)
	}
	owner := info.Sys().(*syscall.Stat_t)
	data, err := os.Readlink(filepath.Join(process, "cwd"))
	if err != nil {
		t.Fatal(err)
	}
	p := mysqlProgram{product: product, password: rand.Text(), beside: filepath.Dir(filepath.Dir(data))}
	if product == "galera" {
		// MariaDB takes what is in /dev/shm, where the folder for temporary files may be, for memory that survives, and has no log
		// buffer there that a crash could lose.
		p.beside = "/var/tmp"
	}
	p.account = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	if os.Getuid() == 0 {
		p.account.Credential = &syscall.Credential{Uid: owner.Uid, Gid: owner.Gid}
	}
	words, env := testfile.Started(t, process)
	first := slices.Index(words, "--no-defaults")
	p.words, p.all = words[:first+1], words[first+1:]
	p.base = p.option("--basedir=")
	p.env = env
	if p.fresh, err = os.MkdirTemp(p.beside, "applock-cluster-"); err != nil {
		t.Fatal(err)
	}
	sweep(t, p.fresh)
	if c := p.account.Credential; c != nil {
		if err := os.Chown(p.fresh, int(c.Uid), int(c.Gid)); err != nil {
			t.Fatal(err)
		}
	}
	p.fresh = filepath.Join(p.fresh, "data")
	return p
}

// option returns the value of an option of the running server.
func (p mysqlProgram) option(name string) string {
	for _, option := range p.all {
		if value, found := strings.CutPrefix(option, name); found {
			return value
		}
	}
	return ""
}

// mysqlNode is a server of the test's own.
type mysqlNode struct {
	program   mysqlProgram
	number    int // from 1
	folder    string
	port      string // for clients
	groupPort string // for other nodes
	options   []string
	off       time.Duration // by how much its clock is before the machine's, from its next start on
	command   *exec.Cmd
	admin     *sql.DB
}

// newMySQLNode makes the data of a node, which is not started yet. It ends with the test.
func newMySQLNode(t *testing.T, p mysqlProgram, number int) *mysqlNode {
	t.Helper()
	folder, err := os.MkdirTemp(p.beside, "applock-cluster-")
	if err != nil {
		t.Fatal(err)
	}
	n := &mysqlNode{program: p, number: number, folder: folder, port: wire.FreePort(t), groupPort: wire.FreePort(t)}
	sweep(t, folder)
	t.Cleanup(func() {
		n.kill()
		if t.Failed() {
			t.Logf("node %d: %s", number, n.logTail())
		}
	})
	n.own(t, folder)
	p.initialise(t, n)
	// Each node has the account for itself. Where there is a binary log it must not be in that: it would be a change that
	// the others lack.
	statements := ""
	if p.product == "mysql" {
		statements = "SET SESSION sql_log_bin = 0;\n"
	}
	statements += "CREATE USER IF NOT EXISTS 'root'@'%' IDENTIFIED BY '" + p.password + "';\n" +
		"GRANT ALL PRIVILEGES ON *.* TO 'root'@'%' WITH GRANT OPTION;\n"
	if err := os.WriteFile(n.first(), []byte(statements), 0o600); err != nil {
		t.Fatal(err)
	}
	n.own(t, n.first())
	n.options = []string{
		"--basedir=" + p.base, "--datadir=" + n.data(), "--tmpdir=" + folder, "--socket=" + n.socket(),
		"--pid-file=" + filepath.Join(folder, "pid"), "--init-file=" + n.first(), "--bind-address=127.0.0.1", "--port=" + n.port,
		"--skip-name-resolve", "--max-connections=200", "--innodb-buffer-pool-size=64M", "--character-set-server=utf8mb4",
		"--innodb-flush-log-at-trx-commit=2",
	}
	config := mysql.NewConfig()
	config.User, config.Passwd, config.Net, config.Addr = "root", p.password, "tcp", n.address()
	config.Timeout, config.ReadTimeout, config.Logger = 5*time.Second, hangLimit, &mysql.NopLogger{}
	n.admin = openMySQL(t, config)
	n.admin.SetMaxIdleConns(0)
	return n
}

// initialise makes the data of a node. It is a copy of what the first one had before its start: to make it takes long.
func (p mysqlProgram) initialise(t *testing.T, n *mysqlNode) {
	t.Helper()
	setup := append(slices.Clone(p.words), "--basedir="+p.base, "--datadir="+n.data(), "--initialize-insecure", "--secure-file-priv=NULL")
	switch {
	case n.number > 1:
		setup = []string{"cp", "-R", p.fresh, n.data()}
	case p.product != "mysql":
		setup = []string{
			filepath.Join(p.base, "bin", "mariadb-install-db"), "--no-defaults", "--basedir=" + p.base, "--datadir=" + n.data(),
			"--skip-test-db", "--skip-name-resolve", "--auth-root-authentication-method=socket", "--auth-root-socket-user=root",
		}
	}
	n.do(t, setup...)
	if n.number == 1 {
		_ = os.Remove(filepath.Join(n.data(), "auto.cnf")) // who it is
		n.do(t, "cp", "-R", n.data(), p.fresh)
	}
}

// do runs a program to its end.
func (n *mysqlNode) do(t *testing.T, words ...string) {
	t.Helper()
	if output, err := n.run(words).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", words[0], err, output)
	}
}

func (n *mysqlNode) data() string { return filepath.Join(n.folder, "data") }

func (n *mysqlNode) socket() string { return filepath.Join(n.folder, "socket") }

func (n *mysqlNode) first() string { return filepath.Join(n.folder, "first.sql") }

func (n *mysqlNode) address() string { return net.JoinHostPort("127.0.0.1", n.port) }

func (n *mysqlNode) own(t *testing.T, path string) {
	t.Helper()
	if c := n.program.account.Credential; c != nil {
		if err := os.Chown(path, int(c.Uid), int(c.Gid)); err != nil {
			t.Fatal(err)
		}
	}
}

func (n *mysqlNode) run(words []string) *exec.Cmd {
	command := exec.Command(words[0], words[1:]...)
	command.Dir, command.SysProcAttr = n.folder, n.program.account
	command.Env = slices.Concat(n.program.env, faketime(n.off), []string{"HOME=" + n.folder, "TMPDIR=" + n.folder})
	return command
}

// start starts the server, with options for this time alone after its own. It returns when it answers.
func (n *mysqlNode) start(t *testing.T, options ...string) {
	t.Helper()
	log, err := os.OpenFile(filepath.Join(n.folder, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	n.command = n.run(slices.Concat(n.program.words, n.options, options))
	n.command.Stdout, n.command.Stderr = log, log
	if err := n.command.Start(); err != nil {
		t.Fatal(err)
	}
	n.await(t, "the server answers", func(ctx context.Context) bool { return n.admin.PingContext(ctx) == nil })
}

// await waits until something is so.
func (n *mysqlNode) await(t *testing.T, what string, so func(ctx context.Context) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hangLimit)
	defer cancel()
	for !so(ctx) {
		if n.ended() {
			t.Fatalf("node %d has ended\n%s", n.number, n.logTail())
		}
		select {
		case <-ctx.Done():
			t.Fatalf("node %d: it is never so that %s\n%s", n.number, what, n.logTail())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (n *mysqlNode) logTail() string {
	log, _ := os.ReadFile(filepath.Join(n.folder, "log"))
	return strings.ReplaceAll(string(log[max(0, len(log)-4000):]), n.program.password, "***")
}

// ended reports whether the process is a zombie.
func (n *mysqlNode) ended() bool {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(n.command.Process.Pid), "stat"))
	return err != nil || bytes.Contains(stat, []byte(") Z "))
}

// kill ends the server as a crash does.
func (n *mysqlNode) kill() {
	if n.command == nil || n.command.Process == nil {
		return
	}
	_ = n.command.Process.Kill()
	_ = n.command.Wait() // it was killed
	n.command = nil
	// The number of its process, which is in there, may be another's when it starts again: then the server would not.
	_ = os.Remove(n.socket() + ".lock") // there may be none
}

func (n *mysqlNode) signal(signal syscall.Signal) { _ = n.command.Process.Signal(signal) }

func (n *mysqlNode) exec(t *testing.T, statement string) {
	t.Helper()
	if err := n.try(t.Context(), statement); err != nil {
		t.Fatalf("node %d: %s: %v\n%s", n.number, statement, err, n.logTail())
	}
}

func (n *mysqlNode) try(ctx context.Context, statement string) error {
	_, err := n.admin.ExecContext(ctx, statement)
	return err
}

// text returns the last column of the first row of an answer, "" if there is none.
func (n *mysqlNode) text(ctx context.Context, query string) string {
	rows, err := n.admin.QueryContext(ctx, query)
	if err != nil {
		return ""
	}
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	if err != nil || !rows.Next() {
		return ""
	}
	values := make([]sql.NullString, len(columns))
	into := make([]any, len(columns))
	for i := range values {
		into[i] = &values[i]
	}
	if errors.Join(rows.Scan(into...), rows.Err()) != nil {
		return ""
	}
	return values[len(values)-1].String
}

// seat opens a pool with settings for its sessions.
func (n *mysqlNode) seat(t *testing.T, settings map[string]string) seat {
	t.Helper()
	config := mysql.NewConfig()
	config.User, config.Passwd, config.Net, config.Addr, config.DBName = "root", n.program.password, "tcp", n.address(), mysqlDatabase
	config.ParseTime, config.Loc, config.InterpolateParams = true, time.UTC, true
	config.Timeout, config.Logger = 2*time.Second, &mysql.NopLogger{}
	config.Params = map[string]string{"time_zone": "'+00:00'"}
	maps.Copy(config.Params, settings)
	pool := openMySQL(t, config)
	return seat{node: n.number, pool: pool, client: testclient.MySQL(t, pool)}
}

// seatsOn are those of the clients of a load. With spread they begin at different nodes.
func seatsOn(t *testing.T, nodes []*mysqlNode, settings map[string]string, spread bool) (all [][]seat) {
	t.Helper()
	for number := range loadClients {
		var row []seat
		for i := range nodes {
			if spread {
				i = (i + number) % len(nodes)
			}
			row = append(row, nodes[i].seat(t, settings))
		}
		all = append(all, row)
	}
	return all
}

func openMySQL(t *testing.T, config *mysql.Config) *sql.DB {
	t.Helper()
	connector, err := mysql.NewConnector(config)
	if err != nil {
		t.Fatal(err)
	}
	pool := sql.OpenDB(connector)
	t.Cleanup(func() { _ = pool.Close() })
	return pool
}

// install makes the database, the locks and what they guard.
func (n *mysqlNode) install(t *testing.T) {
	t.Helper()
	n.exec(t, "CREATE DATABASE "+mysqlDatabase)
	n.seat(t, nil).install(t)
}

func (n *mysqlNode) number64(t *testing.T, query string) int64 {
	t.Helper()
	var number int64
	if err := n.admin.QueryRowContext(t.Context(), query).Scan(&number); err != nil {
		t.Fatalf("node %d: %s: %v", n.number, query, err)
	}
	return number
}

func mysqlVersion(t *testing.T, n *mysqlNode) string {
	t.Helper()
	return fmt.Sprintf("%s %s", n.program.product, n.text(t.Context(), "SELECT version()"))
}
