//go:build unix

package gooselock_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync/atomic"
	"testing"
	"time"

	"github.com/applock/applock/applock/adapters/gooselock"
	"github.com/applock/applock/applock/open"
	"github.com/applock/applock/internal/testing/testclient"
)

// migratorVariable has the place, as JSON, for a process that migrates until it is killed.
const migratorVariable = "APPLOCK_GOOSELOCK_MIGRATOR"

func TestMain(m *testing.M) {
	if encoded := os.Getenv(migratorVariable); encoded != "" {
		if err := migrateForEver(context.Background(), encoded); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// migrateForEver begins a migration that does not end, and says so.
func migrateForEver(ctx context.Context, encoded string) error {
	var p place
	if err := json.Unmarshal([]byte(encoded), &p); err != nil {
		return err
	}
	client, err := open.ByDSN(ctx, p.DSN, open.Config{})
	if err != nil {
		return err
	}
	const ttl = 3 * time.Second // short, because a test waits for it
	locker, err := gooselock.New(client, gooselock.Config{TTL: ttl})
	if err != nil {
		return err
	}
	provider, err := p.provider(locker, func(context.Context) error {
		fmt.Fprint(os.Stdout, "!")
		_, err := io.Copy(io.Discard, os.Stdin) // until the test ends, if it does not kill us
		return err
	})
	if err != nil {
		return err
	}
	_, err = provider.Up(ctx)
	return err
}

// Goal: a crash of who migrates keeps the others waiting no longer than the TTL. Method: SIGKILL in the middle of a migration, when
// another one is seen to wait; it applies the migration then.
func TestACrash(t *testing.T) {
	t.Parallel()
	eachPlace(t, func(t *testing.T, p place) {
		encoded, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		migrator := exec.CommandContext(t.Context(), os.Args[0])
		migrator.Env = append(os.Environ(), migratorVariable+"="+string(encoded))
		migrator.Stderr = os.Stderr
		if _, err := migrator.StdinPipe(); err != nil {
			t.Fatal(err)
		}
		stdout, err := migrator.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := migrator.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(stdout, make([]byte, 1)); err != nil {
			t.Fatalf("the process has not begun: %v", err)
		}
		var killed atomic.Bool
		client := testclient.Open(t, p.DSN, "", nil)
		provider := p.mustProvider(t, mustNew(t, client, gooselock.Config{}), func(context.Context) error {
			if !killed.Load() {
				t.Error("two migrate at the same time")
			}
			return nil
		})
		ended := make(chan error, 1)
		go func() {
			results, err := provider.Up(t.Context())
			if err == nil && len(results) != 1 {
				err = fmt.Errorf("%d migrations were applied, want 1", len(results))
			}
			ended <- err
		}()
		if err := awaitWaiter(t.Context(), client); err != nil {
			t.Fatal(err)
		}
		killed.Store(true)
		if err := migrator.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = migrator.Wait() // it was killed
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
