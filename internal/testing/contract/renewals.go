package contract

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/db"
)

// Goal: a renewal never makes a live grant end earlier than an answer that was given after the renewal began: it has one effect, and a
// longer time from such an answer stays. Method: many grants are renewed for a minute, again and again in one call, while their operator
// gets them one by one for an hour. Each must then last as long as its answer said.
func renewalsNeverShorten(t *testing.T, backend Backend) {
	t.Parallel()
	place := backend.New(t)
	const objects = 25
	jdoe := applock.Owner{Operator: "JDOE"}
	var grants []db.RenewableGrant
	for i := range objects {
		id := fmt.Sprintf("%03d", i)
		grant := mustGet(t, place.Client, customer(id), jdoe.Operator)
		grants = append(grants, db.RenewableGrant{
			ObjectType: "customer", ObjectID: id, OperatorID: jdoe.Operator, Fence: int64(grant.Fence), TTLSeconds: 60,
		})
		if _, err := place.Client.Get(t.Context(), applock.GetRequest{Object: customer(id), Owner: jdoe, TTL: time.Minute}); err != nil {
			t.Fatal(err)
		}
	}
	done := make(chan struct{})
	var renewing sync.WaitGroup
	renewing.Go(func() {
		for {
			_, err := place.Driver.RenewApplLocks(t.Context(), db.RenewApplLocksParams{Grants: grants})
			if kind := db.KindOf(err); err != nil && kind != db.KindBusy && kind != db.KindRetry {
				t.Errorf("renew: %v", err)
			}
			select {
			case <-done:
				return
			default:
			}
		}
	})
	told := map[applock.Object]time.Time{}
	for _, grant := range grants {
		object := customer(grant.ObjectID)
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
