//go:build linux

package clusters_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib" // the database/sql driver "pgx"

	applockpostgres "github.com/applock/applock/applock/postgres"
	"github.com/applock/applock/internal/testing/testdb"
	"github.com/applock/applock/internal/testing/wire"
)

const toolsVariable = "APPLOCK_TEST_CLUSTERS_DIR"

// pgPlace is where servers of a test of PostgreSQL are, and who they run as.
type pgPlace struct {
	folder, bin, tools string
	account            *syscall.Credential
}

// newPGPlace makes the folder. It goes when the test ends, and so do all processes that were started there, also if the test is killed.
func newPGPlace(t *testing.T) pgPlace {
	t.Helper()
	postgres := testdb.PostgresTool(t, "postgres")
	tools := os.Getenv(toolsVariable)
	if tools == "" {
		t.Skipf("%s names no folder with the programs: make test-clusters does", toolsVariable)
	}
	p := pgPlace{bin: filepath.Dir(postgres), tools: tools}
	var err error
	if p.folder, err = os.MkdirTemp("", "pg-"); err != nil {
		t.Fatal(err)
	}
	if os.Getuid() == 0 {
		p.account = pgAccount(t)
		if err := os.Chown(p.folder, int(p.account.Uid), int(p.account.Gid)); err != nil {
			t.Fatal(err)
		}
	}
	sweep(t, p.folder)
	return p
}

// pgAccount is who the servers run as where the test is root's, which PostgreSQL refuses.
func pgAccount(t *testing.T) *syscall.Credential {
	t.Helper()
	account, err := user.Lookup("postgres")
	if err != nil {
		t.Fatal(err)
	}
	uid, err := strconv.ParseUint(account.Uid, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	gid, err := strconv.ParseUint(account.Gid, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}

// sweeper kills what has the folder for its directory, as soon as its input ends. Patroni gives its server a session
// of its own, so that neither a process group nor the death of a parent reaches it. Servers get a second to remove what they have in shared memory.
const sweeper = `cat > /dev/null
for signal in QUIT KILL KILL KILL; do
	for process in /proc/[0-9]*; do
		case $(readlink "$process/cwd") in "$0"|"$0"/*) kill -$signal "${process#/proc/}" ;; esac
	done 2> /dev/null
	[ $signal = KILL ] || sleep 1
done
rm -rf "$0"`

// sweep has a folder and the processes there go with the test, also if that is killed.
func sweep(t *testing.T, folder string) {
	t.Helper()
	command := exec.Command("sh", "-c", sweeper, folder)
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Dir = "/"
	input, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = input.Close()
		_ = command.Wait() // what has gone meanwhile is no error
	})
}

// start starts a program in a folder of its own below the place, where its output is.
func (p pgPlace) start(t *testing.T, name, program string, env []string, args ...string) *exec.Cmd {
	t.Helper()
	folder := filepath.Join(p.folder, name)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	p.own(t, folder)
	log, err := os.OpenFile(filepath.Join(folder, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	command := exec.Command(program, args...)
	command.Dir, command.Stdout, command.Stderr = folder, log, log
	command.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + folder, "LC_ALL=C"}, env...)
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL, Credential: p.account}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	return command
}

func (p pgPlace) own(t *testing.T, path string) {
	t.Helper()
	if p.account == nil {
		return
	}
	if err := os.Chown(path, int(p.account.Uid), int(p.account.Gid)); err != nil {
		t.Fatal(err)
	}
}

// patroniNode is a server with the Patroni that minds it. The wires lead to etcd, and from the other nodes to the server and to Patroni.
// Clients have no wire.
type patroniNode struct {
	name, port, rest    string
	etcd, peers, minder *wire.Wire
	off                 time.Duration // by how much its clocks are before the machine's, from its next start on
	command             *exec.Cmd
}

// patroni is a cluster.
type patroni struct {
	pgPlace

	nodes []*patroniNode
}

// newPatroni starts etcd and three nodes, and installs.
func newPatroni(t *testing.T, synchronous bool) *patroni {
	t.Helper()
	c := &patroni{pgPlace: newPGPlace(t)}
	client, peer := wire.FreePort(t), wire.FreePort(t)
	c.start(t, "etcd", filepath.Join(c.tools, "debian/usr/bin/etcd"), nil,
		"--data-dir=data", "--listen-client-urls=http://127.0.0.1:"+client, "--advertise-client-urls=http://127.0.0.1:"+client,
		"--listen-peer-urls=http://127.0.0.1:"+peer, "--initial-advertise-peer-urls=http://127.0.0.1:"+peer,
		"--initial-cluster=default=http://127.0.0.1:"+peer, "--unsafe-no-fsync")
	c.await(t, "etcd answers", func() bool {
		return c.ask(t, http.MethodGet, "http://127.0.0.1:"+client+"/health", "", nil) == nil
	})
	for i := range 3 {
		n := &patroniNode{name: fmt.Sprintf("n%d", i+1), port: wire.FreePort(t), rest: wire.FreePort(t)}
		n.etcd = wire.New(t, "127.0.0.1:"+client)
		n.peers, n.minder = wire.New(t, "127.0.0.1:"+n.port), wire.New(t, "127.0.0.1:"+n.rest)
		c.nodes = append(c.nodes, n)
		c.configure(t, n, synchronous)
		c.begin(t, n)
		if i == 0 {
			c.await(t, "the first node is the primary", func() bool { return c.leader(t) == n })
		}
	}
	c.complete(t, synchronous)
	pgSeat(t, c.dsn()).install(t)
	return c
}

// configure writes the file of a node. Its times are the shortest that Patroni allows.
func (c *patroni) configure(t *testing.T, n *patroniNode, synchronous bool) {
	t.Helper()
	folder := filepath.Join(c.folder, n.name)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	access := []string{"local all all trust", "host all all 127.0.0.1/32 trust", "host replication all 127.0.0.1/32 trust"}
	account := func(name string) map[string]string { return map[string]string{"username": name, "password": "applock"} }
	config := map[string]any{
		"scope": "applock", "name": n.name,
		"restapi": map[string]any{"listen": "127.0.0.1:" + n.rest, "connect_address": n.minder.Address},
		"etcd3":   map[string]any{"hosts": n.etcd.Address, "use_proxies": true},
		"bootstrap": map[string]any{
			"dcs": map[string]any{
				"ttl": 20, "loop_wait": 1, "retry_timeout": 3, "maximum_lag_on_failover": 64 << 20,
				"synchronous_mode": synchronous, "synchronous_mode_strict": synchronous,
				"postgresql": map[string]any{
					"use_pg_rewind": true, "use_slots": true,
					"parameters": map[string]any{
						"wal_log_hints": "on", "max_connections": 100, "fsync": "off", "wal_keep_size": "256MB",
						"shared_buffers": "16MB", "max_wal_size": "256MB",
					},
				},
			},
			"initdb": []any{map[string]string{"encoding": "UTF8"}, map[string]string{"locale": "C"}, "no-sync"},
		},
		"postgresql": map[string]any{
			"listen": "127.0.0.1:" + n.port, "connect_address": n.peers.Address, "data_dir": filepath.Join(folder, "data"),
			"bin_dir": c.bin, "bin_name": map[string]string{"postgres": c.serverOf(n)}, "pgpass": filepath.Join(folder, "pgpass"), "pg_hba": access,
			"parameters":     map[string]any{"unix_socket_directories": folder},
			"authentication": map[string]any{"superuser": account("applock"), "replication": account("replicator")},
		},
	}
	text, err := json.MarshalIndent(config, "", " ") // which is YAML as well
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, "patroni.yml")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	c.own(t, folder)
	c.own(t, path)
}

func (c *patroni) begin(t *testing.T, n *patroniNode) {
	t.Helper()
	c.writeServer(t, n)
	n.command = c.start(t, n.name, filepath.Join(c.tools, "python/bin/patroni"), nil, filepath.Join(c.folder, n.name, "patroni.yml"))
}

// serverOf is the program that Patroni takes for PostgreSQL's server.
func (c *patroni) serverOf(n *patroniNode) string { return filepath.Join(c.folder, n.name, "postgres") }

// writeServer writes the program that starts a node's server with the node's clock. Patroni has the machine's: under libfaketime
// Python's sleep fails, even if FAKETIME_ONLY_CMDS leaves Python out. The server's clock steps a second after its start, because Patroni
// compares that start in postmaster.pid and /proc, and lets them differ by 3 s.
func (c *patroni) writeServer(t *testing.T, n *patroniNode) {
	t.Helper()
	var clock string
	if n.off != 0 {
		clock = "env FAKETIME_START_AFTER_SECONDS=1 " + strings.Join(faketime(n.off), " ") + " "
	}
	text := "#!/bin/sh\nexec " + clock + filepath.Join(c.bin, "postgres") + ` "$@"` + "\n"
	if err := os.WriteFile(c.serverOf(n), []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	c.own(t, c.serverOf(n))
}

// await looks until something is so.
func (p pgPlace) await(t *testing.T, what string, so func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hangLimit)
	defer cancel()
	for !so() {
		select {
		case <-ctx.Done():
			p.tell(t)
			t.Fatalf("it never came that %s", what)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// tell logs the ends of what the nodes have written.
func (p pgPlace) tell(t *testing.T) {
	t.Helper()
	paths, _ := filepath.Glob(filepath.Join(p.folder, "*", "log"))
	for _, path := range paths {
		text, _ := os.ReadFile(path)
		t.Logf("%s:\n%s", path, text[max(0, len(text)-3000):])
	}
}

// ask asks a service by HTTP.
func (c *patroni) ask(t *testing.T, method, address, body string, answer any) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(body))
	if err != nil {
		return err
	}
	request.Close = true
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", response.Status, text)
	}
	if answer == nil {
		return nil
	}
	return json.Unmarshal(text, answer)
}

// patroniMember is a node as the cluster sees it.
type patroniMember struct{ Name, Role, State string }

// members is what one node knows.
func (c *patroni) members(t *testing.T, n *patroniNode) []patroniMember {
	t.Helper()
	var cluster struct{ Members []patroniMember }
	if c.ask(t, http.MethodGet, "http://127.0.0.1:"+n.rest+"/cluster", "", &cluster) != nil {
		return nil
	}
	return cluster.Members
}

// leader is the node that says that it is the primary and takes changes, nil for none. Stopped ones are not asked.
func (c *patroni) leader(t *testing.T, without ...*patroniNode) *patroniNode {
	t.Helper()
	for _, n := range c.nodes {
		if slices.Contains(without, n) || c.ask(t, http.MethodGet, "http://127.0.0.1:"+n.rest+"/primary", "", nil) != nil {
			continue
		}
		conn, err := pgx.Connect(t.Context(), n.dsn()+"&connect_timeout=2")
		if err != nil {
			continue
		}
		var recovers bool
		err = conn.QueryRow(t.Context(), "SELECT pg_is_in_recovery()").Scan(&recovers)
		_ = conn.Close(t.Context())
		if err == nil && !recovers {
			return n
		}
	}
	return nil
}

// complete returns when all nodes take part.
func (c *patroni) complete(t *testing.T, synchronous bool) {
	t.Helper()
	c.await(t, "all nodes take part", func() bool {
		leader := c.leader(t)
		if leader == nil {
			return false
		}
		well, standbys := 0, 0
		for _, m := range c.members(t, leader) {
			if m.State == "running" || m.State == "streaming" {
				well++
			}
			if m.Role == "sync_standby" {
				standbys++
			}
		}
		return well == len(c.nodes) && (standbys > 0) == synchronous
	})
}

// dsn is that of the node alone.
func (n *patroniNode) dsn() string {
	return "postgres://applock@127.0.0.1:" + n.port + "/postgres?sslmode=disable"
}

// dsn names all nodes, of which that is meant that takes changes.
func (c *patroni) dsn() string {
	var hosts []string
	for _, n := range c.nodes {
		hosts = append(hosts, "127.0.0.1:"+n.port)
	}
	return "postgres://applock@" + strings.Join(hosts, ",") + "/postgres?sslmode=disable&target_session_attrs=read-write&connect_timeout=2"
}

// pool is one of a test's client.
func pgPool(t *testing.T, dsn string) *pgxpool.Pool {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

// pgSeat is one on the servers of a DSN.
func pgSeat(t *testing.T, dsn string) seat {
	t.Helper()
	pool, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pool.Close() })
	client, err := applockpostgres.NewSQL(pool, applockpostgres.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return seat{pool: pool, client: client, schema: "applock."}
}

// processes are those of a node: Patroni, its server, and what that has started.
func (c *patroni) processes(n *patroniNode) []int {
	folder := filepath.Join(c.folder, n.name)
	var found []int
	paths, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, path := range paths {
		at, err := os.Readlink(path)
		if err != nil || at != folder && !strings.HasPrefix(at, folder+"/") {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil {
			found = append(found, pid)
		}
	}
	return found
}

func (c *patroni) signal(n *patroniNode, signal syscall.Signal) {
	for _, pid := range c.processes(n) {
		_ = syscall.Kill(pid, signal)
	}
}

// kill ends a node as a crash of its machine does.
func (c *patroni) kill(n *patroniNode) {
	c.signal(n, syscall.SIGSTOP) // so that it starts no more
	c.signal(n, syscall.SIGKILL)
	_ = n.command.Wait() // it was killed
}

// cut parts a node from all but its clients, and join ends that.
func (n *patroniNode) cut() {
	for _, w := range []*wire.Wire{n.etcd, n.peers, n.minder} {
		w.Silence()
	}
}

func (n *patroniNode) join() {
	for _, w := range []*wire.Wire{n.etcd, n.peers, n.minder} {
		w.Reset()
		w.Speak()
	}
}

// number is an answer of one number from a node.
func (n *patroniNode) number(t *testing.T, query string) int64 {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), n.dsn())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	var number int64
	if err := conn.QueryRow(t.Context(), query).Scan(&number); err != nil {
		t.Fatal(err)
	}
	return number
}
