package applock_test

import (
	"context"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/applocktest"
	"github.com/applock/applock/internal/testing/testfile"
)

// edit is what the package's documentation begins with.
func edit(ctx context.Context, client *applock.Client, work func(ctx context.Context) error) error {
	err := client.Do(ctx, applock.AcquireRequest{
		Object:  applock.Object{Type: "customer", ID: "42"},
		MaxHold: 10 * time.Minute, // it ends then, whatever happens
		TTL:     30 * time.Second, // renewed until then; after a crash the object is free in 30 s
	}, func(ctx context.Context, lease applock.Lease) error {
		return work(ctx) // which ends when the lease is lost
	})
	return err
}

// Goal: the documentation fits on three screens, and begins with ten lines of code at the most, which get, keep and release a lock. Method: go
// doc, and the same code on a database.
func TestDocumentationBeginsWithCode(t *testing.T) {
	t.Parallel()
	_, code, _ := strings.Cut(testfile.Read(t, "doc_test.go"), "error) error {\n")
	code, _, _ = strings.Cut(code, "\treturn err\n")
	documentation := testfile.Read(t, "doc.go")
	if shown := "//" + strings.ReplaceAll(strings.TrimSuffix(code, "\n"), "\n", "\n//") + "\n"; !strings.Contains(documentation, "keeps:\n//\n"+shown) {
		t.Errorf("doc.go does not begin with\n%s", shown)
	}
	if lines := strings.Count(code, "\n"); lines > 10 {
		t.Errorf("%d lines of code", lines)
	}
	output, err := exec.CommandContext(t.Context(), "go", "doc", ".").Output()
	if lines := strings.Count(string(output), "\n"); err != nil || lines > 3*40 {
		t.Errorf("go doc has %d lines, three screens have 120: %v", lines, err)
	}

	client := applocktest.New(t).Client
	object := applock.Object{Type: "customer", ID: "42"}
	worked := false
	err = edit(t.Context(), client, func(ctx context.Context) error {
		worked = true
		_, err := client.Inquire(ctx, object)
		return err
	})
	if err != nil || !worked {
		t.Errorf("the lock is there while work runs: %v, and work ran: %t", err, worked)
	}
	if lock, err := client.Inquire(t.Context(), object); err == nil {
		t.Errorf("%s holds it afterwards", lock.Owner)
	}
}
