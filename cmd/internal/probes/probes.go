// Package probes tells a monitor how a program that listens is doing: /livez, /readyz and /metrics, without a sign-in. They show counts, and no
// name of a person or of an object. It is for the programs in cmd.
package probes

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/console"
)

const (
	// readyFor is how long an answer of Watch.ready counts: anybody may ask.
	readyFor = time.Second
	// readyLimit bounds each question.
	readyLimit = 3 * time.Second
)

// Watch counts what a program does. After Serves it is safe for concurrent use.
type Watch struct {
	// ready returns why the program cannot serve now, and logger has a line when that changes.
	ready  func(context.Context) error
	logger *slog.Logger
	// sessions is the number of sessions; nil for a sign-in without them.
	sessions func() int

	mutex sync.Mutex
	// calls and requests are counted by the labels of their samples.
	calls, requests map[string]int64
	failedSignIns   int64

	asking sync.Mutex
	asked  time.Time
	unable error
}

// New returns a Watch that has counted nothing.
func New(logger *slog.Logger) *Watch {
	return &Watch{logger: logger, calls: map[string]int64{}, requests: map[string]int64{}}
}

// Serves says by what the program serves: it is ready while the client's database has the contract, and people can sign in.
func (w *Watch) Serves(client *applock.Client, signIn console.SignIn) {
	issuer, asks := signIn.(interface {
		Ready(ctx context.Context) error
	})
	w.ready = func(ctx context.Context) error {
		_, err := client.Version(ctx)
		if err == nil && asks {
			err = issuer.Ready(ctx)
		}
		return err //nolint:wrapcheck // both name themselves
	}
	if counts, has := signIn.(interface{ Sessions() int }); has {
		w.sessions = counts.Sessions
	}
}

// Calls is a logger for clients, by which their calls to the database are counted.
func (w *Watch) Calls() *slog.Logger { return slog.New(callCounter{w}) }

type callCounter struct{ watch *Watch }

func (c callCounter) Enabled(_ context.Context, level slog.Level) bool {
	return level == slog.LevelDebug
}
func (c callCounter) WithAttrs([]slog.Attr) slog.Handler { return c }
func (c callCounter) WithGroup(string) slog.Handler      { return c }

func (c callCounter) Handle(_ context.Context, record slog.Record) error {
	c.watch.mutex.Lock()
	defer c.watch.mutex.Unlock()
	c.watch.calls[fmt.Sprintf("operation=%q", record.Message)]++
	return nil
}

// Handler answers monitors itself, and counts the requests that it passes on.
func (w *Watch) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		path := r.URL.Path
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			path = ""
		}
		switch path {
		case "/livez":
			answer(out, http.StatusOK, "live\n")
		case "/readyz":
			if w.Check(r.Context()) != nil {
				answer(out, http.StatusServiceUnavailable, "not ready: the log of this program says why\n")
			} else {
				answer(out, http.StatusOK, "ready\n")
			}
		case "/metrics":
			answer(out, http.StatusOK, w.metrics())
		default:
			seen := &recorder{ResponseWriter: out}
			next.ServeHTTP(seen, r)
			w.count(r, cmp.Or(seen.status, http.StatusOK))
		}
	})
}

func answer(out http.ResponseWriter, status int, text string) {
	out.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	out.Header().Set("Cache-Control", "no-store")
	out.Header().Set("X-Content-Type-Options", "nosniff")
	out.WriteHeader(status)
	_, _ = out.Write([]byte(text)) // a monitor that has gone needs none
}

// Check returns why the program cannot serve, and logs it when that has changed.
func (w *Watch) Check(ctx context.Context) error {
	w.asking.Lock()
	defer w.asking.Unlock()
	if time.Since(w.asked) < readyFor {
		return w.unable
	}
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), readyLimit)
	defer cancel()
	err := w.ready(limited)
	switch {
	case err != nil && w.unable == nil:
		w.logger.WarnContext(ctx, "not ready", slog.String("error", err.Error()))
	case err == nil && w.unable != nil:
		w.logger.InfoContext(ctx, "ready again")
	}
	w.unable, w.asked = err, time.Now()
	return err
}

func (w *Watch) count(r *http.Request, status int) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.requests[fmt.Sprintf(`code="%d"`, status)]++
	tried := r.Header.Get("Authorization") != "" && status == http.StatusUnauthorized
	if tried || status == http.StatusTooManyRequests || r.URL.Path == "/signed-in" && status >= http.StatusBadRequest {
		w.failedSignIns++
	}
}

// metrics is Prometheus' text format.
func (w *Watch) metrics() string {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	var text strings.Builder
	family := func(name, kind, help string, samples map[string]int64) {
		fmt.Fprintf(&text, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
		for _, labels := range slices.Sorted(maps.Keys(samples)) {
			fmt.Fprintf(&text, "%s%s %d\n", name, strings.TrimSuffix("{"+labels+"}", "{}"), samples[labels])
		}
	}
	family("applock_http_requests_total", "counter", "Answered requests, by the status of the answer.", w.requests)
	family("applock_failed_sign_ins_total", "counter", "Sign-ins with a wrong password, token or answer of the issuer.", map[string]int64{"": w.failedSignIns})
	family("applock_database_calls_total", "counter", "Calls that the database has answered, by operation or view.", w.calls)
	if w.sessions != nil {
		family("applock_sessions", "gauge", "Sessions of people who have signed in.", map[string]int64{"": int64(w.sessions())})
	}
	return text.String()
}

// recorder remembers the status of an answer, zero for one without a word about it.
type recorder struct {
	http.ResponseWriter

	status int
}

func (r *recorder) WriteHeader(status int) {
	if r.status < http.StatusOK { // an interim answer, such as 103, is followed by another
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

// Unwrap is for http.ResponseController.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }
