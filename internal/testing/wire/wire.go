// Package wire is what goes wrong between a process and its server: tests lead connections through it.
package wire

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Wire leads the connections of one process to a server, and is what goes wrong between them.
type Wire struct {
	// Address is where it listens.
	Address string
	server  string
	ending  context.Context //nolint:containedctx // that of the test
	// Requests counts what was sent to the server, in pieces as the client sent them.
	Requests atomic.Int64

	mutex  sync.Mutex
	silent chan struct{} // not nil while it carries nothing; closed when it does again
	delay  time.Duration // of what the server answers
	ends   map[net.Conn]bool
}

// New begins to listen, until the test ends.
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
	w.await() // of a silent server not even the handshake is answered
	server, err := (&net.Dialer{}).DialContext(w.ending, "tcp", w.server)
	if err != nil {
		_ = client.Close()
		return
	}
	w.mutex.Lock()
	w.ends[client], w.ends[server] = true, true
	w.mutex.Unlock()
	var group sync.WaitGroup
	group.Go(func() { w.carry(server, client, func() { w.Requests.Add(1) }) })
	group.Go(func() {
		w.carry(client, server, func() {
			w.mutex.Lock()
			delay := w.delay
			w.mutex.Unlock()
			time.Sleep(delay)
		})
	})
	group.Wait()
	w.mutex.Lock()
	delete(w.ends, client)
	delete(w.ends, server)
	w.mutex.Unlock()
}

// carry carries one direction until either end closes, and closes both then.
func (w *Wire) carry(to, from net.Conn, each func()) {
	defer func() { _, _ = to.Close(), from.Close() }()
	buffer := make([]byte, 64*1024)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			each()
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

// await returns when the wire carries something.
func (w *Wire) await() {
	w.mutex.Lock()
	silent := w.silent
	w.mutex.Unlock()
	if silent != nil {
		<-silent
	}
}

// Silence lets nothing through, and nobody know.
func (w *Wire) Silence() {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.silent == nil {
		w.silent = make(chan struct{})
	}
}

// Speak ends a silence. What was said meanwhile arrives late.
func (w *Wire) Speak() {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.silent != nil {
		close(w.silent)
		w.silent = nil
	}
}

// Slow has each piece of what the server answers wait for so long.
func (w *Wire) Slow(delay time.Duration) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.delay = delay
}

// Reset cuts all connections, as a restarted router does.
func (w *Wire) Reset() {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	for end := range w.ends {
		if tcp, ok := end.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		_ = end.Close()
	}
}
