package applock_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/applock/applock/applock"
)

// Each heartbeat of a program asks for news of its operator, from where the last answer ended.
func ExampleClient_Inbox() {
	ctx := context.Background()
	client, remove := openExample(ctx)
	defer remove()
	jdoe, boss := applock.Owner{Operator: "JDOE", Department: "CS"}, applock.Owner{Operator: "BOSS"}
	for id, ttl := range map[string]time.Duration{"42": 7 * 24 * time.Hour, "43": 30 * time.Minute} {
		if _, err := client.Get(ctx, applock.GetRequest{Object: applock.Object{Type: "customer", ID: id}, Owner: jdoe, TTL: ttl}); err != nil {
			log.Fatal(err)
		}
	}
	request := applock.TakeRequest{Object: applock.Object{Type: "customer", ID: "42"}, Owner: boss, Reason: "the customer is on the telephone"}
	if _, err := client.Take(ctx, request); err != nil {
		log.Fatal(err)
	}

	var position applock.InboxPosition
	for range 2 {
		notices, next, err := client.Inbox(ctx, applock.InboxRequest{Operator: "JDOE", Position: position})
		if err != nil {
			log.Fatal(err)
		}
		for _, notice := range notices {
			fmt.Printf("%s %s %s %q\n", notice.Kind, notice.Object, notice.Other, notice.Reason)
		}
		position = next
		fmt.Println("that is all")
	}
	// Output:
	// TAKEN customer:42 BOSS "the customer is on the telephone"
	// that is all
	// that is all
}

// An operator asks for what another one holds; asking again keeps the request listed.
func ExampleClient_Ask() {
	ctx := context.Background()
	client, remove := openExample(ctx)
	defer remove()
	object := applock.Object{Type: "customer", ID: "42"}
	if _, err := client.Get(ctx, applock.GetRequest{Object: object, Owner: applock.Owner{Operator: "JDOE"}}); err != nil {
		log.Fatal(err)
	}
	brown := applock.Owner{Operator: "BROWN", Department: "SALES"}
	asked, err := client.Ask(ctx, applock.AskRequest{Object: object, Owner: brown, Client: "tab 1", Message: "the customer is on the telephone"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(asked.Outcome, asked.Holder.Owner)
	// Output:
	// ASKED JDOE
}

// The holder reads the request in its inbox and gives the object. The asker's first Get tells its fence, and renews the lock.
func ExampleClient_Answer() {
	ctx := context.Background()
	client, remove := openExample(ctx)
	defer remove()
	object, brown := applock.Object{Type: "customer", ID: "42"}, applock.Owner{Operator: "BROWN", Department: "SALES"}
	if _, err := client.Get(ctx, applock.GetRequest{Object: object, Owner: applock.Owner{Operator: "JDOE"}}); err != nil {
		log.Fatal(err)
	}
	if _, err := client.Ask(ctx, applock.AskRequest{Object: object, Owner: brown, Client: "tab 1", Message: "may I?"}); err != nil {
		log.Fatal(err)
	}

	notices, _, err := client.Inbox(ctx, applock.InboxRequest{Operator: "JDOE"})
	if err != nil {
		log.Fatal(err)
	}
	for _, notice := range notices {
		fmt.Println(notice.Other, "asks for", notice.Object, "-", notice.Message)
		answered, err := client.Answer(ctx, applock.AnswerRequest{
			Key:    applock.Key{Object: notice.Object, Operator: "JDOE", Fence: notice.Fence},
			Asker:  notice.Other.Operator,
			Client: notice.Client,
			Answer: applock.AnswerGive,
		})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(answered.Outcome, "for", answered.Left)
	}
	grant, err := client.Get(ctx, applock.GetRequest{Object: object, Owner: brown})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(grant.Outcome, "for", grant.Left)
	// Output:
	// BROWN (SALES) asks for customer:42 - may I?
	// GIVEN for 1m0s
	// RENEWED for 168h0m0s
}

// Asking lists who asks for what.
func ExampleClient_Asking() {
	ctx := context.Background()
	client, remove := openExample(ctx)
	defer remove()
	object := applock.Object{Type: "customer", ID: "42"}
	if _, err := client.Get(ctx, applock.GetRequest{Object: object, Owner: applock.Owner{Operator: "JDOE"}}); err != nil {
		log.Fatal(err)
	}
	brown := applock.Owner{Operator: "BROWN", Department: "SALES"}
	if _, err := client.Ask(ctx, applock.AskRequest{Object: object, Owner: brown, Client: "tab 1", Wait: time.Hour}); err != nil {
		log.Fatal(err)
	}
	for asker, err := range client.Asking(ctx, applock.AskingRequest{ObjectType: "customer"}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(asker.Owner, "asks", asker.Holder.Owner, "for", asker.Object, "and gives up after", asker.Until.Sub(asker.Since))
	}
	// Output:
	// BROWN (SALES) asks JDOE for customer:42 and gives up after 1h0m0s
}

// Who waits for a customer is listed until it has what it waits for, or gives up.
func ExampleClient_Ping() {
	ctx := context.Background()
	client, remove := openExample(ctx)
	defer remove()

	server, err := client.Ping(ctx)
	fmt.Println(server.Product, server.Version != "", err)
	// Output:
	// SQLite true <nil>
}

func ExampleClient_See() {
	ctx := context.Background()
	client, remove := openExample(ctx)
	defer remove()
	object := applock.Object{Type: "case", ID: "4711"}
	jdoe, brown := applock.Owner{Operator: "JDOE", Department: "CS"}, applock.Owner{Operator: "BROWN"}
	if _, err := client.Get(ctx, applock.GetRequest{Object: object, Owner: jdoe}); err != nil {
		log.Fatal(err)
	}
	if _, err := client.See(ctx, applock.SeeRequest{Object: object, Owner: jdoe, Client: "tab-7", State: applock.StateEditing}); err != nil {
		log.Fatal(err)
	}
	present, err := client.See(ctx, applock.SeeRequest{Object: object, Owner: brown, Client: "tab-9"})
	if err != nil {
		log.Fatal(err)
	}
	for _, one := range present {
		fmt.Printf("%s %s %q\n", one.Kind, one.Owner, one.State)
	}
	// Output:
	// HOLDER JDOE (CS) ""
	// VIEWER JDOE (CS) "EDITING"
}

func ExampleClient_Viewers() {
	ctx := context.Background()
	client, remove := openExample(ctx)
	defer remove()
	for _, operator := range []string{"JDOE", "BROWN"} {
		request := applock.SeeRequest{Object: applock.Object{Type: "case", ID: "4711"}, Owner: applock.Owner{Operator: operator}, Client: "tab"}
		if _, err := client.See(ctx, request); err != nil {
			log.Fatal(err)
		}
	}
	for viewer, err := range client.Viewers(ctx, applock.ViewersRequest{ObjectType: "case"}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(viewer.Object, viewer.Owner, viewer.State)
	}
	// Output:
	// case:4711 BROWN VIEWING
	// case:4711 JDOE VIEWING
}

func ExampleClient_Waiters() {
	ctx := context.Background()
	client, remove := openExample(ctx)
	defer remove()
	object := applock.Object{Type: "customer", ID: "42"}
	if _, err := client.Get(ctx, applock.GetRequest{Object: object, Owner: applock.Owner{Operator: "JDOE"}}); err != nil {
		log.Fatal(err)
	}
	got := make(chan error)
	go func() {
		asmith := applock.Owner{Operator: "ASMITH", Department: "CS"}
		_, err := client.Get(ctx, applock.GetRequest{Object: object, Owner: asmith, MaxWait: time.Hour})
		got <- err
	}()

	var waiter applock.Waiter
	for waiter == (applock.Waiter{}) { // the other goroutine may not be there yet
		for found, err := range client.Waiters(ctx, applock.WaitersRequest{ObjectType: "customer"}) {
			if err != nil {
				log.Fatal(err)
			}
			waiter = found
		}
	}
	fmt.Println(waiter.Owner, "waits for", waiter.Object, "and gives up after", waiter.Until.Sub(waiter.Since))
	if _, err := client.Release(ctx, applock.ReleaseRequest{Key: applock.Key{Object: object, Operator: "JDOE"}}); err != nil {
		log.Fatal(err)
	}
	fmt.Println("has it now:", <-got)
	// Output:
	// ASMITH (CS) waits for customer:42 and gives up after 1h0m0s
	// has it now: <nil>
}

// Stats counts what there is of each type and department.
func ExampleClient_Stats() {
	ctx := context.Background()
	client, remove := openExample(ctx)
	defer remove()
	for _, id := range []string{"42", "43"} {
		request := applock.GetRequest{
			Object: applock.Object{Type: "customer", ID: id}, Owner: applock.Owner{Operator: "JDOE", Department: "CS"}, TTL: time.Hour,
		}
		if _, err := client.Get(ctx, request); err != nil {
			log.Fatal(err)
		}
	}
	stats, err := client.Stats(ctx, applock.StatsRequest{ObjectType: "customer"})
	if err != nil {
		log.Fatal(err)
	}
	for _, of := range stats {
		fmt.Println(of.ObjectType, of.Department, of.Live, "live, within an hour one ends:", of.NextExpiry <= time.Hour)
	}
	// Output:
	// customer CS 2 live, within an hour one ends: true
}

func ExampleClient_SetPolicy() {
	ctx := context.Background()
	client, remove := openExample(ctx)
	defer remove()
	err := client.SetPolicy(ctx, applock.SetPolicyRequest{
		Policy: applock.Policy{Type: "customer", DefaultTTL: time.Hour, LongestTTL: 8 * time.Hour},
		Actor:  "MLEE",
		Reason: "office hours",
	})
	if err != nil {
		log.Fatal(err)
	}
	grant, err := client.Get(ctx, applock.GetRequest{
		Object: applock.Object{Type: "customer", ID: "42"}, Owner: applock.Owner{Operator: "JDOE"}, TTL: 24 * time.Hour,
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(grant.Left)
	// Output:
	// 8h0m0s
}

func ExampleClient_Policies() {
	ctx := context.Background()
	client, remove := openExample(ctx)
	defer remove()
	policy := applock.Policy{Type: "customer", LongestTTL: 8 * time.Hour}
	if err := client.SetPolicy(ctx, applock.SetPolicyRequest{Policy: policy, Actor: "MLEE"}); err != nil {
		log.Fatal(err)
	}
	policies, err := client.Policies(ctx, "")
	if err != nil {
		log.Fatal(err)
	}
	for _, policy := range policies {
		fmt.Println(policy.Type, policy.LongestTTL)
	}
	// Output:
	// customer 8h0m0s
}

func ExampleClient_DropPolicy() {
	ctx := context.Background()
	client, remove := openExample(ctx)
	defer remove()
	err := client.DropPolicy(ctx, applock.DropPolicyRequest{Type: "customer", Actor: "MLEE", Reason: "the trial is over"})
	fmt.Println(errors.Is(err, applock.ErrNoPolicy))
	// Output:
	// true
}

// Acquire waits for its turn. The lease is renewed until it is released, and its context ends if it is lost.
func ExampleClient_Acquire() {
	ctx := context.Background()
	client, remove := openExample(ctx)
	defer remove()
	request := applock.AcquireRequest{
		Object:  applock.Object{Type: "report", ID: "monthly"},
		MaxHold: time.Hour,
		TTL:     30 * time.Second,
	}
	first, err := client.Acquire(ctx, request)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("first:", first.Object(), context.Cause(first.Context()))

	next := make(chan applock.Lease)
	go func() {
		second, err := client.Acquire(ctx, request) // waits until the first one is released
		if err != nil {
			log.Fatal(err)
		}
		next <- second
	}()
	fmt.Println("released:", first.Release(ctx))
	second := <-next
	fmt.Println("second, with a greater fence:", second.Fence() > first.Fence())
	fmt.Println("released:", second.Release(ctx))
	// Output:
	// first: report:monthly <nil>
	// released: <nil>
	// second, with a greater fence: true
	// released: <nil>
}

// One node runs the nightly job; the others skip it.
func ExampleClient_TryAcquire() {
	ctx := context.Background()
	client, remove := openExample(ctx)
	defer remove()
	request := applock.AcquireRequest{
		Object:  applock.Object{Type: "job", ID: "nightly"},
		MaxHold: time.Hour,        // a safety net: it ends then whatever happens
		TTL:     30 * time.Second, // after a crash another node may run it so soon
	}
	lease, err := client.TryAcquire(ctx, request)
	fmt.Println("here:", err)
	_, err = client.TryAcquire(ctx, request)
	fmt.Println("elsewhere, held:", errors.Is(err, applock.ErrHeld))
	fmt.Println("released:", lease.Release(ctx))
	// Output:
	// here: <nil>
	// elsewhere, held: true
	// released: <nil>
}

// A job that is skipped while another node does it, and not in an outage.
func ExampleClient_TryDo() {
	ctx := context.Background()
	client, remove := openExample(ctx)
	defer remove()
	request := applock.AcquireRequest{Object: applock.Object{Type: "job", ID: "reconcile"}, MaxHold: time.Hour}
	ran, err := client.TryDo(ctx, request, func(context.Context, applock.Lease) error {
		ran, err := client.TryDo(ctx, request, func(context.Context, applock.Lease) error { return nil })
		fmt.Println("elsewhere:", ran, errors.Is(err, applock.ErrHeld))
		return nil
	})
	fmt.Println("here:", ran, err)
	// Output:
	// elsewhere: false true
	// here: true <nil>
}

// A deposit into a wallet, one at a time per wallet, fenced in the transaction that writes.
func ExampleClient_Do() {
	ctx := context.Background()
	client, remove := openExample(ctx)
	defer remove()
	request := applock.AcquireRequest{Object: applock.Object{Type: "wallet", ID: "17"}, MaxHold: 10 * time.Second}
	err := client.Do(ctx, request, func(ctx context.Context, lease applock.Lease) error {
		// Begin the transaction here, inside the lease, with ctx, which ends if the lease is lost. Call
		// client.WithSQLTx(tx).Assert first in it, with lease.Fence(), and commit before returning.
		fmt.Println("depositing into", lease.Object())
		return nil
	})
	fmt.Println(err)
	// Output:
	// depositing into wallet:17
	// <nil>
}

// Two accounts at once: it waits until both are free, and holds neither before.
func ExampleClient_AcquireAll() {
	ctx := context.Background()
	client, remove := openExample(ctx)
	defer remove()
	set, err := client.AcquireAll(ctx, applock.AcquireAllRequest{
		Objects: []applock.Object{{Type: "account", ID: "2"}, {Type: "account", ID: "1"}},
		MaxHold: 10 * time.Second,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, lease := range set.Leases() {
		fmt.Println("holding", lease.Object())
	}
	fmt.Println(set.Release(ctx))
	// Output:
	// holding account:1
	// holding account:2
	// <nil>
}

// Two accounts at once, or neither.
func ExampleClient_TryAcquireAll() {
	ctx := context.Background()
	client, remove := openExample(ctx)
	defer remove()
	from, to := applock.Object{Type: "account", ID: "1"}, applock.Object{Type: "account", ID: "2"}
	_, err := client.Get(ctx, applock.GetRequest{Object: to, Owner: applock.Owner{Operator: "JDOE"}})
	fmt.Println(err)
	_, err = client.TryAcquireAll(ctx, applock.AcquireAllRequest{Objects: []applock.Object{from, to}, MaxHold: 10 * time.Second})
	var conflict *applock.ConflictError
	if errors.As(err, &conflict) {
		for _, held := range conflict.Conflicts {
			fmt.Println(held.Object, "is held by", held.Holder.Owner)
		}
	}
	// Output:
	// <nil>
	// account:2 is held by JDOE
}
