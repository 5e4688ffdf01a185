package changes

import (
	"context"
	"errors"
	"log/slog"
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

// beats schedules the renewals of requests. Its methods are safe for concurrent use.
type beats struct {
	now func() time.Time

	mutex sync.Mutex
	of    map[string]*beat
}

// beat is the schedule of one person.
type beat struct {
	next time.Time
	// freed are the objects that became free, each with the time until which the desk shows it.
	freed map[applock.Object]time.Time
}

func newBeats() *beats { return &beats{now: time.Now, of: map[string]*beat{}} }

// begin starts the renewal of a person's requests.
func (b *beats) begin(person string) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if b.of[person] == nil {
		b.of[person] = &beat{freed: map[applock.Object]time.Time{}}
	}
	if of := b.of[person]; of.next.IsZero() {
		of.next = b.now().Add(beatEvery)
	}
}

// due reports whether the caller must renew a person's requests now.
func (b *beats) due(person string) bool {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	of := b.of[person]
	if of == nil || of.next.IsZero() || b.now().Before(of.next) {
		return false
	}
	of.next = b.now().Add(beatEvery)
	return true
}

// end stops the renewal when a person has no more requests.
func (b *beats) end(person string) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if of := b.of[person]; of != nil {
		of.next = time.Time{}
	}
}

// asks reports whether a person has open requests.
func (b *beats) asks(person string) bool {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.of[person] != nil && !b.of[person].next.IsZero()
}

// free records that a wanted object has become free. got removes that.
func (b *beats) free(person string, object applock.Object) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if of := b.of[person]; of != nil {
		of.freed[object] = b.now().Add(freedKept)
	}
}

func (b *beats) got(person string, object applock.Object) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if of := b.of[person]; of != nil {
		delete(of.freed, object)
	}
}

// freed returns the objects that have become free, and forgets a person without any and without requests.
func (b *beats) freed(person string) []applock.Object {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	of := b.of[person]
	if of == nil {
		return nil
	}
	var objects []applock.Object
	for object, until := range of.freed {
		if b.now().Before(until) {
			objects = append(objects, object)
		} else {
			delete(of.freed, object)
		}
	}
	if of.next.IsZero() && len(of.freed) == 0 {
		delete(b.of, person)
	}
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
			c.beats.free(person, r.Object)
		case errors.Is(err, applock.ErrHeld): // the person has got it meanwhile
		case err != nil:
			return err
		default:
			repeated++
		}
	}
	if repeated == 0 {
		c.beats.end(person)
	}
	return nil
}

// requestsOf returns the requests of an operator.
func (c *Changer) requestsOf(ctx context.Context, operator string) (requests []applock.Asker, err error) {
	_, err = reading.First(c.client.Asking(ctx, applock.AskingRequest{Operator: operator}), reading.RowsOfPage, func(a applock.Asker) bool {
		requests = append(requests, a)
		return false
	})
	if err != nil && reading.NotToBeSeen(err) {
		return nil, nil
	}
	return requests, err
}
