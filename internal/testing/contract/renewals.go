package contract

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/applock/applock/applock"
)

// Goal: a renewal never makes a live grant end earlier than an answer that was given after the renewal began: it has one effect, and a
// longer time from such an answer stays. Method: many grants are renewed for a minute, again and again in one call, while their operator
// gets them one by one for an hour. Each must then last as long as its answer said.
func renewalsNeverShorten(t *testing.T, backend Backend) {
	t.Parallel()
	place := backend.New(t)
	const objects = 25
	jdoe := applock.Owner{Operator: "JDOE"}
	request := applock.RenewAllRequest{TTL: time.Minute}
	for i := range objects {
		get := applock.GetRequest{Object: customer(fmt.Sprintf("%03d", i)), Owner: jdoe, TTL: time.Minute}
		grant, err := place.Client.Get(t.Context(), get)
		if err != nil {
			t.Fatal(err)
		}
		request.Keys = append(request.Keys, grant.Key())
	}
	done := make(chan struct{})
	var renewing sync.WaitGroup
	renewing.Go(func() {
		for {
			changes, err := place.Client.RenewAll(t.Context(), request)
			if err != nil && !errors.Is(err, applock.ErrBusy) && !errors.Is(err, applock.ErrRetry) {
				t.Errorf("renew: %v", err)
			}
			for i, change := range changes {
				if change.Outcome != applock.OutcomeRenewed && change.Outcome != applock.OutcomeBusy || change.Object != request.Keys[i].Object {
					t.Errorf("renewal %d is %+v", i, change)
				}
			}
			select {
			case <-done:
				return
			default:
			}
		}
	})
	told := map[applock.Object]time.Time{}
	for _, key := range request.Keys {
		object := key.Object
		answer, err := place.Client.Get(t.Context(), applock.GetRequest{Object: object, Owner: jdoe, TTL: time.Hour})
		if err == nil { // otherwise the row was busy, and the answer promised nothing
			told[object] = answer.ExpiresAt
		}
	}
	close(done)
	renewing.Wait()
	if len(told) == 0 {
		t.Fatal("no get was answered")
	}
	for object, until := range told {
		lock, err := place.Client.Inquire(t.Context(), object)
		if err != nil || lock.ExpiresAt.Before(until) {
			t.Errorf("%s ends at %s, %v, and its holder was told %s", object, lock.ExpiresAt, err, until)
		}
	}
}
