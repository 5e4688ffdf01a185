package migrate

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"
)

// StaleRows is how many rows of appl_lock are searched for stale ones, since no index leads to them.
const StaleRows = 10_000

// clockQuestions is how often the server is asked for its time. The quickest answer is the most exact.
const clockQuestions = 3

// Surroundings describes the server, and what stands between it and the program.
type Surroundings struct {
	// Isolation is the level of a session's transactions, in the server's words; empty if there is only one.
	Isolation string
	// ReadOnly is the reason why nothing can be changed; empty if changes are possible.
	ReadOnly string
	// EndReadOnly is a statement that ends it, if there is one.
	EndReadOnly string
	// Loses are the settings by which a crash loses what has been told; empty if there are none.
	Loses string
	// Between is the pooler in front of the server, or the cluster that the server belongs to; empty for neither.
	Between string
	// Ahead is how far the server's clock is ahead of this host's, within half of RoundTrip. Both are zero if it is the same clock.
	Ahead, RoundTrip time.Duration
}

// LookAround returns the surroundings, or errors.ErrUnsupported. It changes nothing.
func LookAround(ctx context.Context, target Target) (Surroundings, error) {
	if target.Look == nil {
		return Surroundings{}, errors.ErrUnsupported
	}
	conn, err := target.Conn(ctx)
	if err != nil {
		return Surroundings{}, err
	}
	defer func() { _ = conn.Close() }() // returns it to the pool
	found, err := target.Look(ctx, conn)
	if err != nil {
		return found, target.Interpret(ctx, err)
	}
	if target.Clock == "" {
		return found, nil
	}
	for question := range clockQuestions {
		asked := time.Now()
		now, err := Value[int64](ctx, conn, target.Clock)
		if err != nil {
			return found, target.Interpret(ctx, err)
		}
		took := time.Since(asked)
		if question == 0 || took < found.RoundTrip {
			found.Ahead, found.RoundTrip = time.UnixMicro(now).Sub(asked.Add(took/2)), took
		}
	}
	return found, nil
}

// StaleLocks are rows whose objects have long been free.
type StaleLocks struct {
	// Looked is the number of rows read, and Rows the number of stale ones.
	Looked, Rows int64
	// Longest is how long the oldest of them has been free.
	Longest time.Duration
}

// LookForStale counts the stale ones among the first rows, or returns errors.ErrUnsupported.
func LookForStale(ctx context.Context, target Target, freeFor time.Duration) (StaleLocks, error) {
	if target.Stale == "" {
		return StaleLocks{}, errors.ErrUnsupported
	}
	var found StaleLocks
	row := target.DB.QueryRowContext(ctx, target.Stale, int64(freeFor/time.Second))
	err := row.Scan(&found.Looked, &found.Rows, &found.Longest)
	found.Longest *= time.Second
	return found, target.Interpret(ctx, err)
}

// EventCount is how many events of a kind the history has.
type EventCount struct {
	Kind string
	Rows int64
}

// CountEvents counts the history by the kind of its events, in the order of the kinds. It reads the whole history.
func CountEvents(ctx context.Context, target Target) ([]EventCount, error) {
	counts, err := Read(ctx, target.DB, func(c *EventCount) []any { return []any{&c.Kind, &c.Rows} },
		"SELECT event, COUNT(*) FROM "+target.Qualify("appl_lock_history")+" GROUP BY event ORDER BY event")
	return counts, target.Interpret(ctx, err)
}

// Schemas returns the schemas with applock, or none on products without such a query.
func Schemas(ctx context.Context, target Target) ([]string, error) {
	if target.Schemas == "" {
		return nil, nil
	}
	return sortedNames(ctx, target, target.Schemas)
}

// sortedNames returns the texts that a query returns, sorted.
func sortedNames(ctx context.Context, target Target, query string) ([]string, error) {
	names, err := ReadNames(ctx, target.DB, query)
	return slices.Sorted(maps.Keys(names)), target.Interpret(ctx, err)
}
