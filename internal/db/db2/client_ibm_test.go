//go:build db2

package db2

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	ibm "github.com/ibmdb/go_ibm_db"
)

// None of these tests is parallel: they count goroutines, and the client reads variables of the process.

var _ error = (*ibm.Error)(nil) // what diagnose looks for

const (
	// patience bounds what should take no time, and what the client's own limit of testTimeout should end.
	patience    = 30 * time.Second
	testTimeout = "2"
)

func dsnOf(listener net.Listener) string {
	return "db2://alice:s3cretWord@" + listener.Addr().String() + "/SHOP?ConnectTimeout=" + testTimeout
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return listener
}

func open(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	pool, err := openPool(dsn, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pool.Close() })
	return pool
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %s", what, patience)
		}
	}
}

// connects reports whether a goroutine is still connecting.
func connects() bool {
	stacks := make([]byte, 1<<20)
	return strings.Contains(string(stacks[:runtime.Stack(stacks, true)]), "(*connector).Connect")
}

// Goal: a server that is none gives an error soon, with SQLSTATE and SQLCODE, without the password, and leaves
// nothing behind. Method: a port that is closed, and listeners that talk nonsense, hang up, or are silent.
func TestNoServer(t *testing.T) {
	for name, behaviour := range map[string]func(conn net.Conn){
		"Closed": nil,
		"Nonsense": func(conn net.Conn) {
			defer conn.Close()
			_, _ = conn.Read(make([]byte, 1000))
			_, _ = conn.Write([]byte("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\nNonsense"))
		},
		"HangsUp": func(conn net.Conn) { _ = conn.Close() },
		"Silent":  func(conn net.Conn) { t.Cleanup(func() { _ = conn.Close() }) },
	} {
		t.Run(name, func(t *testing.T) {
			listener := listen(t)
			if behaviour == nil {
				_ = listener.Close()
			}
			go func() {
				for conn, err := listener.Accept(); err == nil; conn, err = listener.Accept() {
					behaviour(conn)
				}
			}()
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			err := open(t, dsnOf(listener)).PingContext(ctx)
			diagnosis, found := diagnose(fmt.Errorf("wrapped: %w", err))
			if !found || diagnosis.State != "08001" || diagnosis.Code != -30081 || !strings.Contains(diagnosis.Text, "SQL30081N") {
				t.Errorf("diagnosed %t %+v of %v", found, diagnosis, err)
			}
			if err == nil || strings.Contains(err.Error(), "s3cretWord") || ctx.Err() != nil {
				t.Errorf("error = %v, context %v", err, ctx.Err())
			}
			eventually(t, "no goroutine is left", func() bool { return !connects() })
		})
	}
}

// Goal: Security=SSL means TLS, and not the silence of a client that has not understood it. Method: a listener that
// looks at the first byte, which is 22 in TLS.
func TestTLS(t *testing.T) {
	const handshake = 22
	listener := listen(t)
	first := make(chan byte, 1)
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		bytes := make([]byte, 1)
		_, _ = conn.Read(bytes)
		first <- bytes[0]
	}()
	err := open(t, dsnOf(listener)+"&Security=SSL").PingContext(t.Context())
	if _, found := diagnose(err); !found {
		t.Errorf("error = %v", err)
	}
	select {
	case got := <-first:
		if got != handshake {
			t.Errorf("the first byte is %d, want %d", got, handshake)
		}
	case <-time.After(patience):
		t.Errorf("no connection: %v", err)
	}
}

// Goal: closing does not wait for ever for a server that does not hang up, as a Db2 must: Derby's client is not asked to. Method: a
// client that waits until the test ends.
func TestCloseOfASilentServer(t *testing.T) {
	silence := make(chan struct{})
	defer close(silence)
	waits := func() error {
		<-silence
		return nil
	}
	if err := closeWithin(time.Millisecond, waits); err == nil {
		t.Error("no error")
	}
	cause := errors.New("refused")
	if err := closeWithin(patience, func() error { return cause }); !errors.Is(err, cause) {
		t.Errorf("error = %v, want the client's", err)
	}
}

// Goal: the variable is left alone where it is set.
func TestRetriesOfTheUser(t *testing.T) {
	t.Setenv(retriesVariable, "3")
	if err := neverSendTwice(); err != nil || os.Getenv(retriesVariable) != "3" {
		t.Errorf("%s = %q, error %v", retriesVariable, os.Getenv(retriesVariable), err)
	}
}

// tracing is set for the process that TestTraceInTheArguments starts.
const tracing = "APPLOCK_TEST_TRACE_IN_THE_ARGUMENTS"

// Goal: the word trace in an argument neither ends the program nor makes go_ibm_db print what it does.
// Method: this test again, in a process with such arguments.
func TestTraceInTheArguments(t *testing.T) {
	closed := listen(t)
	_ = closed.Close()
	if os.Getenv(tracing) != "" {
		_ = open(t, dsnOf(closed)).PingContext(t.Context())
		if last := os.Args[len(os.Args)-1]; last != "trace:1" {
			t.Errorf("the last argument is %q", last)
		}
		return
	}
	again := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestTraceInTheArguments$", "trace:1")
	again.Env = append(os.Environ(), tracing+"=1")
	output, err := again.CombinedOutput()
	if err != nil || strings.Contains(string(output), "s3cretWord") || strings.Contains(string(output), "ENTRY") {
		t.Errorf("%v\n%s", err, output)
	}
}
