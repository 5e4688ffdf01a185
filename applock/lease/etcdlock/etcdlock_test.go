package etcdlock_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
	"github.com/applock/applock/applock/lease/etcdlock"
)

func customer(id string) applock.Object { return applock.Object{Type: "customer", ID: id} }

func owner(operator string) applock.Owner { return applock.Owner{Operator: operator} }

// leasesOn returns leases on a client.
func leasesOn(t *testing.T, client *clientv3.Client) *lease.Leases {
	t.Helper()
	leases, err := etcdlock.New(etcdlock.Config{Client: client})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = leases.Close() })
	return leases
}

// backendOn returns what keeps such leases.
func backendOn(t *testing.T, client *clientv3.Client) lease.Backend {
	t.Helper()
	backend := etcdlock.NewBackend(etcdlock.Config{Client: client})
	t.Cleanup(func() { _ = backend.(io.Closer).Close() })
	return backend
}

func mustTake(t *testing.T, backend lease.Backend, object applock.Object, operator string, ttl time.Duration) applock.Grant {
	t.Helper()
	grant, err := backend.Get(t.Context(), object, owner(operator), ttl)
	if err != nil {
		t.Fatal(err)
	}
	return grant
}

// keyOfLock returns the key of a lock, nil if there is none.
func keyOfLock(t *testing.T, client *clientv3.Client, object applock.Object) (lease clientv3.LeaseID, value string, found bool) {
	t.Helper()
	answer, err := client.Get(t.Context(), keyOf("applock", object))
	if err != nil {
		t.Fatal(err)
	}
	if len(answer.Kvs) == 0 {
		return 0, "", false
	}
	return clientv3.LeaseID(answer.Kvs[0].Lease), string(answer.Kvs[0].Value), true
}

// Goal: the statements of the pages about a healthy cluster hold. Method: one cluster for all, and an object or more for each.
func TestOnOneCluster(t *testing.T) {
	t.Parallel()
	one := newCluster(t)
	for name, test := range map[string]func(t *testing.T, cluster *cluster){
		"KeyAndValue":               keyAndValue,
		"Refusal":                   refusal,
		"WhatGoesIsTold":            whatGoesIsTold,
		"RenewedOutlastsItsTTL":     renewedOutlastsItsTTL,
		"EachErrorHasItsMeaning":    eachErrorHasItsMeaning,
		"WhoCameFirstIsToAskFirst":  whoCameFirstIsToAskFirst,
		"NotLongerThanAsked":        notLongerThanAsked,
		"ALongerLeaseKeepsTheFence": aLongerLeaseKeepsTheFence,
		"ALostListIsListedAgain":    aLostListIsListedAgain,
		"NoLeaseIsLeft":             noLeaseIsLeft,
		"AnswerOfATakeIsLost":       answerOfATakeIsLost,
		"TakeArrivesLate":           takeArrivesLate,
		"AnswerOfATransferIsLost":   answerOfATransferIsLost,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, one)
		})
	}
}

// Goal: the key is the bytes of the object, and its value tells a reader who has it. Method: read it as anybody would.
func keyAndValue(t *testing.T, cluster *cluster) {
	client := connect(t, cluster.endpoints()...)
	object := applock.Object{Type: "Küche {x}", ID: " a:b*?[\\]\"/🔒"}
	lease, err := leasesOn(t, client).Acquire(t.Context(), applock.AcquireRequest{
		Object: object, Owner: applock.Owner{Operator: `JDOE"}`, Department: "<CS> & co"}, MaxHold: time.Hour, TTL: 20 * time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := keyOfLock(t, client, object)
	var value map[string]any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	if value["operator_id"] != `JDOE"}` || value["department_id"] != "<CS> & co" || value["ttl_seconds"] != 20.0 || len(value) != 3 {
		t.Errorf("the value is %s", text)
	}
	if err := lease.Release(t.Context()); err != nil {
		t.Error(err)
	}
	if _, text, found := keyOfLock(t, client, object); found {
		t.Errorf("after the release the value is %s", text)
	}
}

// Goal: a refusal has the holder, its fence, and the end. Method: a holder of this package, and a key that another program has written,
// without a lease.
func refusal(t *testing.T, cluster *cluster) {
	client := connect(t, cluster.endpoints()...)
	backend := backendOn(t, client)
	grant := mustTake(t, backend, customer("refusal"), "ANN", time.Minute)
	_, err := backend.Get(t.Context(), customer("refusal"), owner("BOB"), time.Minute)
	var held *applock.HeldError
	if !errors.As(err, &held) || held.Holder.Owner.Operator != "ANN" || held.Holder.Fence != grant.Fence {
		t.Fatalf("%v, want that ANN has it with %d", err, grant.Fence)
	}
	if left := held.Holder.Left; left <= 0 || left > time.Minute || held.Holder.ExpiresAt.Before(time.Now()) {
		t.Errorf("ANN has it for %s, until %s, want up to a minute", left, held.Holder.ExpiresAt)
	}
	if _, err := client.Put(t.Context(), keyOf("applock", customer("foreign")), "by hand"); err != nil {
		t.Fatal(err)
	}
	_, err = backend.Get(t.Context(), customer("foreign"), owner("BOB"), time.Minute)
	if !errors.As(err, &held) || held.Holder.Owner.Operator != "by hand" || !held.Holder.ExpiresAt.IsZero() {
		t.Errorf("%v, want that somebody by hand has it for ever", err)
	}
}

// Goal: waiters receive releases and expiries. Method: listen, and make both happen.
func whatGoesIsTold(t *testing.T, cluster *cluster) {
	client := connect(t, cluster.endpoints()...)
	backend := backendOn(t, client)
	released := mustTake(t, backend, customer("told released"), "ANN", time.Hour)
	releases, err := backend.(lease.Notifier).Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = releases.Close() }()
	mustTake(t, backend, customer("told expired"), "ANN", time.Second)
	if err := backend.Release(t.Context(), released); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	missing := map[applock.Object]bool{customer("told released"): true, customer("told expired"): true}
	for len(missing) > 0 {
		message, err := releases.Next(ctx)
		if err != nil {
			t.Fatalf("without %v: %v", missing, err)
		}
		delete(missing, message.Object)
	}
}

// Goal: the program whose waiter came first is to ask before others, and one where nobody waits is not told whose turn it is. Method: two
// wait, one after the other, and a third one listens, too.
func whoCameFirstIsToAskFirst(t *testing.T, cluster *cluster) {
	client := connect(t, cluster.endpoints()...)
	object := customer("ranked")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	grant := mustTake(t, backendOn(t, client), object, "ANN", time.Hour)
	var listening []lease.Listener
	for i := range 3 {
		backend := backendOn(t, client)
		releases, err := backend.(lease.Notifier).Listen(ctx)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = releases.Close() }()
		listening = append(listening, releases)
		if i == 2 {
			break
		}
		if err := backend.(lease.Announcer).Announce(ctx, object, owner(fmt.Sprint("P", i)), time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	if err := backendOn(t, client).Release(ctx, grant); err != nil {
		t.Fatal(err)
	}
	for i, want := range []lease.Rank{lease.First, lease.Later, lease.Unranked} {
		message, err := listening[i].Next(ctx)
		for err == nil && message.Object != object { // of another test
			message, err = listening[i].Next(ctx)
		}
		if err != nil || message.Rank != want {
			t.Errorf("program %d is told %+v, %v, want rank %d", i, message, err, want)
		}
	}
}

// leftOf returns how many seconds etcd gives the lease of a lock.
func leftOf(t *testing.T, client *clientv3.Client, object applock.Object) int64 {
	t.Helper()
	lease, _, found := keyOfLock(t, client, object)
	if !found {
		t.Fatalf("%s is free", object)
	}
	answer, err := client.TimeToLive(t.Context(), lease)
	if err != nil {
		t.Fatal(err)
	}
	return answer.TTL
}

// Goal: a grant that lasts long enough is not made longer by a renewal, so that a crash at the end of MaxHold frees the object soon;
// one that does not is. Method: renew it when some of its time has passed, for less and for all.
func notLongerThanAsked(t *testing.T, cluster *cluster) {
	const hour = 3600
	client := connect(t, cluster.endpoints()...)
	backend := backendOn(t, client)
	grant := mustTake(t, backend, customer("long"), "ANN", time.Hour)
	cluster.await(t, "any time passed", func(context.Context) bool { return leftOf(t, client, grant.Object) <= hour-2 })
	for _, test := range []struct {
		ttl  time.Duration
		want func(left int64) bool
	}{
		{time.Hour - 10*time.Second, func(left int64) bool { return left <= hour-2 }},
		{time.Hour, func(left int64) bool { return left > hour-2 }},
	} {
		answers, err := backend.Renew(t.Context(), []lease.Renewal{{Grant: grant, TTL: test.ttl}})
		if err != nil || len(answers) != 1 || answers[0].Lost != nil {
			t.Fatalf("renew: %+v, %v", answers, err)
		}
		if left := leftOf(t, client, grant.Object); !test.want(left) {
			t.Errorf("renewed for %s, it lasts %d s", test.ttl, left)
		}
	}
}

// Goal: a grant that is renewed for no longer than its lease's TTL outlasts it. Method: renew it all the time, until two others of that TTL
// have expired, one after the other.
func renewedOutlastsItsTTL(t *testing.T, cluster *cluster) {
	const ttl = 2 * time.Second
	client := connect(t, cluster.endpoints()...)
	backend := backendOn(t, client)
	grant := mustTake(t, backend, customer("outlasts"), "ANN", ttl)
	for _, clock := range []string{"clock 1", "clock 2"} {
		mustTake(t, backend, customer(clock), "ANN", ttl)
		cluster.await(t, "the other one expired", func(ctx context.Context) bool {
			answers, err := backend.Renew(ctx, []lease.Renewal{{Grant: grant, TTL: ttl}})
			if err != nil || len(answers) != 1 || answers[0].Lost != nil {
				t.Fatalf("renew: %+v, %v", answers, err)
			}
			_, _, found := keyOfLock(t, client, customer(clock))
			return !found
		})
	}
	if _, err := backend.Get(t.Context(), grant.Object, owner("BOB"), ttl); !errors.Is(err, applock.ErrHeld) {
		t.Errorf("somebody else gets %v, want ErrHeld", err)
	}
}

// Goal: each failure of a call gets its kind: unreachable, too busy, not permitted, or an unknown outcome. Method: the second call of a Get
// makes its lease, and the third is its transaction; one is failed instead of sent.
func eachErrorHasItsMeaning(t *testing.T, cluster *cluster) {
	for name, test := range map[string]struct {
		fails func(request any) bool
		with  error
		want  error
	}{
		"NoAnswerToARead":          {isRead, status.Error(codes.Unavailable, "the connection broke"), applock.ErrUnreachable},
		"NotPermitted":             {isRead, rpctypes.ErrGRPCPermissionDenied, applock.ErrPrivilege},
		"NoAnswerAboutALease":      {isLease, status.Error(codes.Unavailable, "the connection broke"), applock.ErrUnreachable},
		"NoLeaderForALease":        {isLease, status.Error(codes.Unknown, "raft proposal dropped"), applock.ErrUnreachable},
		"TooManyLeases":            {isLease, rpctypes.ErrGRPCRequestTooManyRequests, applock.ErrBusy},
		"NoAnswerToATransaction":   {isWrite, status.Error(codes.Unavailable, "the connection broke"), applock.ErrOutcomeUnknown},
		"TransactionTimedOut":      {isWrite, rpctypes.ErrGRPCTimeoutDueToLeaderFail, applock.ErrOutcomeUnknown},
		"TransactionDropped":       {isWrite, status.Error(codes.Unknown, "raft proposal dropped"), applock.ErrOutcomeUnknown},
		"NoLeaderForATransaction":  {isWrite, rpctypes.ErrGRPCNoLeader, applock.ErrUnreachable},
		"TooManyTransactions":      {isWrite, rpctypes.ErrGRPCRequestTooManyRequests, applock.ErrBusy},
		"LeaseOfATransactionEnded": {isWrite, rpctypes.ErrGRPCLeaseNotFound, applock.ErrBusy},
		"NoSpace":                  {isWrite, rpctypes.ErrGRPCNoSpace, rpctypes.ErrNoSpace},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			backend := backendOn(t, connectThrough(t, cluster, func(ctx context.Context, request, _ any, send func(ctx context.Context) error) error {
				if test.fails(request) {
					return test.with
				}
				return send(ctx)
			}))
			ctx, cancel := context.WithTimeout(t.Context(), time.Second) // the client repeats reads
			defer cancel()
			_, err := backend.Get(ctx, customer(name), owner("ANN"), time.Minute)
			if !errors.Is(err, test.want) {
				t.Errorf("%v, want %v", err, test.want)
			}
			if isUnknown := errors.Is(err, applock.ErrOutcomeUnknown); isUnknown != errors.Is(test.want, applock.ErrOutcomeUnknown) {
				t.Errorf("%v, and the outcome is unknown: %t", err, isUnknown)
			}
		})
	}
}

func isRead(request any) bool {
	_, ok := request.(*etcdserverpb.RangeRequest)
	return ok
}

func isLease(request any) bool {
	_, ok := request.(*etcdserverpb.LeaseGrantRequest)
	return ok
}

func isWrite(request any) bool {
	transaction, ok := request.(*etcdserverpb.TxnRequest)
	return ok && len(transaction.Compare) > 0
}

// Goal: a renewal for longer than the lease's TTL needs another lease, and keeps the grant: refusals tell the same fence, and the former
// lease goes. Method: a minute, and then an hour.
func aLongerLeaseKeepsTheFence(t *testing.T, cluster *cluster) {
	client := connect(t, cluster.endpoints()...)
	backend := backendOn(t, client)
	grant := mustTake(t, backend, customer("longer"), "ANN", time.Minute)
	former, _, _ := keyOfLock(t, client, grant.Object)
	answers, err := backend.Renew(t.Context(), []lease.Renewal{{Grant: grant, TTL: time.Hour}})
	if err != nil || len(answers) != 1 || answers[0].Lost != nil {
		t.Fatalf("renew: %+v, %v", answers, err)
	}
	if left := leftOf(t, client, grant.Object); left < 3590 {
		t.Errorf("it lasts %d s", left)
	}
	var held *applock.HeldError
	if _, err := backend.Get(t.Context(), grant.Object, owner("BOB"), time.Minute); !errors.As(err, &held) || held.Holder.Fence != grant.Fence {
		t.Errorf("refused with %v, want the fence %d", err, grant.Fence)
	}
	cluster.await(t, "the former lease revoked", isRevoked(client, former))
}

func isRevoked(client *clientv3.Client, lease clientv3.LeaseID) func(ctx context.Context) bool {
	return func(ctx context.Context) bool {
		answer, err := client.TimeToLive(ctx, lease)
		return err == nil && answer.TTL < 0
	}
}

// Goal: a waiter whose entry is gone is reported and listed again, as after a long outage. Method: revoke the list's lease behind the
// program's back.
func aLostListIsListedAgain(t *testing.T, cluster *cluster) {
	client := connect(t, cluster.endpoints()...)
	backend := backendOn(t, client)
	object := customer("listed/1")
	list := backend.(lease.Announcer)
	listed := func() clientv3.LeaseID {
		if err := list.Announce(t.Context(), object, owner("BOB"), time.Minute); err != nil {
			t.Fatal(err)
		}
		answer, err := client.Get(t.Context(), "applock/waiting/customer:listed%2F1/", clientv3.WithPrefix())
		if err != nil || len(answer.Kvs) != 1 || !strings.Contains(string(answer.Kvs[0].Value), `"operator_id":"BOB"`) {
			t.Fatalf("the list is %+v, %v", answer, err)
		}
		return clientv3.LeaseID(answer.Kvs[0].Lease)
	}
	if _, err := client.Revoke(t.Context(), listed()); err != nil {
		t.Fatal(err)
	}
	cluster.await(t, "a name told to be gone", func(ctx context.Context) bool {
		answer, err := backend.(lease.Poller).Poll(ctx, slices.Values([]applock.Object{object}))
		return err == nil && slices.Contains(answer.Unlisted, object)
	})
	listed()
	if err := list.Retract(t.Context(), object, "BOB"); err != nil {
		t.Fatal(err)
	}
	if answer, err := client.Get(t.Context(), "applock/waiting/customer:listed%2F1/", clientv3.WithPrefix()); err != nil || len(answer.Kvs) != 0 {
		t.Errorf("after Retract the list is %+v, %v", answer, err)
	}
}

// Goal: no lease of etcd stays behind. Method: note each that is made, by all that makes one, and wait until etcd has none of them.
func noLeaseIsLeft(t *testing.T, cluster *cluster) {
	var mutex sync.Mutex
	var made []clientv3.LeaseID
	client := connectThrough(t, cluster, func(ctx context.Context, request, reply any, send func(ctx context.Context) error) error {
		err := send(ctx)
		if granted, ok := reply.(*etcdserverpb.LeaseGrantResponse); ok && err == nil {
			mutex.Lock()
			defer mutex.Unlock()
			made = append(made, clientv3.LeaseID(granted.ID))
		}
		return err
	})
	backend := etcdlock.NewBackend(etcdlock.Config{Client: client})
	object := customer("left")
	mustTake(t, backend, object, "ANN", time.Hour)
	grant := mustTake(t, backend, object, "ANN", time.Minute)
	if _, err := backend.Renew(t.Context(), []lease.Renewal{{Grant: grant, TTL: time.Hour}}); err != nil {
		t.Fatal(err)
	}
	grant, err := backend.(lease.Transferrer).Transfer(t.Context(), grant, owner("BOB"), 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := backend.(lease.Announcer).Announce(t.Context(), object, owner("EVE"), 0); err != nil {
		t.Fatal(err)
	}
	if err := backend.Release(t.Context(), grant); err != nil {
		t.Fatal(err)
	}
	if err := backend.(io.Closer).Close(); err != nil {
		t.Fatal(err)
	}
	if len(made) != 5 {
		t.Errorf("%d leases were made, want 5", len(made))
	}
	for _, lease := range made {
		cluster.await(t, "a lease revoked", isRevoked(client, lease))
	}
}

// connectThrough returns a client whose calls go through a function.
func connectThrough(
	t *testing.T, cluster *cluster, call func(ctx context.Context, request, reply any, send func(ctx context.Context) error) error,
) *clientv3.Client {
	t.Helper()
	config := configOf(cluster.endpoints()...)
	config.DialOptions = []grpc.DialOption{grpc.WithChainUnaryInterceptor(func(
		ctx context.Context, method string, request, reply any, connection *grpc.ClientConn, send grpc.UnaryInvoker, options ...grpc.CallOption,
	) error {
		return call(ctx, request, reply, func(ctx context.Context) error {
			return send(ctx, method, request, reply, connection, options...)
		})
	})}
	client, err := clientv3.New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// losing returns a client to which no transaction that writes is ever answered. What is lost is done before that if late is nil, and
// otherwise handed to it, to be done later.
func losing(t *testing.T, cluster *cluster, late chan<- func()) *clientv3.Client {
	t.Helper()
	return connectThrough(t, cluster, func(ctx context.Context, request, _ any, send func(ctx context.Context) error) error {
		switch {
		case !isWrite(request):
			return send(ctx)
		case late == nil:
			if err := send(ctx); err != nil {
				return err
			}
		default:
			late <- func() { _ = send(context.WithoutCancel(ctx)) } // whatever it says, nobody hears it
		}
		return status.Error(codes.Unavailable, "the connection broke")
	})
}

// Goal: the grant of a Get without an answer ends, even without a release. Method: a client that loses the answer.
func answerOfATakeIsLost(t *testing.T, cluster *cluster) {
	backend := backendOn(t, losing(t, cluster, nil))
	_, err := backend.Get(t.Context(), customer("lost"), owner("ANN"), time.Hour)
	if !errors.Is(err, applock.ErrOutcomeUnknown) {
		t.Fatalf("%v, want ErrOutcomeUnknown", err)
	}
	client := connect(t, cluster.endpoints()...)
	cluster.await(t, "the object free", func(context.Context) bool {
		_, _, found := keyOfLock(t, client, customer("lost"))
		return !found
	})
}

// Goal: a Take without an answer that arrives late takes nothing. Method: hold it back until its lease has been revoked.
func takeArrivesLate(t *testing.T, cluster *cluster) {
	late := make(chan func(), 1)
	client := losing(t, cluster, late)
	backend := etcdlock.NewBackend(etcdlock.Config{Client: client})
	_, err := backend.Get(t.Context(), customer("late"), owner("ANN"), time.Hour)
	if !errors.Is(err, applock.ErrOutcomeUnknown) {
		t.Fatalf("%v, want ErrOutcomeUnknown", err)
	}
	if err := backend.(io.Closer).Close(); err != nil { // it waits for what is being undone
		t.Fatal(err)
	}
	(<-late)()
	if _, value, found := keyOfLock(t, client, customer("late")); found {
		t.Errorf("the late call has taken it: %s", value)
	}
}

// Goal: after a transfer without an answer the object is free soon. Method: a client that loses the answer.
func answerOfATransferIsLost(t *testing.T, cluster *cluster) {
	client := connect(t, cluster.endpoints()...)
	grant := mustTake(t, backendOn(t, client), customer("handed"), "ANN", time.Hour)
	backend := backendOn(t, losing(t, cluster, nil)).(lease.Transferrer)
	_, err := backend.Transfer(t.Context(), grant, owner("BOB"), 0)
	if !errors.Is(err, applock.ErrOutcomeUnknown) {
		t.Fatalf("%v, want ErrOutcomeUnknown", err)
	}
	cluster.await(t, "the object free", func(context.Context) bool {
		_, _, found := keyOfLock(t, client, customer("handed"))
		return !found
	})
}

// Goal: an unusable configuration is refused, and an absent cluster is not reported as a held object. Method: such configurations, and an
// address where nobody listens.
func TestRefusedAndUnreachable(t *testing.T) {
	t.Parallel()
	nobody := reserve(t)
	_ = nobody.Close() // nobody listens there
	client := connect(t, nobody.Addr().String())
	for _, config := range []etcdlock.Config{{}, {Client: client, Namespace: "a/b"}, {Client: client, Namespace: strings.Repeat("x", 65)}} {
		if _, err := etcdlock.New(config); !errors.Is(err, applock.ErrInvalid) {
			t.Errorf("%q: %v, want ErrInvalid", config.Namespace, err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	_, err := backendOn(t, client).Get(ctx, customer("1"), owner("ANN"), time.Minute)
	if !errors.Is(err, applock.ErrUnreachable) || errors.Is(err, applock.ErrHeld) {
		t.Errorf("%v, want ErrUnreachable", err)
	}
}
