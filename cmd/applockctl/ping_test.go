package main

import (
	"context"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// Goal: ping tells who answers and what is installed, before and after the installation. Method: each product, by its own
// words.
func TestPing(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, s server) {
		u := userOf(s.newDatabase(t))
		version := "SHOW server_version"
		if s.isMySQL() {
			version = "SELECT VERSION()"
		}
		number, _, _ := strings.Cut(s.query(t, u.getenv(dsnVariable), version), "-")
		number, _, _ = strings.Cut(number, " ")
		product := map[server]string{"postgres": "PostgreSQL", "mariadb": "MariaDB", "mysql": "MySQL"}[s]
		for _, installed := range []string{"0", "1"} {
			want := `{"outcome":"ANSWERED","product":"` + product + `","product_version":"` + number + `","installed_contract":` + installed + "}\n"
			if got := u.must(t, "ping", "--output", "json"); got.stdout != want {
				t.Errorf("ping prints %s, want %s", got.stdout, want)
			}
			row := strings.Fields(u.must(t, "ping").stdout)
			if len(row) != 8 || row[7] != installed {
				t.Errorf("ping prints %s, want contract %s in the table", row, installed)
			}
			u.must(t, "migrate", "up")
		}
	})
}

// Goal: ping on SQLite, and on what does not answer. Method: a file, one that is not there, a port that nobody listens on, and
// a server that says nothing.
func TestPingEmbeddedAndDead(t *testing.T) {
	t.Parallel()
	if got := sqliteUser(t).must(t, "ping"); !strings.Contains(got.stdout, "ANSWERED  SQLite") {
		t.Errorf("ping prints %s", got.stdout)
	}
	fileUser(t).run(t, "ping").check(t, exitError, "there is no file ")
	for _, protocol := range protocols() {
		userOf(protocol.dsn("127.0.0.1:1")).run(t, "ping").check(t, exitError, "applockctl: ping: cannot reach the database")
		userOf(protocol.dsn("127.0.0.1:1")).run(t, "ping", "--wait", "1s").check(t, exitError, "applockctl: ping: cannot reach the database")
		userOf(protocol.dsn(fakeServer(t, silent))).run(t, "ping", "--timeout", "1s").check(t, exitError, "applockctl: ping: ")
	}
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	userOf("mysql://jdoe@127.0.0.1:1/crm").runContext(ctx, "ping", "--wait", "1m").check(t, exitInterrupted, "applockctl: ping: interrupted\n")
}

// lateProxy is an address before a server that hangs up on the first clients, as while it starts, and lets the others through.
func lateProxy(t *testing.T, server string, refusals int32) (address string, refused *atomic.Int32) {
	t.Helper()
	refused = new(atomic.Int32)
	return fakeServer(t, func(conn net.Conn) {
		if refused.Add(1) <= refusals {
			_ = conn.Close()
			return
		}
		through, err := net.Dial("tcp", server)
		if err != nil {
			_ = conn.Close()
			return
		}
		go func() { _, _ = io.Copy(through, conn) }()
		_, _ = io.Copy(conn, through)
		_ = through.Close()
	}), refused
}

// testProcessPingWaits: goal: what starts together with its database waits for it. Method: a server that hangs up on the first
// clients, and a file that is made meanwhile.
func testProcessPingWaits(t *testing.T, b binary) {
	onServers(t, func(t *testing.T, s server) {
		b := b
		dsn := parseURL(t, s.newDatabase(t))
		address, refused := lateProxy(t, dsn.Host, 5)
		dsn.Host = address
		b.dsn = dsn.String()
		if got := b.run(t.Context(), "ping"); got.code != exitError {
			t.Errorf("without waiting: exit code %d: %s%s", got.code, got.stdout, got.stderr)
		}
		if got := b.run(t.Context(), "ping", "--wait", "5m"); got.code != exitYes || refused.Load() < 6 {
			t.Errorf("after %d clients: exit code %d: %s%s", refused.Load(), got.code, got.stdout, got.stderr)
		}
	})
	b.dsn = "sqlite:" + b.directory + "/late.db"
	done := make(chan result, 1)
	go func() { done <- b.run(t.Context(), "ping", "--wait", "5m") }()
	select {
	case got := <-done:
		t.Errorf("it did not wait: %+v", got)
	case <-time.After(2 * pingPause):
	}
	userOf(b.dsn).must(t, "migrate", "up")
	if got := <-done; got.code != exitYes {
		t.Errorf("exit code %d: %s", got.code, got.stderr)
	}
}
