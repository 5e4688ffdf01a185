package clients_test

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/open"
	"github.com/applock/applock/internal/testing/testdb"
)

// rounds is how often each process counts.
const rounds = 10

// goPlayer is the variable with the DSN that makes this test's program the player of Go.
const goPlayer = "APPLOCK_TEST_GO_PLAYER_DSN"

func TestMain(m *testing.M) {
	if dsn := os.Getenv(goPlayer); dsn != "" {
		if err := playGo(context.Background(), dsn, os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// Goal: processes of all languages exclude each other under one lock: a counter that each reads and writes loses nothing, and
// nobody is between read and write together with another. Method: one process of each language counts, and tells when it has read.
func TestLanguagesExcludeEachOther(t *testing.T) {
	t.Parallel()
	eachProduct(t, func(t *testing.T, at place, players map[string]*process) {
		t.Helper()
		countTogether(t, at, players, func(name string) (string, []any) { return "increment", []any{name} })
	})
}

// Goal: leases of all languages take turns on one object: each gets it, and nobody while another one has it. Method: as above.
func TestLeasesOfLanguagesTakeTurns(t *testing.T) {
	t.Parallel()
	eachProduct(t, func(t *testing.T, at place, players map[string]*process) {
		t.Helper()
		countTogether(t, at, players, func(string) (string, []any) { return "increment_leased", nil })
	})
}

// countTogether has each player count by a call, and fails the test where two are between read and write, or where the counter loses.
func countTogether(t *testing.T, at place, players map[string]*process, call func(name string) (operation string, values []any)) {
	t.Helper()
	var inside atomic.Int32
	together(t, players, func(name string, player *process) error {
		operation, values := call(name)
		for range rounds {
			_, err := player.call(operation, values, func([]string) {
				if others := inside.Add(1) - 1; others != 0 {
					t.Errorf("%s has read, and so have %d others", name, others)
				}
				inside.Add(-1)
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if want := rounds * len(players); at.counter(t) != want {
		t.Errorf("the counter is %d, want %d", at.counter(t), want)
	}
}

// Goal: the counter of the test above does lose what is counted without the lock. Method: nobody writes before all have read.
func TestWithoutTheLockTheCounterLoses(t *testing.T) {
	t.Parallel()
	eachProduct(t, func(t *testing.T, at place, players map[string]*process) {
		t.Helper()
		var allHaveRead sync.WaitGroup
		allHaveRead.Add(len(players))
		together(t, players, func(_ string, player *process) error {
			read := sync.OnceFunc(allHaveRead.Done)
			defer read() // also one that fails must not be waited for
			_, err := player.call("increment", []any{nil}, func([]string) {
				read()
				allHaveRead.Wait()
			})
			return err
		})
		if at.counter(t) != 1 {
			t.Errorf("the counter is %d after %d have read 0 and written 1", at.counter(t), len(players))
		}
	})
}

// eachProduct runs a test on a place of each product that has a counter, with one player of each language, Go among them.
func eachProduct(t *testing.T, test func(t *testing.T, at place, players map[string]*process)) {
	t.Helper()
	testdb.Clients(t)
	for _, product := range products() {
		t.Run(product, func(t *testing.T) {
			t.Parallel()
			at := newPlace(t, product)
			for _, statement := range []string{"CREATE TABLE counter (n INTEGER NOT NULL)", "INSERT INTO counter (n) VALUES (0)"} {
				if _, err := at.handle.ExecContext(t.Context(), statement); err != nil {
					t.Fatal(err)
				}
			}
			command := exec.CommandContext(t.Context(), os.Args[0])
			command.Env = environment(goPlayer + "=" + at.dsn)
			players := map[string]*process{"go": start(t, command)}
			for _, l := range languages() {
				for _, d := range l.drivers {
					if players[l.folder] == nil && !d.pageOnly && d.speaksTo(product) {
						players[l.folder] = startPlayer(t, d, at)
					}
				}
			}
			test(t, at, players)
		})
	}
}

// together has all players do the same at the same time.
func together(t *testing.T, players map[string]*process, do func(name string, player *process) error) {
	t.Helper()
	var all sync.WaitGroup
	for name, player := range players {
		all.Go(func() {
			if err := do(name, player); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	all.Wait()
}

func (p place) counter(t *testing.T) int {
	t.Helper()
	var n int
	if err := p.handle.QueryRowContext(t.Context(), "SELECT n FROM counter").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// playGo is the player of Go, which counts and nothing else, with the façade.
func playGo(ctx context.Context, dsn string, input io.Reader, output io.Writer) error {
	client, err := open.ByDSN(ctx, dsn, open.Config{})
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	handle, err := openHandle(dsn)
	if err != nil {
		return err
	}
	defer func() { _ = handle.Close() }()
	object := applock.Object{Type: "counter", ID: "1"}
	lines := bufio.NewScanner(input)
	count := func() error { return countUp(ctx, handle, lines, output) }
	for lines.Scan() {
		operation, operator, _ := strings.Cut(lines.Text(), "\t")
		switch {
		case operation == "increment_leased":
			err = client.Do(ctx, applock.AcquireRequest{Object: object, MaxHold: time.Minute}, func(context.Context, applock.Lease) error { return count() })
		case operator == `\N`:
			err = count()
		default:
			err = underLock(ctx, client, object, operator, count)
		}
		if err != nil {
			return err
		}
		fmt.Fprintln(output, "end")
	}
	return lines.Err()
}

// countUp reads the counter and writes it, and between these says what it has read and waits for a line.
func countUp(ctx context.Context, handle *sql.DB, lines *bufio.Scanner, output io.Writer) error {
	var n int
	if err := handle.QueryRowContext(ctx, "SELECT n FROM counter").Scan(&n); err != nil {
		return err
	}
	fmt.Fprintf(output, "read\t%d\n", n)
	lines.Scan()
	_, err := handle.ExecContext(ctx, fmt.Sprintf("UPDATE counter SET n = %d", n+1))
	return err
}

// underLock gets the object, again until it is free, works, and releases it.
func underLock(ctx context.Context, client *applock.Client, object applock.Object, operator string, work func() error) error {
	for {
		_, err := client.Get(ctx, applock.GetRequest{Object: object, Owner: applock.Owner{Operator: operator}, TTL: time.Minute})
		if err == nil {
			break
		}
		if !errors.Is(err, applock.ErrHeld) {
			return err
		}
		time.Sleep(10 * time.Millisecond)
	}
	if err := work(); err != nil {
		return err
	}
	_, err := client.Release(ctx, applock.ReleaseRequest{Key: applock.Key{Object: object, Operator: operator}})
	return err
}
