package etcdlock_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

// members is how many a cluster has: one may fail.
const members = 3

// cluster is a private one of the test's own, which ends with it. Its members reach each other by links that the test can cut.
type cluster struct {
	server  string
	members [members]*member
}

type member struct {
	name, directory string
	arguments       []string
	endpoint        string
	link            *link
	reserved        [2]net.Listener
	process         *exec.Cmd
}

// builtServer returns the path of etcd's server. It is built once: the go command builds it for each test that asks at the same time.
var builtServer = sync.OnceValues(func() ([]byte, error) {
	return exec.Command("go", "-C", "../../../tools/etcd", "tool", "-n", "go.etcd.io/etcd/server/v3").Output()
})

// newCluster starts a cluster, and returns it when it has a leader.
func newCluster(t *testing.T) *cluster {
	t.Helper()
	server, err := builtServer()
	if err != nil {
		t.Fatalf("build etcd: %v", err)
	}
	c := &cluster{server: strings.TrimSpace(string(server))}
	var peers []string
	for i := range c.members {
		reserved := [2]net.Listener{reserve(t), reserve(t)}
		listening := reserved[0].Addr().String()
		m := &member{
			name: fmt.Sprint("m", i), directory: t.TempDir(), reserved: reserved,
			endpoint: reserved[1].Addr().String(), link: newLink(t, listening),
		}
		peers = append(peers, m.name+"=http://"+m.link.address())
		m.arguments = []string{
			"--name", m.name, "--data-dir", m.directory,
			"--listen-peer-urls", "http://" + listening, "--initial-advertise-peer-urls", "http://" + m.link.address(),
			"--listen-client-urls", "http://" + m.endpoint, "--advertise-client-urls", "http://" + m.endpoint,
			"--heartbeat-interval", "50", "--election-timeout", "500", "--unsafe-no-fsync", "--log-level", "warn",
		}
		c.members[i] = m
	}
	for _, m := range c.members {
		m.arguments = append(m.arguments, "--initial-cluster", strings.Join(peers, ","))
		c.start(t, m)
	}
	client := connect(t, c.endpoints()...)
	c.await(t, "a leader", func(ctx context.Context) bool {
		_, err := client.Get(ctx, "any")
		return err == nil
	})
	return c
}

// reserve listens at an address, so that nobody else takes it until that is closed. Its host is one of the sixteen million of the
// loopback network and not 127.0.0.1, whose ports are everybody's: a member that is started again must find its own free.
func reserve(t *testing.T) net.Listener {
	t.Helper()
	part := func() byte { return byte(1 + rand.N(254)) }
	host := netip.AddrFrom4([4]byte{127, part(), part(), part()})
	listener, err := net.Listen("tcp", netip.AddrPortFrom(host, 2379).String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() }) // also again
	return listener
}

// start starts a member, also again.
func (c *cluster) start(t *testing.T, m *member) {
	t.Helper()
	log, err := os.OpenFile(filepath.Join(m.directory, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	for _, listener := range m.reserved {
		_ = listener.Close() // it has been closed if this is not the first time
	}
	process := exec.Command(c.server, m.arguments...)
	process.Stdout, process.Stderr = log, log
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	m.process = process
	t.Cleanup(func() {
		_ = process.Process.Kill() // it may have been killed already
		_ = process.Wait()
		if text, err := os.ReadFile(log.Name()); err == nil && t.Failed() {
			t.Logf("the log of %s ends with:\n%s", m.name, text[max(0, len(text)-1000):])
		}
	})
}

// kill ends a member at once.
func (m *member) kill(t *testing.T) {
	t.Helper()
	if err := m.process.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = m.process.Wait() // it was killed
}

func (c *cluster) endpoints() (all []string) {
	for _, m := range c.members {
		all = append(all, m.endpoint)
	}
	return all
}

// leader returns who leads, by the word of one of some members, or nil.
func (c *cluster) leader(ctx context.Context, client *clientv3.Client, asked ...*member) *member {
	ids := map[uint64]*member{}
	leader := uint64(0)
	for _, m := range c.members {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		status, err := client.Status(ctx, m.endpoint)
		cancel()
		if err != nil {
			continue
		}
		ids[status.Header.MemberId] = m
		for _, one := range asked {
			if one == m && status.Leader != 0 {
				leader = status.Leader
			}
		}
	}
	return ids[leader]
}

// awaitLeader returns who leads when one of the asked says so.
func (c *cluster) awaitLeader(t *testing.T, client *clientv3.Client, asked ...*member) (leader *member) {
	t.Helper()
	c.await(t, "a leader", func(ctx context.Context) bool {
		leader = c.leader(ctx, client, asked...)
		return leader != nil
	})
	return leader
}

// others returns all members but one.
func (c *cluster) others(one *member) (all []*member) {
	for _, m := range c.members {
		if m != one {
			all = append(all, m)
		}
	}
	return all
}

// await waits for a condition.
func (c *cluster) await(t *testing.T, what string, condition func(ctx context.Context) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for !condition(ctx) {
		select {
		case <-ctx.Done():
			t.Fatalf("there never is %s", what)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// configOf is what docs advise.
func configOf(endpoints ...string) clientv3.Config {
	return clientv3.Config{
		Endpoints: endpoints, DialTimeout: time.Second, DialKeepAliveTime: time.Second, DialKeepAliveTimeout: time.Second,
		Logger: zap.NewNop(),
	}
}

func connect(t testing.TB, endpoints ...string) *clientv3.Client {
	t.Helper()
	client, err := clientv3.New(configOf(endpoints...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}
