package postgres_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

// address returns the network and the address of the server that dsn names, and the DSN for another address.
func address(t *testing.T, dsn string) (network, server string, at func(address string) string) {
	t.Helper()
	config, err := pgconn.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	network, server = pgconn.NetworkAddress(config.Host, config.Port)
	return network, server, func(address string) string {
		return (&url.URL{
			Scheme:   "postgres",
			User:     url.UserPassword(config.User, config.Password),
			Host:     address,
			Path:     config.Database,
			RawQuery: "sslmode=disable",
		}).String()
	}
}

// listenLocally calls serve for each connection, until the test ends.
func listenLocally(t *testing.T, serve func(net.Conn)) (address string) {
	t.Helper()
	listening, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	group.Go(func() {
		for {
			conn, err := listening.Accept()
			if err != nil {
				return // closed
			}
			t.Cleanup(func() { _ = conn.Close() })
			group.Go(func() { serve(conn) })
		}
	})
	t.Cleanup(func() { _ = listening.Close() })
	return listening.Addr().String()
}

// proxy stands between a client and the server, and fails in ways that networks fail.
type proxy struct {
	dsn string
	// mode is what becomes of what the server says.
	mode  sync.Mutex
	lost  bool
	quiet bool
}

func newProxy(t *testing.T, dsn string) *proxy {
	t.Helper()
	network, server, at := address(t, dsn)
	p := &proxy{}
	p.dsn = at(listenLocally(t, func(client net.Conn) {
		upstream, err := net.Dial(network, server)
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = upstream.Close() }()
		go p.copy(upstream, client, func() bool { _, quiet := p.modes(); return !quiet })
		p.copy(client, upstream, func() bool { lost, quiet := p.modes(); return !lost && !quiet })
		if _, quiet := p.modes(); !quiet {
			_ = client.Close()
		}
	}))
	return p
}

func (p *proxy) modes() (lost, quiet bool) {
	p.mode.Lock()
	defer p.mode.Unlock()
	return p.lost, p.quiet
}

// copy goes on until the first piece that may not pass, or the end of a connection.
func (p *proxy) copy(to io.Writer, from io.Reader, passes func() bool) {
	buffer := make([]byte, 1<<16)
	for {
		n, err := from.Read(buffer)
		if err != nil || !passes() {
			return
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// loseAnswers cuts the connections off when the server answers next.
func (p *proxy) loseAnswers() {
	p.mode.Lock()
	defer p.mode.Unlock()
	p.lost = true
}

// beQuiet lets nothing pass any more, and cuts nothing off.
func (p *proxy) beQuiet() {
	p.mode.Lock()
	defer p.mode.Unlock()
	p.quiet = true
}

// pooler gives one session of the server to its clients in turn, for one transaction at a time.
type pooler struct {
	server *pgconn.HijackedConn
	// turn is held by the client whose transaction it is.
	turn chan struct{}
	// client is that one, nil between transactions.
	clients, sending sync.Mutex
	client           *pgproto3.Backend
}

// newPooler returns the DSN of a pooler in transaction mode.
func newPooler(t *testing.T, dsn string) string {
	t.Helper()
	conn, err := pgconn.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	server, err := conn.Hijack()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Conn.Close() })
	p := &pooler{server: server, turn: make(chan struct{}, 1)}
	go p.answer()
	_, _, at := address(t, dsn)
	return at(listenLocally(t, p.serve)) + "&default_query_exec_mode=exec"
}

// answer hands on what the server says to the client whose turn it is; without one, nobody hears it.
func (p *pooler) answer() {
	for {
		message, err := p.server.Frontend.Receive()
		if err != nil {
			return // the test has ended
		}
		p.clients.Lock()
		client := p.client
		ready, isReady := message.(*pgproto3.ReadyForQuery)
		ended := client != nil && isReady && ready.TxStatus == 'I'
		if ended {
			p.client = nil
		}
		p.clients.Unlock()
		if client != nil {
			client.Send(message)
			_ = client.Flush() // a client that has gone away hears nothing
		}
		if ended {
			<-p.turn
		}
	}
}

// send hands on what a client says. The turns keep clients apart; the mutex tells the race detector.
func (p *pooler) send(message pgproto3.FrontendMessage) error {
	p.sending.Lock()
	defer p.sending.Unlock()
	p.server.Frontend.Send(message)
	return p.server.Frontend.Flush()
}

func (p *pooler) serve(conn net.Conn) {
	client := pgproto3.NewBackend(conn, conn)
	if err := p.greet(client); err != nil {
		return
	}
	for {
		message, err := client.Receive()
		if err != nil {
			return
		}
		if _, terminates := message.(*pgproto3.Terminate); terminates {
			return
		}
		p.clients.Lock()
		mine := p.client == client
		p.clients.Unlock()
		if !mine {
			p.turn <- struct{}{}
			p.clients.Lock()
			p.client = client
			p.clients.Unlock()
		}
		if err := p.send(message); err != nil {
			return
		}
	}
}

// greet does not look at who comes.
func (p *pooler) greet(client *pgproto3.Backend) error {
	message, err := client.ReceiveStartupMessage()
	if err != nil {
		return err
	}
	if _, plain := message.(*pgproto3.StartupMessage); !plain {
		return errors.New("only plain connections")
	}
	client.Send(&pgproto3.AuthenticationOk{})
	for name, value := range p.server.ParameterStatuses {
		client.Send(&pgproto3.ParameterStatus{Name: name, Value: value})
	}
	client.Send(&pgproto3.BackendKeyData{ProcessID: 1, SecretKey: []byte(fmt.Sprintf("%04d", 1))})
	client.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
	return client.Flush()
}
