package contract

import (
	"errors"
	"sync"
	"testing"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/migrate"
)

// Goal: migrating is complete, repeatable, reversible, and safe when many processes do it at once. Method: the steps one after the other;
// then 20 clients on one empty database.
func migrations(t *testing.T, backend Backend) {
	t.Run("UpDownStatus", func(t *testing.T) { upDownStatus(t, backend) })
	t.Run("TwentyAtOnce", func(t *testing.T) { twentyAtOnce(t, backend) })
	t.Run("LocksSurviveUp", func(t *testing.T) { locksSurviveUp(t, backend) })
	t.Run("Uninstall", func(t *testing.T) { uninstall(t, backend) })
}

func upDownStatus(t *testing.T, backend Backend) {
	t.Parallel()
	client := backend.Empty(t)()
	ctx := t.Context()
	requireNothingInstalled(t, client)
	done, err := migrate.Up(ctx, client, migrate.UpRequest{})
	if err != nil || len(done.Steps) == 0 {
		t.Fatalf("migrate up: %v, %v", done, err)
	}
	requireStatus(t, client, len(done.Steps))
	if version, err := client.Version(ctx); err != nil || version != applock.ContractVersion {
		t.Errorf("version: %d, %v, want %d", version, err, applock.ContractVersion)
	}
	if again, err := migrate.Up(ctx, client, migrate.UpRequest{}); err != nil || len(again.Steps) != 0 {
		t.Errorf("migrate up again: %v, %v, want nothing to do", again, err)
	}
	for range done.Steps {
		if undone, err := migrate.Down(ctx, client, migrate.DownRequest{Force: true}); err != nil || len(undone.Steps) != 1 {
			t.Fatalf("migrate down: %v, %v", undone, err)
		}
	}
	requireStatus(t, client, 0)
	if undone, err := migrate.Down(ctx, client, migrate.DownRequest{Force: true}); err != nil || len(undone.Steps) != 0 {
		t.Errorf("migrate down at the bottom: %v, %v, want nothing to do", undone, err)
	}
	if _, err := migrate.Up(ctx, client, migrate.UpRequest{}); err != nil {
		t.Errorf("migrate up after down: %v", err)
	}
}

// requireNothingInstalled calls an operation that must report the missing schema, and those that work without one.
func requireNothingInstalled(t *testing.T, client *applock.Client) {
	t.Helper()
	requireStatus(t, client, 0)
	if _, err := client.Inquire(t.Context(), customer(1)); !errors.Is(err, applock.ErrSchema) {
		t.Errorf("inquire before migrating: %v, want ErrSchema", err)
	}
	if server, err := client.Ping(t.Context()); err != nil || server.Product == "" {
		t.Errorf("ping before migrating: %v, %v", server, err)
	}
	if _, err := client.Version(t.Context()); !errors.Is(err, applock.ErrSchema) {
		t.Errorf("version before migrating: %v, want ErrSchema", err)
	}
}

func twentyAtOnce(t *testing.T, backend Backend) {
	t.Parallel()
	const clients = 20
	open := backend.Empty(t)
	var group sync.WaitGroup
	applied := make(chan int, clients)
	for range clients {
		client := open()
		group.Go(func() {
			done, err := migrate.Up(t.Context(), client, migrate.UpRequest{})
			if err != nil {
				t.Errorf("migrate up: %v", err)
			}
			applied <- len(done.Steps)
		})
	}
	group.Wait()
	close(applied)
	total := 0
	for steps := range applied {
		total += steps
	}
	client := open()
	if status, err := migrate.Status(t.Context(), client); err != nil || len(status.Steps) != total {
		t.Errorf("%d migrations were applied, %v, want each of %d once", total, err, len(status.Steps))
	}
	requireStatus(t, client, total)
	mustGet(t, client, customer(1), "JDOE")
}

func locksSurviveUp(t *testing.T, backend Backend) {
	t.Parallel()
	place := backend.New(t)
	grant := mustGet(t, place.Client, customer(1), "JDOE")
	if _, err := migrate.Up(t.Context(), place.Client, migrate.UpRequest{}); err != nil {
		t.Fatal(err)
	}
	lock, err := place.Client.Inquire(t.Context(), customer(1))
	if err != nil || lock.Fence != grant.Fence {
		t.Errorf("inquire: %v, %v, want fence %d", lock, err, grant.Fence)
	}
}

func uninstall(t *testing.T, backend Backend) {
	t.Parallel()
	client := backend.New(t).Client
	ctx := t.Context()
	for range 2 { // the second one finds nothing to remove
		if _, err := migrate.Uninstall(ctx, client, migrate.UninstallRequest{Force: true}); err != nil {
			t.Fatal(err)
		}
		if _, err := client.Inquire(ctx, customer(1)); !errors.Is(err, applock.ErrSchema) {
			t.Errorf("inquire after uninstall: %v, want ErrSchema", err)
		}
	}
	if _, err := migrate.Up(ctx, client, migrate.UpRequest{}); err != nil {
		t.Error(err)
	}
}

// requireStatus expects a time for each of the first applied migrations, and none for the others.
func requireStatus(t *testing.T, client *applock.Client, applied int) {
	t.Helper()
	status, err := migrate.Status(t.Context(), client)
	if err != nil {
		t.Fatal(err)
	}
	for i, migration := range status.Steps {
		if migration.Version != int64(i+1) || migration.AppliedAt.IsZero() != (i >= applied) {
			t.Errorf("status of migration %d: %+v, with %d applied", i+1, migration, applied)
		}
	}
	if len(status.Steps) < applied {
		t.Errorf("status has %d migrations, %d were applied", len(status.Steps), applied)
	}
}
