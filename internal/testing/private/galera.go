//go:build unix

package private

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// galera is one node of a cluster.
type galera struct {
	programs Programs
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

// StartGalera starts a cluster of two nodes of MariaDB. One node shows its refusals; only two show which state a node does not share.
func StartGalera(ctx context.Context, p Programs) (first, second *Server, err error) {
	one := &galera{programs: p}
	if first, err = Start(ctx, one.kind("galera")); err != nil {
		return nil, nil, err
	}
	if second, err = one.startPeer(ctx, first.DSN()); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("the second node: %w", err), first.Stop())
	}
	return first, second, nil
}

// startPeer starts a node that joins this one. Both have empty databases, so the second starts with the first one's position. No state is
// transferred, which would need further packages.
func (g *galera) startPeer(ctx context.Context, dsn string) (*Server, error) {
	node := &galeraNode{port: g.port, password: g.password}
	var err error
	if node.cluster, err = galeraStatus(ctx, dsn, "wsrep_local_state_uuid"); err != nil {
		return nil, err
	}
	position, err := galeraStatus(ctx, dsn, "wsrep_last_committed")
	if err != nil {
		return nil, err
	}
	if node.position, err = strconv.ParseInt(position, 10, 64); err != nil {
		return nil, err
	}
	peer := &galera{programs: g.programs, joins: node}
	return Start(ctx, peer.kind("galera_peer"))
}

func (g *galera) kind(product string) Kind {
	k := MariaDB(g.programs)
	initialise, command := k.Initialise, k.Command
	k.Product, k.Probe = product, ProbeGalera
	k.Initialise = func(ctx context.Context, s *Server) error {
		// Both nodes have the same password. Each creates the account itself, because statements before a server listens are not replicated.
		if g.joins != nil {
			s.Password = g.joins.password
		}
		g.password = s.Password
		return initialise(ctx, s)
	}
	k.Command = func(s *Server) (*exec.Cmd, error) {
		cmd, err := command(s)
		if err != nil {
			return nil, err
		}
		options, err := g.options(s)
		cmd.Args = append(cmd.Args, options...)
		return cmd, err
	}
	return k
}

func (g *galera) options(s *Server) ([]string, error) {
	var err error
	if g.port, err = freePort(); err != nil {
		return nil, err
	}
	cluster := "gcomm://"
	if g.joins != nil {
		cluster += net.JoinHostPort(loopback, strconv.Itoa(g.joins.port))
		// The position of the data, which a failed start may have changed.
		state := fmt.Sprintf("# GALERA saved state\nversion: 2.1\nuuid:    %s\nseqno:   %d\nsafe_to_bootstrap: 0\n", g.joins.cluster, g.joins.position)
		if _, err := s.write(filepath.Join("data", "grastate.dat"), state); err != nil {
			return nil, err
		}
	}
	return []string{
		// The library requires these two.
		"--binlog-format=ROW",
		"--innodb-autoinc-lock-mode=2",
		"--wsrep-on=ON",
		"--wsrep-provider=" + g.programs.Library,
		"--wsrep-cluster-address=" + cluster,
		"--wsrep-node-address=" + loopback,
		// A node that needs a state transfer must fail, here as on machines without the programs for it.
		"--wsrep-sst-method=none",
		// The kernel chooses the port for incremental transfers. A node may be late: on a busy machine two nodes could otherwise declare each
		// other dead and both stop working.
		"--wsrep-provider-options=" + strings.Join([]string{
			"gmcast.listen_addr=tcp://" + net.JoinHostPort(loopback, strconv.Itoa(g.port)),
			"ist.recv_addr=" + net.JoinHostPort(loopback, "0"),
			"gcache.size=16M",
			"evs.suspect_timeout=PT15S",
			"evs.inactive_timeout=PT30S",
		}, ";"),
	}, nil
}

// ProbeGalera returns the version of a MariaDB that takes part in a cluster.
func ProbeGalera(ctx context.Context, dsn string) (string, error) {
	ready, err := galeraStatus(ctx, dsn, "wsrep_ready")
	if err != nil {
		return "", err
	}
	if ready != "ON" {
		return "", errors.New("it is no node of a Galera cluster, or takes no part in it yet: wsrep_ready is " + strconv.Quote(ready))
	}
	return ProbeMariaDB(ctx, dsn)
}

// galeraStatus returns a status variable of a node, or "" if the server does not have it. Unlike a query, a node that takes no part yet
// answers SHOW.
func galeraStatus(ctx context.Context, dsn, name string) (string, error) {
	return askMySQL(ctx, dsn, "SHOW GLOBAL STATUS LIKE '"+name+"'")
}
