package postgres_test

import (
	"context"
	"regexp"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/testing/testclient"
)

// calls notes which operations a pool is asked for, one at a time.
type calls struct {
	mutex sync.Mutex
	asked []operationCall
}

// operationCall is a statement that calls one operation.
type operationCall struct {
	name, statement string
	args            []any
}

func (c *calls) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if name := regexp.MustCompile(`(?:FROM|CROSS JOIN) applock\.(\w+)`).FindStringSubmatch(data.SQL); name != nil {
		c.asked = append(c.asked, operationCall{name: name[1], statement: data.SQL, args: data.Args})
	}
	return ctx
}

func (c *calls) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (c *calls) take() []operationCall {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	taken := c.asked
	c.asked = nil
	return taken
}

// Goal: between the message of a release and the waiter's lease there is only one get. Method: the calls on the waiter's pool from the
// release on, without the polls, which go on.
func TestAWokenWaiterAsksOnce(t *testing.T) {
	t.Parallel()
	dsn := testclient.InstalledPostgres(t)
	pool := newPool(t, dsn)
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	asked := &calls{}
	config.ConnConfig.Tracer = asked
	traced, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(traced.Close)
	waiter := testclient.Postgres(t, traced)
	call(t, pool, getCall, "1", "JDOE")
	granted := make(chan error, 1)
	go func() {
		lease, err := waiter.Acquire(t.Context(), applock.AcquireRequest{
			Object: applock.Object{Type: "customer", ID: "1"}, MaxHold: time.Hour,
		})
		granted <- err
		if err == nil {
			_ = lease.Release(t.Context())
		}
	}()
	for listed := 0; listed == 0 || listeners(t, pool) == 0; time.Sleep(time.Millisecond) {
		if err := pool.QueryRow(t.Context(), "SELECT count(*) FROM applock.appl_lock_waiter").Scan(&listed); err != nil {
			t.Fatal(err)
		}
	}
	asked.take()
	call(t, pool, releaseCall, "1", "JDOE")
	if err := <-granted; err != nil {
		t.Fatal(err)
	}
	var after []string
	for _, call := range asked.take() {
		after = append(after, call.name)
	}
	isGet := func(name string) bool { return name == "get_appl_lock_row" }
	upTo := slices.IndexFunc(after, isGet) + 1
	before := slices.DeleteFunc(slices.Clone(after[:upTo]), func(name string) bool { return name == "poll_appl_locks" })
	if !slices.Equal(before, []string{"get_appl_lock_row"}) || slices.ContainsFunc(after[upTo:], isGet) {
		t.Errorf("the waiter asked for %q, want one get", after)
	}
	if err := waiter.Close(); err != nil {
		t.Error(err)
	}
}
