package migrate

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/applock/applock/internal/db"
)

// StaleRows is how many rows of appl_lock are looked at for those that should have been purged: no index leads to them.
const StaleRows = 10_000

// clockQuestions is how often the server is asked for its time: the quickest answer tells it best.
const clockQuestions = 3

// Surroundings is what lies between a program and the tables.
type Surroundings struct {
	// Isolation is the level of a session's transactions, as the server calls it; empty where there is one only.
	Isolation string
	// ReadOnly says why nothing can be changed here; empty where it can.
	ReadOnly string
	// EndReadOnly is a statement that makes it otherwise, if there is one.
	EndReadOnly string
	// Between is what the connection leads through, or the cluster that it leads to; empty for neither.
	Between string
	// Ahead is how much further the server's clock is than this host's, within half of RoundTrip; both are zero where it is
	// the same clock.
	Ahead, RoundTrip time.Duration
}

// LookAround tells what lies between the program and the tables, or errors.ErrUnsupported. It changes nothing.
func LookAround(ctx context.Context, target Target) (Surroundings, error) {
	if target.Look == nil {
		return Surroundings{}, errors.ErrUnsupported
	}
	conn, err := target.DB.Conn(ctx)
	if err != nil {
		return Surroundings{}, db.NotSent(ctx, target.Interpret(ctx, err))
	}
	defer func() { _ = conn.Close() }() // gives it back to the pool
	found, err := target.Look(ctx, conn)
	if err != nil {
		return found, target.Interpret(ctx, err)
	}
	if target.Clock == "" {
		return found, nil
	}
	for question := range clockQuestions {
		var now int64
		asked := time.Now()
		if err := conn.QueryRowContext(ctx, target.Clock).Scan(&now); err != nil {
			return found, target.Interpret(ctx, err)
		}
		took := time.Since(asked)
		if question == 0 || took < found.RoundTrip {
			found.Ahead, found.RoundTrip = time.UnixMicro(now).Sub(asked.Add(took/2)), took
		}
	}
	return found, nil
}

// StaleLocks are rows of objects that have been free for long.
type StaleLocks struct {
	// Looked is how many rows were looked at, and Rows how many of them have been free for longer.
	Looked, Rows int64
	// Longest is how long the oldest of them has.
	Longest time.Duration
}

// LookForStale looks at the first rows for those of objects that have been free for longer than this, or returns
// errors.ErrUnsupported.
func LookForStale(ctx context.Context, target Target, freeFor time.Duration) (StaleLocks, error) {
	if target.Stale == "" {
		return StaleLocks{}, errors.ErrUnsupported
	}
	var found StaleLocks
	var seconds int64
	row := target.DB.QueryRowContext(ctx, target.Stale, int64(freeFor/time.Second))
	err := row.Scan(&found.Looked, &found.Rows, &seconds)
	found.Longest = time.Duration(seconds) * time.Second
	return found, target.Interpret(ctx, err)
}

// Schemas returns the schemas that have applock, none where there is no query for them.
func Schemas(ctx context.Context, target Target) ([]string, error) {
	if target.Schemas == "" {
		return nil, nil
	}
	return sortedNames(ctx, target, target.Schemas)
}

// sortedNames returns the texts that a query answers, in their order.
func sortedNames(ctx context.Context, target Target, query string) ([]string, error) {
	names, err := ReadNames(ctx, target.DB, query)
	return slices.Sorted(maps.Keys(names)), target.Interpret(ctx, err)
}
