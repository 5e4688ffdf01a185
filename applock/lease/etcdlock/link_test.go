package etcdlock_test

import (
	"bytes"
	"net"
	"strings"
	"sync"
	"testing"
)

// link passes on what comes to one address to another, until it is cut: then it keeps everything, in both directions, and says
// nothing, until it is mended.
type link struct {
	listener net.Listener
	target   string

	mutex   sync.Mutex
	changed *sync.Cond
	open    map[net.Conn]struct{}
	// isCut cuts off all callers, and cutOff some: by what etcd's members call themselves.
	isCut  bool
	cutOff map[string]bool
	ended  bool
}

func newLink(t *testing.T, target string) *link {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &link{listener: listener, target: target, open: map[net.Conn]struct{}{}, cutOff: map[string]bool{}}
	l.changed = sync.NewCond(&l.mutex)
	var group sync.WaitGroup
	group.Go(func() {
		for {
			caller, err := listener.Accept()
			if err != nil {
				return
			}
			group.Go(func() { l.pass(caller) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		l.end()
		group.Wait()
	})
	return l
}

func (l *link) address() string { return l.listener.Addr().String() }

// cut cuts off everybody, and mend nobody.
func (l *link) cut() {
	l.set(func() { l.isCut = true })
}

func (l *link) mend() {
	l.set(func() { l.isCut, l.cutOff = false, map[string]bool{} })
}

// cutFrom cuts off a member.
func (l *link) cutFrom(id string) {
	l.set(func() { l.cutOff[id] = true })
}

func (l *link) end() {
	l.set(func() {
		l.ended = true
		for connection := range l.open {
			_ = connection.Close()
		}
	})
}

func (l *link) set(change func()) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	change()
	l.changed.Broadcast()
}

// keep notes an open connection, and reports whether it is of use.
func (l *link) keep(connection net.Conn) bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.ended {
		return false
	}
	l.open[connection] = struct{}{}
	return true
}

// wait waits while the caller is cut off.
func (l *link) wait(from string) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for !l.ended && (l.isCut || l.cutOff[from]) {
		l.changed.Wait()
	}
}

// pass serves a caller. The header of a member's first request shows that it is a member of etcd.
func (l *link) pass(caller net.Conn) {
	defer func() { _ = caller.Close() }()
	if !l.keep(caller) {
		return
	}
	from, head, ok := headOf(caller)
	if !ok {
		return
	}
	l.wait(from)
	target, err := net.Dial("tcp", l.target)
	if err != nil {
		return
	}
	defer func() { _ = target.Close() }()
	if _, err := target.Write(head); err != nil || !l.keep(target) {
		return
	}
	var group sync.WaitGroup
	group.Go(func() { l.copy(caller, target, from) })
	l.copy(target, caller, from)
	group.Wait()
}

func (l *link) copy(to, source net.Conn, from string) {
	defer func() { _, _ = to.Close(), source.Close() }()
	buffer := make([]byte, 32*1024)
	for {
		n, err := source.Read(buffer)
		l.wait(from)
		if _, writeErr := to.Write(buffer[:n]); err != nil || writeErr != nil {
			return
		}
	}
}

// headOf reads what comes before the first empty line, and nothing of what comes behind it.
func headOf(caller net.Conn) (from string, head []byte, ok bool) {
	for next := make([]byte, 1); !bytes.HasSuffix(head, []byte("\r\n\r\n")); {
		if _, err := caller.Read(next); err != nil {
			return "", nil, false
		}
		head = append(head, next...)
	}
	for line := range strings.Lines(string(head)) {
		if name, value, _ := strings.Cut(line, ":"); strings.EqualFold(name, "X-Server-From") {
			from = strings.TrimSpace(value)
		}
	}
	return from, head, true
}
