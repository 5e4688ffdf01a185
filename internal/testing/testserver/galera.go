//go:build unix

package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	mysqldriver "github.com/applock/applock/internal/db/mysql"
	"github.com/go-sql-driver/mysql"
)

// The variables of Galera that the launcher reads. The tests read the ones that end in DSN and PID, also for the peer.
const (
	galeraDSN = "APPLOCK_TEST_GALERA_DSN"
	galeraBin = "APPLOCK_TEST_GALERA_BIN"
)

const (
	// galeraPeer is the product's name in the variables of the second node.
	galeraPeer = "galera_peer"

	// galeraLibrary makes a MariaDB a node of a cluster.
	galeraLibrary = "libgalera_smm.so"

	// galeraState is the file with the position of a node's data.
	galeraState = "grastate.dat"
)

// galeraDirs are where distributions put the library.
func galeraDirs() []string {
	return []string{"/usr/lib/galera", "/usr/lib64/galera-4", "/usr/lib/galera-4", "/usr/lib64/galera"}
}

func kindGalera() mysqlKind {
	k := kindMariaDB()
	k.name = "galera"
	return k
}

func newGalera(h host) product {
	k := kindGalera()
	p := newMySQLProduct(h, k)
	p.title = "Galera"
	p.find = k.findGalera
	p.fetch = func(ctx context.Context, p product) (installation, error) {
		return p.installPackage(ctx, "galera-4", apt.installGalera)
	}
	p.probe = k.probeGalera
	p.startPrivate = k.startGalera
	return p
}

// findGalera finds a MariaDB, and the library that makes it a node.
func (k mysqlKind) findGalera(ctx context.Context, h host) (installation, error) {
	programs, err := k.find(ctx, h)
	if err != nil {
		return installation{}, err
	}
	programs.library = h.firstFile(galeraDirs(), []string{galeraLibrary})
	if programs.library == "" {
		return installation{}, absent("no %s in %s", galeraLibrary, strings.Join(galeraDirs(), ", "))
	}
	return programs, nil
}

// galera is the engine of one node.
type galera struct {
	mysqld
	port     int         // for other nodes
	password string      // of the account of the tests
	joins    *galeraNode // the first node; nil if this is the first
}

// galeraNode is the first node, as the second must know it.
type galeraNode struct {
	port     int
	password string
	cluster  string // its identity
	position int64  // of its last change
}

// startGalera starts a cluster of two nodes. One node shows its refusals; only two show which state a node does not share.
func (k mysqlKind) startGalera(ctx context.Context, programs installation) (*server, error) {
	one := &galera{mysqld: mysqld{k, programs}}
	first, err := startPrivateServer(ctx, one, programs.origin)
	if err != nil {
		return nil, err
	}
	second, err := one.startPeer(ctx, first.dsn)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the second node: %w", err), first.stop())
	}
	return &server{
		version: first.version,
		origin:  first.origin + ", and its peer",
		env:     append(first.env, second.env...),
		dsn:     first.dsn,
		// Nodes that stop one after the other may wait five seconds for each other.
		stop: func() error { return errors.Join(second.stop(), first.stop()) },
	}, nil
}

// startPeer starts a node that joins this one. Both have empty databases, so the second starts with the first one's position. No state is
// transferred, which would need further packages.
func (g *galera) startPeer(ctx context.Context, dsn string) (*server, error) {
	node := &galeraNode{port: g.port, password: g.password}
	config, err := mysqldriver.ParseDSN(dsn)
	if err != nil {
		return nil, err
	}
	if node.cluster, err = galeraStatus(ctx, config, "wsrep_local_state_uuid"); err != nil {
		return nil, err
	}
	position, err := galeraStatus(ctx, config, "wsrep_last_committed")
	if err != nil {
		return nil, err
	}
	if node.position, err = strconv.ParseInt(position, 10, 64); err != nil {
		return nil, err
	}
	return startPrivateServer(ctx, &galera{mysqld: g.mysqld, joins: node}, g.programs.origin)
}

func (g *galera) product() string {
	if g.joins != nil {
		return galeraPeer
	}
	return g.mysqld.product()
}

// initialise gives both nodes the same password. Each creates the account itself, because statements before a server listens are not
// replicated.
func (g *galera) initialise(ctx context.Context, s *privateServer) error {
	if g.joins != nil {
		s.password = g.joins.password
	}
	g.password = s.password
	return g.mysqld.initialise(ctx, s)
}

func (g *galera) command(s *privateServer) (*exec.Cmd, error) {
	cmd, err := g.mysqld.command(s)
	if err != nil {
		return nil, err
	}
	if g.port, err = freePort(); err != nil {
		return nil, err
	}
	cluster := "gcomm://"
	if g.joins != nil {
		cluster += net.JoinHostPort(loopback, strconv.Itoa(g.joins.port))
		if err := g.writeState(s); err != nil {
			return nil, err
		}
	}
	cmd.Args = append(cmd.Args,
		// The library requires these two.
		"--binlog-format=ROW",
		"--innodb-autoinc-lock-mode=2",
		"--wsrep-on=ON",
		"--wsrep-provider="+g.programs.library,
		"--wsrep-cluster-address="+cluster,
		"--wsrep-node-address="+loopback,
		// A node that needs a state transfer must fail, here as on machines without the programs for it.
		"--wsrep-sst-method=none",
		"--wsrep-provider-options="+g.groupSettings())
	return cmd, nil
}

// groupSettings let the kernel choose the port for incremental transfers, and allow a node to be late. On a busy machine two nodes could
// otherwise declare each other dead and both stop working.
func (g *galera) groupSettings() string {
	return strings.Join([]string{
		"gmcast.listen_addr=tcp://" + net.JoinHostPort(loopback, strconv.Itoa(g.port)),
		"ist.recv_addr=" + net.JoinHostPort(loopback, "0"),
		"gcache.size=16M",
		"evs.suspect_timeout=PT15S",
		"evs.inactive_timeout=PT30S",
	}, ";")
}

// writeState writes the position of the data, which a failed start may have changed.
func (g *galera) writeState(s *privateServer) error {
	path := filepath.Join(s.data(), galeraState)
	state := fmt.Sprintf("# GALERA saved state\nversion: 2.1\nuuid:    %s\nseqno:   %d\nsafe_to_bootstrap: 0\n",
		g.joins.cluster, g.joins.position)
	if err := os.WriteFile(path, []byte(state), 0o600); err != nil {
		return err
	}
	return s.account.own(path)
}

func (g *galera) probe(ctx context.Context, dsn string) (string, error) {
	return g.kind.probeGalera(ctx, dsn)
}

// probeGalera returns the version of a server that takes part in a cluster.
func (k mysqlKind) probeGalera(ctx context.Context, dsn string) (string, error) {
	config, err := mysqldriver.ParseDSN(dsn)
	if err != nil {
		return "", err
	}
	ready, err := galeraStatus(ctx, config, "wsrep_ready")
	if err != nil {
		return "", err
	}
	if ready != "ON" {
		return "", errors.New("it is no node of a Galera cluster, or takes no part in it yet: wsrep_ready is " + strconv.Quote(ready))
	}
	return k.probe(ctx, dsn)
}

// galeraStatus returns a status variable of a node, or "" if the server does not have it.
func galeraStatus(ctx context.Context, config *mysql.Config, name string) (string, error) {
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return "", err
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	var value string
	// Unlike a query, a node that takes no part yet answers SHOW.
	err = db.QueryRowContext(ctx, "SHOW GLOBAL STATUS LIKE '"+name+"'").Scan(&name, &value)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return value, err
}
