package console

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"html/template"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// liveKey is what a live page shows, by one client.
type liveKey struct {
	// path and query are its address.
	path, query string
	// verbs are those that the page may offer.
	verbs string
	// person is whose page it is; empty where it is anybody's.
	person string
}

// livePart is what all people see who look at the same live page.
type livePart struct {
	view view
	main template.HTML
	// version differs between two parts if more differs than the seconds of their counters.
	version string
	read    time.Time
}

// liveness is what the script needs to keep a page up to date. The times are in milliseconds.
type liveness struct {
	// Version is empty on the page of an error.
	Version  string
	Age      int64
	Interval int64
}

// live answers with a page that the script keeps up to date: it asks again in each interval and names the version that it shows. All
// who look at the same page share what one of them reads, so look gets a request that has an address and rights, but no person.
// A request that names no version, as of a reload, gets nothing that was read before it came.
func (c *console) live(look func(*http.Request) (view, error)) http.HandlerFunc {
	return c.followed(look, false)
}

// liveOf is live for a page of the person who asks: look gets its name, and nobody else shares it.
func (c *console) liveOf(look func(*http.Request) (view, error)) http.HandlerFunc {
	return c.followed(look, true)
}

func (c *console) followed(look func(*http.Request) (view, error), own bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		who := askerOf(r.Context())
		ctx, cancel := context.WithTimeout(r.Context(), c.config.Timeout)
		defer cancel()
		known := r.Header.Get("If-None-Match")
		all := asker{database: who.database, verbs: c.allowed(ctx), polls: known != ""}
		if own {
			all.person = who.person
		}
		key := liveKey{path: r.URL.Path, query: r.URL.Query().Encode(), verbs: strings.Join(trueOf(all.verbs), " "), person: all.person}
		c.beat(ctx)
		part, err := who.database.parts.get(ctx, key, known != "", func() (livePart, error) { return c.readPart(ctx, r.URL, all, look) })
		state := &liveness{Version: part.version, Age: time.Since(part.read).Milliseconds(), Interval: c.config.Interval.Milliseconds()}
		switch {
		case err != nil:
			v := c.errorView(r, err)
			if v.status < http.StatusInternalServerError {
				state = nil // asking again does not help
			}
			c.render(w, r, v, c.shownTo(ctx, v, state))
		case known == part.version:
			w.WriteHeader(http.StatusNotModified)
		default:
			w.Header().Set("ETag", part.version)
			c.frame(w, r, part.view, part.main, c.shownTo(ctx, part.view, state))
		}
	}
}

// readPart reads a live page for all who look at it, also for those who stay when the one has gone whose request this is.
func (c *console) readPart(ctx context.Context, address *url.URL, all asker, look func(*http.Request) (view, error)) (livePart, error) {
	ctx, cancel := context.WithTimeout(context.WithValue(context.WithoutCancel(ctx), askerKey{}, all), c.config.Timeout)
	defer cancel()
	part := livePart{read: time.Now()}
	var err error
	if part.view, err = look((&http.Request{Method: http.MethodGet, URL: address}).WithContext(ctx)); err != nil {
		c.logFailure(ctx, address.Path, err)
		return part, err
	}
	if part.main, err = c.body(part.view, shown{Title: part.view.title, Data: part.view.data}); err != nil {
		c.logFailure(ctx, address.Path, err)
		return part, err
	}
	part.version = versionOf(part.main, c.counters)
	return part, nil
}

// countersPattern matches the seconds of a counter of parts.html, with what it shows.
const countersPattern = `data-seconds="[0-9]+">[^<]*<`

// versionOf is the same word for parts that differ by nothing but their counters, as an ETag.
func versionOf(main template.HTML, counters *regexp.Regexp) string {
	sum := sha256.Sum256(counters.ReplaceAllLiteral([]byte(main), nil))
	return `"` + hex.EncodeToString(sum[:16]) + `"`
}

// trueOf returns the names of what is true, sorted.
func trueOf(names map[string]bool) []string {
	var of []string
	for name, is := range names {
		if is {
			of = append(of, name)
		}
	}
	slices.Sort(of)
	return of
}

const (
	// sharedMost bounds how many results are kept at a time.
	sharedMost = 200
	// restFactor has what is expensive read less often: of the time, a fifth at most. restMost bounds how old it becomes.
	restFactor = 4
	restMost   = 10 * time.Second
)

// shared has all who want the same at the same time share one read. Its methods are safe for concurrent use.
type shared[K comparable, V any] struct {
	// age is how old a result may be for those who do not want a fresh one.
	age time.Duration

	mutex   sync.Mutex
	results map[K]*result[V]
}

// result is what a read returns, once done is closed.
type result[V any] struct {
	began time.Time
	done  chan struct{}
	took  time.Duration
	value V
	err   error
}

var errReadFailed = errors.New("the read that this request has joined has failed")

// get returns what is read for a key. A result serves everybody who asked before its read began, and for a moment those who
// want no fresh one. An error serves those who waited for it.
func (s *shared[K, V]) get(ctx context.Context, key K, known bool, read func() (V, error)) (V, error) {
	asked := time.Now()
	for {
		r, mine := s.latest(key, known, asked)
		if mine {
			return r.run(read)
		}
		select {
		case <-r.done:
			if s.serves(r, known, asked) {
				return r.value, r.err
			}
		case <-ctx.Done():
			var none V
			return none, ctx.Err()
		}
	}
}

// latest returns the read of a key that runs or that serves, or a new one, which is the caller's to run.
func (s *shared[K, V]) latest(key K, known bool, asked time.Time) (r *result[V], mine bool) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if r = s.results[key]; r != nil && (!r.ended() || r.err == nil && s.serves(r, known, asked)) {
		return r, false
	}
	for other, old := range s.results {
		if old.ended() && (len(s.results) >= sharedMost || !s.serves(old, true, asked)) {
			delete(s.results, other)
		}
	}
	r = &result[V]{began: time.Now(), done: make(chan struct{}), err: errReadFailed}
	s.results[key] = r
	return r, true
}

// serves reports whether a result is new enough for somebody who asked then.
func (s *shared[K, V]) serves(r *result[V], known bool, asked time.Time) bool {
	if known {
		asked = asked.Add(-max(s.age, min(restFactor*r.took, restMost)))
	}
	return !r.began.Before(asked)
}

func (r *result[V]) ended() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// run reads. Those who wait get an error where the read panics.
func (r *result[V]) run(read func() (V, error)) (V, error) {
	defer close(r.done)
	r.value, r.err = read()
	r.took = time.Since(r.began)
	return r.value, r.err
}

// body returns the main part of a page.
func (c *console) body(v view, data shown) (template.HTML, error) {
	var text bytes.Buffer
	err := c.templates[v.template].ExecuteTemplate(&text, "main", data)
	return template.HTML(text.String()), err //nolint:gosec // a template has escaped it
}

// logFailure logs what people cannot mend. What the database's client says may name hosts and users: no page has it.
func (c *console) logFailure(ctx context.Context, page string, err error) {
	if status, _ := c.explain(err); status >= http.StatusInternalServerError {
		c.config.Logger.ErrorContext(ctx, "console", slog.String("page", page), slog.String("error", err.Error()))
	}
}
