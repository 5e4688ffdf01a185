package console

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/applock/applock/applock"
)

// The topics that a page can look at.
const (
	topicLocks   = "locks"
	topicWaiters = "waiters"
)

// viewersMost bounds who can look at a time, each of whom has a connection.
const viewersMost = 1000

// hub tells all who look that something has changed. It asks the database once for all of them, and not at all while
// nobody looks.
type hub struct {
	look     func(ctx context.Context, topic string) (changed bool, err error)
	interval time.Duration
	// start makes the numbers of this process differ from those before a restart.
	start string

	mutex   sync.Mutex
	number  int
	viewers map[*viewer]bool
	stop    context.CancelFunc
	last    string
}

// viewer is somebody who looks.
type viewer struct {
	topics []string
	// news has room for one: more than "it has changed" is not told.
	news chan struct{}
}

func newHub(look func(context.Context, string) (bool, error), interval time.Duration) *hub {
	return &hub{look: look, interval: interval, start: rand.Text()[:8], viewers: map[*viewer]bool{}}
}

// version is a word that is another one after a change that was noticed.
func (h *hub) version() string {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return h.versionNow()
}

func (h *hub) versionNow() string { return h.start + "-" + strconv.Itoa(h.number) }

// join adds a viewer, who is told at once if something has changed since the version that he has seen. It reports
// whether there was room.
func (h *hub) join(topics []string, seen string) (*viewer, bool) {
	v := &viewer{topics: topics, news: make(chan struct{}, 1)}
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if len(h.viewers) >= viewersMost {
		return nil, false
	}
	if seen != h.versionNow() {
		v.tell()
	}
	h.viewers[v] = true
	if h.stop == nil {
		var ctx context.Context
		ctx, h.stop = context.WithCancel(context.Background())
		go h.run(ctx)
	}
	return v, true
}

// leave removes a viewer. With the last one the asking ends.
func (h *hub) leave(v *viewer) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	delete(h.viewers, v)
	if len(h.viewers) == 0 && h.stop != nil {
		h.stop()
		h.stop = nil
	}
}

func (v *viewer) tell() {
	select {
	case v.news <- struct{}{}:
	default:
	}
}

// run asks until it is stopped: at once, because it may have been long ago that anybody looked, and then in each interval.
func (h *hub) run(ctx context.Context) {
	ticker := time.NewTicker(h.interval)
	defer ticker.Stop()
	for {
		h.ask(ctx)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// ask asks about one topic, and tells those who look at it. Topics take turns.
func (h *hub) ask(ctx context.Context) {
	topic := h.turn()
	changed, err := h.look(ctx, topic)
	if err != nil || !changed {
		return // the pages tell what is wrong with the database
	}
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.number++
	for v := range h.viewers {
		if slices.Contains(v.topics, topic) {
			v.tell()
		}
	}
}

// turn returns the topic that somebody looks at and that was not asked about last.
func (h *hub) turn() string {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	wanted := map[string]bool{}
	for v := range h.viewers {
		for _, topic := range v.topics {
			wanted[topic] = true
		}
	}
	if wanted[topicWaiters] && (h.last != topicWaiters || !wanted[topicLocks]) {
		h.last = topicWaiters
	} else {
		h.last = topicLocks
	}
	return h.last
}

// memory is what the locks, or the waiters, were when they were last read: a sum of each piece of the list.
type memory struct {
	mutex sync.Mutex
	seed  maphash.Seed
	sums  []uint64
	// next is the piece to be read, and after the object that it begins behind.
	next  int
	after applock.Object
}

func newMemory() *memory { return &memory{seed: maphash.MakeSeed()} }

// piece is what one query has read.
type piece struct {
	sum  uint64
	last applock.Object
	full bool
}

// compare reads the next piece, and reports whether it is another one than before.
func (m *memory) compare(read func(after applock.Object, sum *maphash.Hash) (piece, error)) (changed bool, err error) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	var sum maphash.Hash
	sum.SetSeed(m.seed)
	got, err := read(m.after, &sum)
	if err != nil {
		return false, err
	}
	got.sum = sum.Sum64()
	if m.next < len(m.sums) {
		changed = m.sums[m.next] != got.sum
		m.sums[m.next] = got.sum
	} else {
		m.sums = append(m.sums, got.sum)
		changed = true
	}
	m.next, m.after = m.next+1, got.last
	if !got.full {
		m.sums = m.sums[:m.next]
		m.next, m.after = 0, applock.Object{}
	}
	return changed, nil
}

// lookForChanges compares the locks, or the waiters, with what they were the last time, by one query. Beyond
// what one query returns it goes on the next time behind what it has read.
func (d *database) lookForChanges(ctx context.Context, topic string) (changed bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	if topic == topicWaiters {
		return d.waitersSeen.compare(func(after applock.Object, sum *maphash.Hash) (piece, error) {
			return d.sumOfWaiters(ctx, after, sum)
		})
	}
	return d.locksSeen.compare(func(after applock.Object, sum *maphash.Hash) (piece, error) {
		return d.sumOfLocks(ctx, after, sum)
	})
}

func (d *database) sumOfLocks(ctx context.Context, after applock.Object, sum *maphash.Hash) (p piece, err error) {
	rows := 0
	for lock, err := range d.client.List(ctx, applock.ListRequest{After: after, PageSize: d.pieceRows}) {
		if err != nil {
			return p, err
		}
		addTo(sum, lock.Object.Type, lock.Object.ID, lock.Owner.Operator, lock.Owner.Department, lock.Note)
		addTo(sum, fmt.Sprint(lock.Fence, lock.LockedAt.UnixNano(), lock.ExpiresAt.UnixNano()))
		p.last = lock.Object
		if rows++; rows == d.pieceRows {
			p.full = true
			break
		}
	}
	return p, nil
}

// sumOfWaiters leaves out until when somebody is listed, which changes all the time.
func (d *database) sumOfWaiters(ctx context.Context, after applock.Object, sum *maphash.Hash) (p piece, err error) {
	rows := 0
	for waiter, err := range d.client.Waiters(ctx, applock.WaitersRequest{After: after, PageSize: d.pieceRows}) {
		if err != nil {
			return p, err
		}
		addTo(sum, waiter.Object.Type, waiter.Object.ID, waiter.Owner.Operator, waiter.Owner.Department, waiter.Client, waiter.Since.String())
		p.last = waiter.Object
		if rows++; rows == d.pieceRows {
			p.full = true
			break
		}
	}
	return p, nil
}

// addTo adds texts with their lengths, so that no two lists of texts are the same.
func addTo(sum *maphash.Hash, texts ...string) {
	for _, text := range texts {
		var length [8]byte
		binary.LittleEndian.PutUint64(length[:], uint64(len(text)))
		_, _ = sum.Write(length[:]) // never fails
		_, _ = sum.WriteString(text)
	}
}

// aliveInterval is how often a word goes to a browser that has no news, so that nobody in between takes the connection for
// dead.
const aliveInterval = 15 * time.Second

// changes tells a page, by server-sent events, that it is not what the database has any more. The page asks for itself then.
func (c *console) changes(w http.ResponseWriter, r *http.Request) {
	topics := strings.Fields(r.URL.Query().Get("topics"))
	hub := askerOf(r.Context()).database.hub
	v, room := hub.join(topics, r.URL.Query().Get("seen")) //nolint:contextcheck // it asks for all who look, and outlives each of them
	if !room {
		http.Error(w, c.texts["error.viewers"], http.StatusServiceUnavailable)
		return
	}
	defer hub.leave(v)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // a proxy shall not collect them
	alive := time.NewTicker(aliveInterval)
	defer alive.Stop()
	stream := http.NewResponseController(w)
	text := "retry: 2000\n\n"
	for {
		_ = stream.SetWriteDeadline(time.Now().Add(aliveInterval)) // not every writer can
		if _, err := io.WriteString(w, text); err != nil {
			return
		}
		if err := stream.Flush(); err != nil {
			c.config.Logger.WarnContext(r.Context(), "console: changes", slog.String("error", err.Error()))
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-v.news:
			text = "event: changed\ndata: " + hub.version() + "\n\n"
		case <-alive.C:
			text = ": alive\n\n"
		}
	}
}
