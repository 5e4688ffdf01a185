package applock_test

import (
	"context"
	"errors"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/applocktest"
	"github.com/applock/applock/internal/testing/testfile"
)

// calls are what the package's documentation begins with.
func calls(ctx context.Context, client *applock.Client, work func(ctx context.Context, lease applock.Lease) error) error {
	customer := applock.Object{Type: "customer", ID: "42"}
	grant, err := client.Get(ctx, applock.GetRequest{Object: customer, Owner: applock.Owner{Operator: "JDOE"}, TTL: 72 * time.Hour})
	// A refusal is a *HeldError: who has it, and until when. Client.Release gives it back.
	if err != nil || grant.Fence == 0 {
		return err
	}

	lease, err := client.Acquire(ctx, applock.AcquireRequest{Object: applock.Object{Type: "import", ID: "7"}})
	// It waits for its turn, and lasts until lease.Release; after a crash the object is free in a minute.
	if err != nil {
		return err
	}
	defer func() { _ = lease.Release(ctx) }()

	ran, err := client.TryDo(ctx, applock.AcquireRequest{Object: applock.Object{Type: "job", ID: "nightly"}}, work)
	// It has not run if another node is running it.
	if err == nil && !ran {
		return errors.New("refused")
	}
	return err
}

// Goal: the documentation fits on three screens, and begins with the three calls that most programs need. Method: go doc, and the same lines on a
// database.
func TestDocumentationBeginsWithCode(t *testing.T) {
	t.Parallel()
	documentation, page, _ := strings.Cut(testfile.Read(t, "doc.go"), "//\n// Package postgres")
	_, code, _ := strings.Cut(testfile.Read(t, "doc_test.go"), "lease applock.Lease) error) error {\n")
	shown := 0
	for line := range strings.Lines(documentation) {
		if text, ok := strings.CutPrefix(line, "//\t"); ok {
			shown++
			if !strings.Contains(code, "\t"+text) {
				t.Errorf("calls has no line %s", text)
			}
		}
	}
	if shown < 6 || shown > 10 || page == "" {
		t.Errorf("doc.go begins with %d lines of code", shown)
	}
	output, err := exec.CommandContext(t.Context(), "go", "doc", ".").Output()
	if lines := strings.Count(string(output), "\n"); err != nil || lines > 3*40 {
		t.Errorf("go doc has %d lines, three screens have 120: %v", lines, err)
	}

	client := applocktest.New(t).Client
	worked := false
	err = calls(t.Context(), client, func(ctx context.Context, _ applock.Lease) error {
		for lock, err := range client.List(ctx, applock.ListRequest{}) {
			if err != nil {
				return err
			}
			worked = worked || lock.Object.ID == "nightly"
		}
		return nil
	})
	if err != nil || !worked {
		t.Errorf("the lock is there while work runs: %t, %v", worked, err)
	}
	var left []string
	for lock, err := range client.List(t.Context(), applock.ListRequest{}) {
		left = append(left, lock.Object.String())
		if err != nil {
			t.Error(err)
		}
	}
	if !slices.Equal(left, []string{"customer:42"}) {
		t.Errorf("%v are locked afterwards, want the person's", left)
	}
}
