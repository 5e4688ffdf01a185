package contract

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/applock/applock/internal/clients"
	"github.com/applock/applock/internal/scenario"
	"github.com/applock/applock/testdata"
)

// Scenarios runs all files of testdata/scenarios, each through each way of calling in an empty place.
func Scenarios(t *testing.T, backend Backend) {
	t.Helper()
	eachFile(t, testdata.Scenarios, scenario.Parse, func(name string, parsed scenario.Scenario) {
		for _, way := range backend.Ways {
			if len(parsed.Via) > 0 && !slices.Contains(parsed.Via, way) {
				continue
			}
			t.Run(name+"/"+way, func(t *testing.T) {
				t.Parallel()
				place := backend.New(t)
				if way == "facade" && place.Driver == nil {
					t.Fatal("the place has no Driver")
				}
				play(t, parsed, place.Executor(way), place.Advance)
				if place.SQL == nil {
					return
				}
				var noted int
				row := place.SQL.QueryRowContext(t.Context(), "SELECT count(*) FROM "+place.Table+" WHERE released_ts IS NOT NULL AND note <> ''")
				if err := row.Scan(&noted); err != nil || noted > 0 {
					t.Errorf("%d released rows have a note, %v", noted, err)
				}
			})
		}
	})
}

// Player is a program in another language that plays the scenarios in its own place. It calls as the row form does: the server alone
// checks its arguments.
type Player struct {
	Execute scenario.Executor
	// Way is the one that files which are not for all must name; empty is the row form.
	Way string
	// Lacks are the operations that the program does not have: a file is played up to the first of them.
	Lacks map[string]bool
	// Empty removes all locks and waiters. Advance is the same as in Place.
	Empty   func(ctx context.Context) error
	Advance func(ctx context.Context, duration time.Duration) error
}

// Play runs all files of testdata/scenarios one after the other, and prints each step with another answer than expected.
func (p Player) Play(t *testing.T) {
	t.Helper()
	eachFile(t, testdata.Scenarios, scenario.Parse, func(name string, parsed scenario.Scenario) {
		if len(parsed.Via) > 0 && !slices.Contains(parsed.Via, cmp.Or(p.Way, "row")) {
			return
		}
		t.Run(name, func(t *testing.T) {
			if err := p.Empty(t.Context()); err != nil {
				t.Fatal(err)
			}
			parsed.Steps = p.known(parsed.Steps)
			play(t, parsed, p.Execute, p.Advance)
		})
	})
}

// known returns the steps before the first one that the player does not know, because the later steps depend on it.
func (p Player) known(steps []scenario.Step) []scenario.Step {
	if i := slices.IndexFunc(steps, func(step scenario.Step) bool { return p.Lacks[step.Operation] }); i >= 0 {
		return steps[:i]
	}
	return steps
}

// Executor returns a way of calling. The driver serves the operations that the façade does not export; a way by procedures reads the
// views by SQL.
func (p Place) Executor(way string) scenario.Executor {
	if way == "facade" {
		return clients.Through[scenario.Executor](p.Client)
	}
	call := p.Executors[way]
	if p.SQL == nil {
		return call // such as the command line
	}
	return func(ctx context.Context, operation string, args scenario.Args) (scenario.Answer, error) {
		answer, err := call(ctx, operation, args)
		if _, isRead := scenario.ViewOf(operation); isRead && errors.Is(err, scenario.ErrNotOffered) {
			return p.reads()(ctx, operation, args)
		}
		return answer, err
	}
}

// reads returns the way of reading the views by SQL.
func (p Place) reads() scenario.Executor {
	return Reads(p.dialect(), strings.TrimSuffix(p.Table, "appl_lock"), func(ctx context.Context, query string, values []any) ([]map[string]any, error) {
		rows, err := RowsByColumn(ctx, p.SQL, query, values...)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", query, err)
		}
		return rows, nil
	})
}

// dialect is the name of the place's SQL.
func (p Place) dialect() string {
	handle, err := p.Driver.Handle()
	if err != nil {
		return ""
	}
	defer func() { _ = handle.Close() }()
	return handle.Dialect
}

func play(
	t *testing.T, parsed scenario.Scenario, execute scenario.Executor,
	advance func(ctx context.Context, duration time.Duration) error,
) {
	t.Helper()
	variables := map[string]string{}
	for _, step := range parsed.Steps {
		if step.Operation == "advance" {
			if err := advance(t.Context(), step.Advance); err != nil {
				t.Fatalf("line %d: %s: %v", step.Line, step.Text, err)
			}
			continue
		}
		answer, err := execute(t.Context(), step.Operation, scenario.Bind(step.Args, variables))
		if errors.Is(err, scenario.ErrNotOffered) {
			continue
		}
		if err != nil {
			t.Fatalf("line %d: %s: %v", step.Line, step.Text, err)
		}
		if problem := scenario.Compare(answer, step.Words, step.Terms, variables); problem != "" {
			t.Errorf("line %d: %s\n%s", step.Line, step.Text, problem)
		}
	}
}
