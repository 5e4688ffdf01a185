package inspect

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

	"github.com/applock/applock/internal/clients"
	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/dialects"
	"github.com/applock/applock/internal/migrate"
	"github.com/applock/applock/internal/scenario"
	"github.com/applock/applock/testdata"
)

// Rehearsal is the result of Rehearse.
type Rehearsal struct {
	// TypePrefix is a random prefix of its objects' types.
	TypePrefix string
	// Played is the number of steps with the expected answer.
	Played int
	// Failure is the first unexpected answer, for people; empty if there was none.
	Failure string
	// Left is true if the account may not delete the rows. Their locks are released, and a purge will delete them.
	Left bool
}

// Rehearse plays the contract's scenarios through an *applock.Client on the database itself, except those that need a clock to be turned or
// would meet others' locks. Then it waits for the end of a lock of one second. It makes some hundred calls, each bounded by limit. Its
// objects have types with a random prefix. The rows of each scenario are deleted at its end, even after ctx has ended. Rehearse waits for a
// running call before it deletes.
func Rehearse(ctx context.Context, client any, limit time.Duration) (result Rehearsal, err error) {
	if err := ctx.Err(); err != nil {
		return result, fmt.Errorf("rehearse: %w", err)
	}
	result.TypePrefix = "verify_" + strings.ToLower(rand.Text()[:12])
	r := &rehearsal{execute: clients.Through[scenario.Executor](client), driver: clients.Driver(client), limit: limit, result: &result}
	acts, err := actsOf(result.TypePrefix)
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
	cutOff := []db.Kind{db.KindUnreachable, db.KindPool, db.KindFull, db.KindClosed, db.KindInFlight}
	if ctx.Err() != nil || slices.Contains(cutOff, db.KindOf(err)) {
		return result, fmt.Errorf("rehearse: %w", err)
	}
	result.Failure = err.Error()
	return result, nil
}

// act is a scenario with types of its own.
type act struct {
	name  string
	steps []scenario.Step
}

// expiry is about the end of a lock, by the server's own clock. Its inquiry is repeated until the lock has ended.
const expiry = `
get object_type=end object_id=1 operator_id=A ttl_seconds=1 -> Y ACQUIRED fence=$first
inquire object_type=end object_id=1 -> N
get object_type=end object_id=1 operator_id=B ttl_seconds=60 -> Y ACQUIRED fence>$first
`

// actsOf returns the scenarios sorted by name, and the end of a lock.
func actsOf(prefix string) ([]act, error) {
	files, err := fs.Glob(testdata.Scenarios, "scenarios/*.txt")
	if err != nil {
		return nil, err
	}
	var acts []act
	add := func(name, text string) error {
		parsed, err := scenario.Parse(text)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		acts = append(acts, act{name, parsed.Scratch(fmt.Sprintf("%s_%d_", prefix, len(acts)))})
		return nil
	}
	for _, file := range files {
		text, err := testdata.Scenarios.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if err := add(path.Base(file), string(text)); err != nil {
			return nil, err
		}
	}
	return acts, add("expiry", expiry)
}

type rehearsal struct {
	execute scenario.Executor
	driver  db.Driver
	limit   time.Duration
	result  *Rehearsal
	// types are the types that may have rows.
	types map[string]bool
}

// play plays an act. Once begun, a step runs to its end even if ctx ends.
func (r *rehearsal) play(ctx context.Context, act act) error {
	r.types = map[string]bool{}
	variables := map[string]string{}
	for _, step := range act.steps {
		if err := ctx.Err(); err != nil {
			return err
		}
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.limit)
		problem, err := r.step(bounded, step, variables)
		for act.name == "expiry" && step.Operation == "inquire" && problem != "" && err == nil && bounded.Err() == nil {
			time.Sleep(expirePause)
			problem, err = r.step(bounded, step, variables)
		}
		cancel()
		if err == nil || db.KindOf(err) == db.KindInFlight {
			for _, objectType := range step.Types() {
				r.types[objectType] = true
			}
		}
		if err != nil {
			return fmt.Errorf("%s, line %d: %s: %w", act.name, step.Line, step.Text, err)
		}
		if problem != "" {
			return fmt.Errorf("%s, line %d: %s: %s", act.name, step.Line, step.Text, problem)
		}
		r.result.Played++
	}
	return nil
}

// mostLeft is more locks than a scenario leaves.
const mostLeft = 1000

// expirePause is the pause between two checks whether the lock has ended.
const expirePause = 100 * time.Millisecond

// step returns the deviation from the expected answer, or an empty text.
func (r *rehearsal) step(ctx context.Context, step scenario.Step, variables map[string]string) (problem string, err error) {
	answer, err := r.execute(ctx, step.Operation, scenario.Bind(step.Args, variables))
	if err != nil {
		return "", err
	}
	return scenario.Compare(answer, step.Words, step.Terms, variables), nil
}

// deleteRows deletes the rows, or releases the locks if the account may not delete.
func (r *rehearsal) deleteRows(ctx context.Context) error {
	if len(r.types) == 0 {
		return nil
	}
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.limit)
	defer cancel()
	err := dialects.OnTarget(bounded, r.driver, func(_ dialects.Dialect, target migrate.Target) error {
		for objectType := range r.types {
			if err := target.DeleteType(bounded, objectType); err != nil {
				return err
			}
		}
		return nil
	})
	if db.KindOf(err) == db.KindPrivilege {
		r.result.Left = true
		return r.release(bounded)
	}
	if err != nil {
		return fmt.Errorf("delete the rows of types %s: %w", r.result.TypePrefix, clients.Explain(err))
	}
	return nil
}

// release releases the remaining locks.
func (r *rehearsal) release(ctx context.Context) error {
	for _, objectType := range slices.Sorted(maps.Keys(r.types)) {
		locks, err := r.driver.ApplLockLive(ctx, db.ApplLockLiveParams{ObjectType: objectType, MaxRows: mostLeft})
		if err != nil {
			return clients.Explain(err)
		}
		for _, lock := range locks {
			args := scenario.Args{"object_type": lock.ObjectType, "object_id": lock.ObjectID, "operator_id": lock.OperatorID}
			if _, err := r.execute(ctx, "release", args); err != nil {
				return err
			}
		}
	}
	return nil
}
