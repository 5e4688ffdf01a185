// Command report runs go test and reports its progress: each package as it finishes, with a count; each failure at once; at the end what
// ran, how long, and on which servers. Flags of go test come first, packages after two dashes:
//
//	go run ./internal/testing/report -race -shuffle=on -- ./...
//
// Its last line counts the tests: "1234 passed, 0 failed, 5 skipped". A test with subtests counts only if it fails by
// itself. A package that fails without a failed test, because it cannot be built for example, counts as one. The exit
// code is not 0 if anything failed.
//
// gotestsum cannot replace it: it lacks the count of packages, the table and the servers.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

const (
	// backendsVariable holds the servers of the tests; internal/testing/testserver sets it.
	backendsVariable = "APPLOCK_TEST_BACKENDS"

	// tallyVariable names a file to append the last line to, for a run of several reports.
	tallyVariable = "APPLOCK_TEST_TALLY"

	// silence is the time without news after which the report lists the running tests.
	silence = 20 * time.Second

	exitUsage = 2
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err == nil {
		return
	}
	fmt.Fprintln(os.Stderr, "report:", err)
	if errors.Is(err, errUsage) {
		os.Exit(exitUsage)
	}
	os.Exit(1)
}

var errUsage = errors.New("usage: report [FLAG OF GO TEST] -- PACKAGE [PACKAGE]")

// run tests packages and writes the report to w. It returns an error if anything failed.
func run(ctx context.Context, args []string, w io.Writer) error {
	dashes := slices.Index(args, "--")
	if dashes < 0 || dashes == len(args)-1 {
		return errUsage
	}
	flags, packages := args[:dashes], args[dashes+1:]
	total, err := count(ctx, packages)
	if err != nil {
		return err
	}
	r := newReport(w, total)
	failure := r.follow(goTest(ctx, flags, packages))
	r.summary(os.Getenv(backendsVariable))
	if err := keepTally(os.Getenv(tallyVariable), r.tally()); err != nil {
		return err
	}
	// The tally is the last line, for people and programs.
	fmt.Fprintln(w, r.tally())
	if failure == nil && r.total.failed > 0 {
		failure = errors.New("something failed")
	}
	return failure
}

// count returns how many of the packages have tests.
func count(ctx context.Context, packages []string) (int, error) {
	list := exec.CommandContext(ctx, "go", append([]string{"list", "-e", "-f",
		"{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}"}, packages...)...)
	list.Stderr = os.Stderr
	output, err := list.Output()
	if err != nil {
		return 0, fmt.Errorf("go list: %w", err)
	}
	return len(strings.Fields(string(output))), nil
}

// goTest is the go test command that the report follows. An interrupt ends the tests.
func goTest(ctx context.Context, flags, packages []string) *exec.Cmd {
	test := exec.CommandContext(ctx, "go", slices.Concat([]string{"test", "-json"}, flags, packages)...)
	test.Stderr = os.Stderr
	test.Cancel = func() error { return test.Process.Signal(os.Interrupt) }
	return test
}

// keepTally appends the last line to a file; without a name it does nothing.
func keepTally(name, tally string) error {
	if name == "" {
		return nil
	}
	file, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(file, tally)
	return errors.Join(err, file.Close())
}
