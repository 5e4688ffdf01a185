// Package wire is a proxy between a process and its server, with which tests simulate faults of the network.
package wire

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Wire carries the connections of one process to a server, and simulates faults between them.
type Wire struct {
	// Address is the address that it listens on.
	Address string
	server  string
	ending  context.Context //nolint:containedctx // the test's context
	// Requests counts what was sent to the server, in pieces as the client sent them.
	Requests atomic.Int64
	// Carried counts the pieces of both directions.
	Carried atomic.Int64

	mutex  sync.Mutex
	silent chan struct{} // not nil while silent; closed when it carries again
	// left is the number of pieces until the wire falls silent, which closes fallen. fallen is nil if no silence is planned.
	left   int64
	fallen chan struct{}
	delay  time.Duration // of each piece from the server
	ends   map[net.Conn]bool
	// pick selects the pieces to strand; nil for none.
	pick Pick
	// Stranded counts the stranded pieces, and Landed those of them that the server has answered or refused.
	Stranded, Landed atomic.Int64
}

// Pick decides whether a piece from a client is stranded, and how late it arrives then.
type Pick func(piece []byte) (late time.Duration, isStranded bool)

// Through returns a wire to the server of a DSN, which must be a URL, and the DSN for connections through the wire.
func Through(t testing.TB, dsn string) (*Wire, string) {
	t.Helper()
	parsed, err := url.Parse(dsn)
	if err != nil {
		t.Fatal("the test DSN is no URL")
	}
	w := New(t, parsed.Host)
	parsed.Host = w.Address
	return w, parsed.String()
}

// New listens until the test ends.
func New(t testing.TB, server string) *Wire {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &Wire{Address: listener.Addr().String(), server: server, ending: t.Context(), ends: map[net.Conn]bool{}}
	var group sync.WaitGroup
	group.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			group.Go(func() { w.connect(client) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		w.Speak()
		w.Reset()
		group.Wait()
	})
	return w
}

func (w *Wire) connect(client net.Conn) {
	w.await() // a silent server does not even answer the handshake
	w.mutex.Lock()
	address := w.server
	w.mutex.Unlock()
	server, err := (&net.Dialer{}).DialContext(w.ending, "tcp", address)
	if err != nil {
		_ = client.Close()
		return
	}
	w.mutex.Lock()
	w.ends[client], w.ends[server] = true, true
	w.mutex.Unlock()
	var group sync.WaitGroup
	hearer := &hearer{Conn: client}
	group.Go(func() {
		w.carry(server, client, func(piece []byte) bool {
			w.Requests.Add(1)
			late, picked := w.picks(piece)
			if picked {
				w.strand(server, hearer, piece, late)
			}
			return !picked
		})
	})
	group.Go(func() {
		w.carry(hearer, w.late(server), func([]byte) bool { return true })
		if hearer.isCutOff.Load() {
			w.Landed.Add(1)
		}
	})
	group.Wait()
	w.mutex.Lock()
	delete(w.ends, client)
	delete(w.ends, server)
	w.mutex.Unlock()
}

// Open returns how many connections there are.
func (w *Wire) Open() int {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return len(w.ends) / 2
}

// late is the server's end whose pieces arrive late, each by the same time, as over a long cable.
func (w *Wire) late(server net.Conn) net.Conn {
	pieces := make(chan latePiece, 1000)
	go func() {
		defer close(pieces)
		buffer := make([]byte, 64*1024)
		for {
			n, err := server.Read(buffer)
			w.mutex.Lock()
			due := time.Now().Add(w.delay)
			w.mutex.Unlock()
			if n > 0 {
				pieces <- latePiece{bytes.Clone(buffer[:n]), due}
			}
			if err != nil {
				return
			}
		}
	}()
	return &lateConn{Conn: server, pieces: pieces}
}

type latePiece struct {
	bytes []byte
	due   time.Time
}

type lateConn struct {
	net.Conn

	pieces <-chan latePiece
}

func (c *lateConn) Read(buffer []byte) (int, error) {
	piece, ok := <-c.pieces
	if !ok {
		return 0, io.EOF
	}
	time.Sleep(time.Until(piece.due))
	return copy(buffer, piece.bytes), nil
}

// picks reports whether pick strands a piece, and for how long.
func (w *Wire) picks(piece []byte) (late time.Duration, isStranded bool) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.pick == nil {
		return 0, false
	}
	return w.pick(piece)
}

// hearer is the client's end. A client that was cut off receives nothing, and the first answer to a late piece ends the connection.
type hearer struct {
	net.Conn

	isCutOff, hasArrived atomic.Bool
}

func (h *hearer) Write(answer []byte) (int, error) {
	if h.isCutOff.Load() && !h.hasArrived.Load() {
		return len(answer), nil
	}
	return h.Conn.Write(answer)
}

// strand cuts the client off, and delivers the piece to the server later.
func (w *Wire) strand(server net.Conn, client *hearer, piece []byte, late time.Duration) {
	w.Stranded.Add(1)
	client.isCutOff.Store(true)
	cut(client.Conn)
	select {
	case <-time.After(late):
	case <-w.ending.Done():
	}
	client.hasArrived.Store(true)
	if _, err := server.Write(piece); err != nil {
		_ = server.Close()
	}
}

// carry carries one direction until either end closes, and then closes both, or until each returns true for a piece. A silent wire does
// not carry the end of a connection either.
func (w *Wire) carry(to, from net.Conn, each func(piece []byte) bool) {
	isOver := true
	defer func() {
		if isOver {
			w.await()
			_, _ = to.Close(), from.Close()
		}
	}()
	buffer := make([]byte, 64*1024)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			if isOver = each(buffer[:n]); !isOver {
				return
			}
			w.count()
			w.await()
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// count counts a piece before it is carried. The wire may fall silent at it.
func (w *Wire) count() {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.Carried.Add(1)
	if w.fallen == nil {
		return
	}
	if w.left--; w.left < 0 {
		w.silence()
		close(w.fallen)
		w.fallen = nil
	}
}

// await returns when the wire is not silent.
func (w *Wire) await() {
	w.mutex.Lock()
	silent := w.silent
	w.mutex.Unlock()
	if silent != nil {
		<-silent
	}
}

// Silence stops all traffic without an error at either end.
func (w *Wire) Silence() {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.silence()
}

// silence is Silence with the mutex held.
func (w *Wire) silence() {
	if w.silent == nil {
		w.silent = make(chan struct{})
	}
}

// SilenceAfter makes the wire fall silent after a number of pieces, as if a host were lost. It returns a channel that is closed then.
func (w *Wire) SilenceAfter(pieces int64) (fallen <-chan struct{}) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.left, w.fallen = pieces, make(chan struct{})
	return w.fallen
}

// Speak ends a silence. Held pieces arrive late.
func (w *Wire) Speak() {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.silent != nil {
		close(w.silent)
		w.silent = nil
	}
}

// Lead sends new connections to another server, as a router does after a failover.
func (w *Wire) Lead(server string) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.server = server
}

// Slow delays each piece from the server.
func (w *Wire) Slow(delay time.Duration) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.delay = delay
}

// Strand delivers the pieces that pick selects late, and cuts their clients off at once, so that a client does not know the outcome of
// its call. nil ends it.
func (w *Wire) Strand(pick Pick) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.pick = pick
}

// Reset cuts all connections, as a restarted router does.
func (w *Wire) Reset() {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	for end := range w.ends {
		cut(end)
	}
}

// cut ends a connection so that the other side gets an error.
func cut(end net.Conn) {
	if tcp, ok := end.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = end.Close()
}
