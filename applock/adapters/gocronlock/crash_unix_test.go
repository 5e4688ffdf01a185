//go:build unix

package gocronlock_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/go-co-op/gocron/v2"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/adapters/gocronlock"
	"github.com/applock/applock/applock/open"
)

// holderVariable has the DSN for a process that runs the job until it is killed.
const holderVariable = "APPLOCK_GOCRONLOCK_HOLDER"

func TestMain(m *testing.M) {
	if dsn := os.Getenv(holderVariable); dsn != "" {
		if err := hold(context.Background(), dsn); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// crashTTL is short, because a test waits for it.
const crashTTL = 3 * time.Second

// hold begins a run that does not end, and says so.
func hold(ctx context.Context, dsn string) error {
	client, err := open.ByDSN(ctx, dsn, open.Config{})
	if err != nil {
		return err
	}
	locker, err := gocronlock.New(client, gocronlock.Config{MaxHold: time.Hour, TTL: crashTTL})
	if err != nil {
		return err
	}
	scheduler, err := gocron.NewScheduler(gocron.WithDistributedLocker(locker))
	if err != nil {
		return err
	}
	task := gocron.NewTask(func() {
		fmt.Fprint(os.Stdout, "!")
		select {}
	})
	when := gocron.OneTimeJob(gocron.OneTimeJobStartImmediately())
	if _, err := scheduler.NewJob(when, task, gocron.WithName("nightly")); err != nil {
		return err
	}
	scheduler.Start()
	_, err = io.Copy(io.Discard, os.Stdin) // until the test ends, if it does not kill us
	return err
}

// Goal: a crash of the process that runs a job keeps the others from it no longer than the TTL, and the run after it has a greater
// fence. Method: SIGKILL; before it, another scheduler is refused more than once, and after it, its next runs are, until one is not.
func TestACrash(t *testing.T) {
	t.Parallel()
	eachPlace(t, func(t *testing.T, dsn string) {
		s := newScheduler(t, dsn, gocronlock.Config{MaxHold: time.Hour})
		holder := exec.CommandContext(t.Context(), os.Args[0])
		holder.Env = append(os.Environ(), holderVariable+"="+dsn)
		holder.Stderr = os.Stderr
		_, err := holder.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		stdout, err := holder.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := holder.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(stdout, make([]byte, 1)); err != nil {
			t.Fatalf("the process has not begun: %v", err)
		}
		overtook := make(chan applock.Fence, 1000)
		s.every(t, 50*time.Millisecond, func() { overtook <- s.locker.Lease("nightly").Fence() })
		var held *applock.HeldError
		for range 3 {
			if err := <-s.skipped; !errors.As(err, &held) {
				t.Fatalf("skipped because of %v, want ErrHeld", err)
			}
		}
		if len(overtook) > 0 {
			t.Fatal("the job runs twice")
		}
		if err := holder.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = holder.Wait() // it was killed
		if fence := <-overtook; fence <= held.Holder.Fence {
			t.Errorf("the fence %d comes after %d", fence, held.Holder.Fence)
		}
	})
}
