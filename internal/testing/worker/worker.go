// Package worker runs the program of a test once more, as another process of the test: it gets a job and orders, writes down what it sees,
// and is stopped and killed.
package worker

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	jobVariable, ordersVariable = "APPLOCK_TEST_JOB", "APPLOCK_TEST_ORDERS"
	// lastWords is how much of what a process has said on its standard error an error tells.
	lastWords = 4000
)

// Main is for TestMain. In a process that Start has started it does the job, and exits. Orders are JSON, for json.Unmarshal.
func Main(jobs map[string]func(ctx context.Context, orders []byte) error) {
	name := os.Getenv(jobVariable)
	if name == "" {
		return
	}
	job := jobs[name]
	if job == nil {
		fmt.Fprintln(os.Stderr, "there is no job "+name)
		os.Exit(1)
	}
	if err := job(context.Background(), []byte(os.Getenv(ordersVariable))); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// UntilTold returns a context that ends when the test closes In, or has gone.
func UntilTold(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	return ctx
}

// Process is a process with a job. It ends with the test.
type Process struct {
	*exec.Cmd

	In   io.WriteCloser
	Out  *bufio.Reader
	said bytes.Buffer
	wait func() error
}

// Start starts the program of the test with a job.
func Start(t testing.TB, job string, orders any) *Process {
	t.Helper()
	return Run(t, exec.CommandContext(t.Context(), Program(t)), job, orders) //nolint:gosec // the test's own program
}

// Program is that of the test.
func Program(t testing.TB) string {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// Run starts a command that runs such a program.
func Run(t testing.TB, command *exec.Cmd, job string, orders any) *Process {
	t.Helper()
	text, err := json.Marshal(orders)
	if err != nil {
		t.Fatal(err)
	}
	p := &Process{Cmd: command}
	p.wait = sync.OnceValue(p.Cmd.Wait)
	p.Env = append(p.Environ(), jobVariable+"="+job, ordersVariable+"="+string(text))
	p.Stderr = &p.said
	apart(p.Cmd)
	if p.In, err = p.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.Out = bufio.NewReader(out)
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	return p
}

// Await returns when the process has printed a line.
func (p *Process) Await(t testing.TB, line string) {
	t.Helper()
	if got, err := p.Out.ReadString('\n'); strings.TrimSpace(got) != line {
		t.Fatalf("a process says %q, want %q: %v", got, line, errors.Join(err, p.Wait()))
	}
}

// Wait returns when the process has ended. What it has printed must have been read before.
func (p *Process) Wait() error {
	if err := p.wait(); err != nil {
		said := p.said.Bytes()
		return fmt.Errorf("%w\n%s", err, said[max(0, len(said)-lastWords):])
	}
	return nil
}

// Answer reads what the process prints as JSON before it ends.
func (p *Process) Answer(into any) error {
	output, err := io.ReadAll(p.Out)
	if err := errors.Join(p.Wait(), err); err != nil {
		return err
	}
	return json.Unmarshal(output, into)
}

// Kill ends the process as a crash does.
func (p *Process) Kill() {
	_ = p.Process.Kill() // it may have ended
	_ = p.wait()
}

// Rest waits for so long, or until ctx ends.
func Rest(ctx context.Context, long time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(long):
	}
}

// Number returns the number in a variable of the environment, which is 1 or more, and without it the usual one.
func Number(t testing.TB, variable string, usual int) int {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return usual
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s must be a number of 1 or more", variable)
	}
	return n
}

// Journal is what a process writes down, each line at once, because it may be killed.
type Journal struct {
	mutex sync.Mutex
	lines *json.Encoder
	file  *os.File
}

// OpenJournal goes on with the journal of that name.
func OpenJournal(path string) (*Journal, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600) //nolint:gosec // the test names it
	if err != nil {
		return nil, err
	}
	return &Journal{lines: json.NewEncoder(file), file: file}, nil
}

// Write writes a line.
func (j *Journal) Write(line any) {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	_ = j.lines.Encode(line) // a test whose folder has gone has ended
}

// Close closes the file.
func (j *Journal) Close() error { return j.file.Close() }

// Read returns the lines of each journal in a folder. The last line of a process that was killed may be cut.
func Read[T any](t testing.TB, folder string) [][]T {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(folder, "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var all [][]T
	for _, path := range paths {
		text, err := os.ReadFile(path) //nolint:gosec // the test names the folder
		if err != nil {
			t.Fatal(err)
		}
		var lines []T
		for line := range bytes.Lines(text) {
			var one T
			if json.Unmarshal(line, &one) == nil {
				lines = append(lines, one)
			}
		}
		all = append(all, lines)
	}
	return all
}
