package migrate

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/internal/player"
	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/migrate"
	"github.com/applock/applock/internal/scenario"
	"github.com/applock/applock/testdata"
)

// DefaultRehearseTimeout bounds a call of Rehearse if its request sets no timeout.
const DefaultRehearseTimeout = 10 * time.Second

// RehearseRequest configures Rehearse. The zero value is usable.
type RehearseRequest struct {
	// Timeout bounds each call, and the wait for the end of a lock of one second; zero is DefaultRehearseTimeout.
	Timeout time.Duration
}

// RehearseResult is the result of Rehearse.
type RehearseResult struct {
	// TypePrefix is a random prefix of its objects' types.
	TypePrefix string
	// Played is the number of steps with the expected answer.
	Played int
	// Failure is the first unexpected answer, for people; empty if there was none.
	Failure string
	// Left is true if the client may not delete the rows. Their locks are released, and a purge will delete them.
	Left bool
}

// Rehearse plays the contract's scenarios on the database itself, except those that need a clock to be turned or would meet others' locks.
// Then it waits for the end of a lock of one second. It makes some hundred calls. Its objects have types with a random prefix. The rows of
// each scenario are deleted at its end, even after ctx has ended. Rehearse waits for a running call before it deletes.
func Rehearse(ctx context.Context, client *applock.Client, request RehearseRequest) (result RehearseResult, err error) {
	if request.Timeout == 0 {
		request.Timeout = DefaultRehearseTimeout
	}
	if err := ctx.Err(); err != nil {
		return result, fmt.Errorf("rehearse: %w", err)
	}
	result.TypePrefix = "verify_" + strings.ToLower(rand.Text()[:12])
	r := &rehearsal{client: client, limit: request.Timeout, result: &result}
	acts, err := r.acts()
	if err != nil {
		return result, fmt.Errorf("rehearse: %w", err)
	}
	for _, act := range acts {
		err = r.play(ctx, act)
		if deleteErr := r.deleteRows(ctx); deleteErr != nil {
			return result, fmt.Errorf("rehearse: %w", errors.Join(err, deleteErr))
		}
		if err != nil {
			break
		}
	}
	if err == nil {
		return result, nil
	}
	if ctx.Err() != nil ||
		errors.Is(err, applock.ErrUnreachable) || errors.Is(err, applock.ErrOutcomeUnknown) || errors.Is(err, applock.ErrClosed) {
		return result, fmt.Errorf("rehearse: %w", err)
	}
	result.Failure = err.Error()
	return result, nil
}

type rehearsal struct {
	client *applock.Client
	limit  time.Duration
	result *RehearseResult
	// types are the types that may have rows.
	types map[string]bool
}

// act is a sequence of steps on objects of its own.
type act []step

// step is one call, or several concurrent ones.
type step struct {
	name string
	// types are the types of the objects that it may change.
	types []string
	// play returns the deviation from the expected answer, or an empty text.
	play func(ctx context.Context) (problem string, err error)
}

// acts returns the scenarios sorted by name, each with types of its own, and the end of a lock.
func (r *rehearsal) acts() ([]act, error) {
	files, err := fs.Glob(testdata.Scenarios, "scenarios/*.txt")
	if err != nil {
		return nil, err
	}
	var acts []act
	for i, file := range files {
		text, err := testdata.Scenarios.ReadFile(file)
		if err != nil {
			return nil, err
		}
		parsed, err := scenario.Parse(string(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		acts = append(acts, r.act(path.Base(file), parsed.Scratch(fmt.Sprintf("%s_%d_", r.result.TypePrefix, i))))
	}
	return append(acts, r.end()), nil
}

// act makes an act of a scenario.
func (r *rehearsal) act(file string, steps []scenario.Step) act {
	var act act
	execute, variables := player.Through(r.client), map[string]string{}
	for _, each := range steps {
		name := fmt.Sprintf("%s, line %d: %s", file, each.Line, each.Text)
		act = append(act, step{name: name, types: each.Types(), play: func(ctx context.Context) (string, error) {
			answer, err := execute(ctx, each.Operation, scenario.Bind(each.Args, variables))
			if err != nil {
				return "", err
			}
			return scenario.Compare(answer, each.Words, each.Terms, variables), nil
		}})
	}
	return act
}

// end is an act about the end of a lock of one second, by the server's own clock.
func (r *rehearsal) end() act {
	object := applock.Object{Type: r.result.TypePrefix, ID: "1"}
	var fence applock.Fence
	get := func(operator string, ttl time.Duration) func(ctx context.Context) (string, error) {
		return func(ctx context.Context) (problem string, err error) {
			grant, err := r.client.Get(ctx, applock.GetRequest{Object: object, Owner: applock.Owner{Operator: operator}, TTL: ttl})
			if err == nil && grant.Fence <= fence {
				problem = fmt.Sprintf("answered fence %d, want a greater one than %d", grant.Fence, fence)
			}
			fence = grant.Fence
			return problem, err
		}
	}
	types := []string{object.Type}
	return act{
		{"get for one second", types, get("A", time.Second)},
		{"wait for its end", types, func(ctx context.Context) (string, error) { return r.expire(ctx, object) }},
		{"get what has expired", types, get("B", time.Minute)},
	}
}

// play plays an act. Once begun, a step runs to its end even if ctx ends.
func (r *rehearsal) play(ctx context.Context, act act) error {
	r.types = map[string]bool{}
	for _, step := range act {
		if err := ctx.Err(); err != nil {
			return err
		}
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.limit)
		problem, err := step.play(bounded)
		cancel()
		if err == nil || errors.Is(err, applock.ErrOutcomeUnknown) {
			for _, objectType := range step.types {
				r.types[objectType] = true
			}
		}
		if err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
		if problem != "" {
			return fmt.Errorf("%s: %s", step.name, problem)
		}
		r.result.Played++
	}
	return nil
}

// expirePause is the pause between two checks whether the lock has ended.
const expirePause = 100 * time.Millisecond

// expire waits until the lock has expired.
func (r *rehearsal) expire(ctx context.Context, object applock.Object) (problem string, err error) {
	for {
		_, err := r.client.Inquire(ctx, object)
		if errors.Is(err, applock.ErrNotHeld) {
			return "", nil
		}
		if err != nil {
			return "", err
		}
		select {
		case <-ctx.Done():
			return "a lock of one second has not ended", nil
		case <-time.After(expirePause):
		}
	}
}

// deleteRows deletes the rows, or releases the locks if the account may not delete.
func (r *rehearsal) deleteRows(ctx context.Context) error {
	if len(r.types) == 0 {
		return nil
	}
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.limit)
	defer cancel()
	err := onTarget(bounded, r.client, "delete the rows of types "+r.result.TypePrefix, func(handle db.Handle, target migrate.Target) error {
		for objectType := range r.types {
			for _, table := range []string{"appl_lock", "appl_lock_waiter", "appl_lock_ask", "appl_lock_viewer", "appl_lock_event"} {
				if err := migrate.InTx(bounded, target.DB, func(client migrate.Client) error {
					_, err := client.ExecContext(bounded, target.DeleteType(table), objectType)
					return err
				}); err != nil {
					return handle.Interpret(bounded, err)
				}
			}
		}
		return nil
	})
	if errors.Is(err, applock.ErrPrivilege) {
		r.result.Left = true
		return r.release(bounded)
	}
	return err
}

// release releases the remaining locks.
func (r *rehearsal) release(ctx context.Context) error {
	for _, objectType := range slices.Sorted(maps.Keys(r.types)) {
		for lock, err := range r.client.List(ctx, applock.ListRequest{ObjectType: objectType}) {
			if err != nil {
				return err
			}
			key := applock.Key{Object: lock.Object, Operator: lock.Owner.Operator}
			if _, err := r.client.Release(ctx, applock.ReleaseRequest{Key: key}); err != nil {
				return err
			}
		}
	}
	return nil
}
