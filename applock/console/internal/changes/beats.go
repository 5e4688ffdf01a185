package changes

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/console/internal/access"
	"github.com/applock/applock/applock/console/internal/reading"
)

// beatEvery is how often the asker's open pages renew a request, which the database keeps for a minute.
const beatEvery = 15 * time.Second

// freedKept is how long a desk shows that a wanted object has become free.
const freedKept = 10 * time.Minute

// beats schedules the renewals of requests. It is safe for concurrent use.
type beats struct {
	mutex sync.Mutex
	of    map[string]*beat
}

// beat is the schedule of one person.
type beat struct {
	// next is the time of the next renewal, zero if the person has no requests.
	next time.Time
	// freed are the objects that became free, each with the time until which the desk shows it.
	freed map[applock.Object]time.Time
}

// change calls what changes a person's schedule, if there is one.
func (b *beats) change(person string, change func(of *beat)) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if of := b.of[person]; of != nil {
		change(of)
	}
}

// begin starts the renewal of a person's requests.
func (b *beats) begin(person string) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if b.of[person] == nil {
		b.of[person] = &beat{freed: map[applock.Object]time.Time{}}
	}
	if of := b.of[person]; of.next.IsZero() {
		of.next = time.Now().Add(beatEvery)
	}
}

// due reports whether the caller must renew a person's requests now.
func (b *beats) due(person string) (due bool) {
	b.change(person, func(of *beat) {
		if due = !of.next.IsZero() && !time.Now().Before(of.next); due {
			of.next = time.Now().Add(beatEvery)
		}
	})
	return due
}

// freed returns the objects that have become free, and forgets a person without any and without requests.
func (b *beats) freed(person string) (objects []applock.Object) {
	b.change(person, func(of *beat) {
		maps.DeleteFunc(of.freed, func(_ applock.Object, until time.Time) bool { return !time.Now().Before(until) })
		objects = slices.SortedFunc(maps.Keys(of.freed), applock.Object.Compare)
		if of.next.IsZero() && len(of.freed) == 0 {
			delete(b.of, person)
		}
	})
	return objects
}

// Beat renews the requests of a page's reader when they are due.
func (c *Changer) Beat(ctx context.Context, person string) {
	if person == "" || !c.beats.due(person) {
		return
	}
	if err := c.repeatRequests(ctx, person); err != nil {
		c.logger.WarnContext(ctx, "console: repeat requests", slog.String("person", person), failureOf(err))
	}
}

func (c *Changer) repeatRequests(ctx context.Context, person string) error {
	requests, err := c.requestsOf(ctx, person)
	if err != nil {
		return err
	}
	repeated := 0
	for _, r := range requests {
		if r.Client != access.Client {
			continue
		}
		request := applock.AskRequest{Object: r.Object, Owner: r.Owner, Client: r.Client, Message: r.Message}
		if !r.Until.IsZero() { // a time by the database's clock
			if request.Wait = r.Until.Sub(r.Since.Add(r.Waited)).Truncate(time.Second); request.Wait <= 0 {
				continue
			}
		}
		_, err := c.client.Ask(ctx, request)
		switch {
		case errors.Is(err, applock.ErrNotHeld):
			c.beats.change(person, func(of *beat) { of.freed[r.Object] = time.Now().Add(freedKept) })
		case errors.Is(err, applock.ErrHeld): // the person has got it meanwhile
		case err != nil:
			return err
		default:
			repeated++
		}
	}
	if repeated == 0 {
		c.beats.change(person, func(of *beat) { of.next = time.Time{} })
	}
	return nil
}

// requestsOf returns the requests of an operator.
func (c *Changer) requestsOf(ctx context.Context, operator string) (requests []applock.Asker, err error) {
	requests, err = reading.Collect(c.client.Asking(ctx, applock.AskingRequest{Operator: operator}), reading.RowsOfPage)
	if err != nil && reading.NotToBeSeen(err) {
		return nil, nil
	}
	return requests, err
}
