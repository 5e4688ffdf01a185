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

// liveKey identifies what a live page shows to one client.
type liveKey struct {
	// path and query are the page's address.
	path, query string
	// verbs are the verbs that the page may offer.
	verbs string
	// person is empty for a page that people share.
	person string
}

// livePart is the part of a live page that all its readers share.
type livePart struct {
	view view
	main template.HTML
	// version changes with the content, except for the seconds of counters.
	version string
	read    time.Time
}

// liveness tells the script how to keep the page up to date. The times are in milliseconds.
type liveness struct {
	// Version is empty on an error's page.
	Version  string
	Age      int64
	Interval int64
}

// live serves a page that the script keeps up to date. In each interval the script asks again, naming the version that it shows. All
// readers of a page share one read, so look gets a request with an address and rights, but without a person. A request without a version,
// such as a reload, gets a read that began after the request.
func (c *console) live(look func(*http.Request) (view, error)) http.HandlerFunc {
	return c.followed(look, false)
}

// liveOf serves a live page of one person, which nobody else shares. look gets the person's name.
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
		verbs := strings.Join(trueOf(all.verbs), " ")
		if own || verbs != "" && !all.verbs[rightOthers] { // what such a person is offered depends on who holds a lock
			all.person = who.person
		}
		key := liveKey{path: r.URL.Path, query: r.URL.Query().Encode(), verbs: verbs, person: all.person}
		c.beat(ctx)
		part, err := who.database.parts.get(ctx, key, known != "", func() (livePart, error) { return c.readPart(ctx, r.URL, all, look) })
		state := &liveness{Version: part.version, Age: time.Since(part.read).Milliseconds(), Interval: c.config.Interval.Milliseconds()}
		switch {
		case err != nil:
			v := c.errorView(r, err)
			if v.status < http.StatusInternalServerError {
				state = nil // a retry would not help
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

// readPart reads a live page for all its readers. It ignores the cancellation of this request, since others wait for the same read.
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

// countersPattern matches a counter of parts.html: its seconds and its text.
const countersPattern = `data-seconds="[0-9]+">[^<]*<`

// versionOf returns an ETag that is equal for parts which differ only in their counters.
func versionOf(main template.HTML, counters *regexp.Regexp) string {
	sum := sha256.Sum256(counters.ReplaceAllLiteral([]byte(main), nil))
	return `"` + hex.EncodeToString(sum[:16]) + `"`
}

// trueOf returns the names whose value is true, sorted.
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
	// sharedMost limits the stored results.
	sharedMost = 200
	// A result serves for restFactor times as long as its read took, so that reading takes at most a fifth of the time. restMost bounds its
	// age.
	restFactor = 4
	restMost   = 10 * time.Second
)

// shared lets concurrent requests for the same key share one read. Its methods are safe for concurrent use.
type shared[K comparable, V any] struct {
	// age is how old a result may be for requests that do not need a fresh one.
	age time.Duration

	mutex   sync.Mutex
	results map[K]*result[V]
}

// result is the result of a read. It is complete once done is closed.
type result[V any] struct {
	began time.Time
	done  chan struct{}
	took  time.Duration
	value V
	err   error
}

var errReadFailed = errors.New("the read that this request has joined has failed")

// get returns the result of a read for key. A result serves all requests that came before its read began. For a moment it also serves those
// that know a version already. An error serves only the requests that waited for it.
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

// latest returns a running or recent read of the key that serves the request. Otherwise it returns a new one, which the caller must run.
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

// serves reports whether a result is new enough for a request that came at the time asked.
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

// run runs the read. If it panics, the waiting requests get errReadFailed.
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
	return template.HTML(text.String()), err //nolint:gosec // escaped by a template
}

// logFailure logs server errors. Pages do not show their text, which may name hosts and users.
func (c *console) logFailure(ctx context.Context, page string, err error) {
	if status, _ := c.explain(err); status >= http.StatusInternalServerError {
		c.config.Logger.ErrorContext(ctx, "console", slog.String("page", page), slog.String("error", err.Error()))
	}
}
