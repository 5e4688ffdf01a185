package etcdlock_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
)

const (
	// faultTTL is that of leases which may be lost, and keptTTL of those which must not: it outlasts some elections.
	faultTTL = 2 * time.Second
	keptTTL  = 10 * time.Second
	// soakVariable is for how many seconds the faults of one member are repeated.
	soakVariable = "APPLOCK_SOAK_SECONDS"
	// programs and objects are how many compete, and more who wait than can have one.
	programs, objects, workers = 3, 2, 6
	// progress is how many grants of each object show that life goes on.
	progress = 5
)

// crowd is programs that take turns at a few objects all the time.
type crowd struct {
	stop  context.CancelFunc
	group sync.WaitGroup
	lanes [objects]lane
}

// lane is what is known of an object from all its grants. Of two holders one has taken it while the lease of the former is live by its own
// word, and is not being released.
type lane struct {
	mutex  sync.Mutex
	former applock.Lease
	leaves *atomic.Bool
	fence  applock.Fence
	grants int
}

// newCrowd begins a crowd. It runs until the test ends, or stop.
func newCrowd(t *testing.T, clients ...*clientv3.Client) *crowd {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	c := &crowd{stop: cancel}
	for i, client := range clients {
		leases := leasesOn(t, client)
		for worker := range workers {
			c.group.Go(func() {
				for ctx.Err() == nil {
					c.turn(ctx, t, leases, fmt.Sprintf("P%d", i), worker%objects)
				}
			})
		}
	}
	t.Cleanup(c.end)
	return c
}

func (c *crowd) end() {
	c.stop()
	c.group.Wait()
}

// turn takes an object, keeps it for a moment, and releases it. What it may fail with, it may in an outage.
func (c *crowd) turn(ctx context.Context, t *testing.T, leases *lease.Leases, program string, object int) {
	lease, err := leases.Acquire(ctx, applock.AcquireRequest{Object: customer(fmt.Sprint(object)), MaxHold: time.Hour, TTL: faultTTL})
	if err != nil {
		if ctx.Err() == nil && !isOutage(err) {
			t.Errorf("%s acquires: %v", program, err)
		}
		return
	}
	leaves := c.lanes[object].enter(t, lease, program)
	select {
	case <-lease.Context().Done():
	case <-time.After(5 * time.Millisecond):
	}
	leaves.Store(true)
	if err := lease.Release(context.WithoutCancel(ctx)); err != nil && !errors.Is(err, applock.ErrLost) && !isOutage(err) {
		t.Errorf("%s releases: %v", program, err)
	}
}

// isOutage reports whether a call failed in a way that an outage explains.
func isOutage(err error) bool {
	return errors.Is(err, applock.ErrUnreachable) || errors.Is(err, applock.ErrOutcomeUnknown) || errors.Is(err, applock.ErrBusy)
}

// enter notes a grant. A lease that has ended by its own word claims nothing: the processor can be elsewhere between a grant and here.
func (l *lane) enter(t *testing.T, lease applock.Lease, program string) (leaves *atomic.Bool) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if lease.Err() != nil {
		return new(atomic.Bool)
	}
	if l.former != nil && !l.leaves.Load() && l.former.Err() == nil {
		t.Errorf("%s has %s, and so has %s until %s", program, lease.Object(), l.former.Owner(), l.former.Deadline())
	}
	if lease.Fence() <= l.fence {
		t.Errorf("%s has %s with fence %d after %d, want a greater one", program, lease.Object(), lease.Fence(), l.fence)
	}
	l.former, l.leaves, l.fence = lease, new(atomic.Bool), lease.Fence()
	l.grants++
	return l.leaves
}

// goesOn requires that each object is granted several times more.
func (c *crowd) goesOn(t *testing.T, cluster *cluster, what string) {
	t.Helper()
	var before [objects]int
	for i := range c.lanes {
		before[i] = c.lanes[i].count()
	}
	cluster.await(t, "enough grants "+what, func(context.Context) bool {
		for i := range c.lanes {
			if c.lanes[i].count() < before[i]+progress {
				return false
			}
		}
		return true
	})
}

func (l *lane) count() int {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.grants
}

// scene is a cluster with a crowd, and a lease that is kept.
type scene struct {
	*cluster

	// watch is the test's own client.
	watch *clientv3.Client
	crowd *crowd
	kept  applock.Lease
	// since is when it was taken.
	since time.Time
}

func newScene(t *testing.T, ttl time.Duration) scene {
	t.Helper()
	c := newCluster(t)
	s := scene{cluster: c, watch: connect(t, c.endpoints()...)}
	var clients []*clientv3.Client
	for range programs {
		clients = append(clients, connect(t, c.endpoints()...))
	}
	s.crowd = newCrowd(t, clients...)
	s.since = time.Now()
	s.kept = keep(t, clients[0], "kept", ttl)
	s.crowd.goesOn(t, c, "before")
	return s
}

// keep takes an object that is kept to the end.
func keep(t *testing.T, client *clientv3.Client, id string, ttl time.Duration) applock.Lease {
	t.Helper()
	lease, err := leasesOn(t, client).Acquire(t.Context(), applock.AcquireRequest{Object: customer(id), MaxHold: time.Hour, TTL: ttl})
	if err != nil {
		t.Fatal(err)
	}
	return lease
}

// requireKept requires that the kept lease is live for its holder and for etcd, renewed after the fault, and older than its TTL.
func (s scene) requireKept(t *testing.T) {
	t.Helper()
	deadline := s.kept.Deadline()
	s.await(t, "a renewal", func(context.Context) bool {
		return s.kept.Err() != nil || s.kept.Deadline().After(deadline) && time.Since(s.since) > keptTTL+time.Second
	})
	if err := s.kept.Err(); err != nil {
		t.Errorf("the lease that is kept: %v", err)
	}
	eve := backendOn(t, s.watch)
	s.await(t, "an answer", func(ctx context.Context) bool {
		_, err := eve.Get(ctx, s.kept.Object(), owner("EVE"), faultTTL)
		if !errors.Is(err, applock.ErrHeld) && !isOutage(err) {
			t.Fatalf("somebody else gets what is kept: %v, want ErrHeld", err)
		}
		return !isOutage(err)
	})
}

// Goal: whatever becomes of a member or of the leader, never two hold an object, fences grow, leases live on, and so does who waits.
// Method: a crowd and a lease that is kept, while the cluster of three loses no more than one at a time.
func TestFaultsOfOneMember(t *testing.T) {
	t.Parallel()
	seconds, _ := strconv.Atoi(os.Getenv(soakVariable)) // once without it
	soak := time.Duration(seconds) * time.Second
	for name, fault := range map[string]func(t *testing.T, s scene){
		"FollowerIsKilled": func(t *testing.T, s scene) {
			t.Helper()
			s.killAndStart(t, s.others(s.awaitLeader(t, s.watch, s.members[:]...))[0])
		},
		"LeaderIsKilled": func(t *testing.T, s scene) {
			t.Helper()
			s.killAndStart(t, s.awaitLeader(t, s.watch, s.members[:]...))
		},
		"LeaderMoves": func(t *testing.T, s scene) {
			t.Helper()
			for range 3 {
				s.moveLeader(t)
				s.crowd.goesOn(t, s.cluster, "with another leader")
			}
		},
		"LeaderIsCutOff": func(t *testing.T, s scene) {
			t.Helper()
			former := s.awaitLeader(t, s.watch, s.members[:]...)
			s.cutOff(t, former)
			s.await(t, "another leader", func(ctx context.Context) bool {
				leader := s.leader(ctx, s.watch, s.others(former)...)
				return leader != nil && leader != former
			})
			s.crowd.goesOn(t, s.cluster, "without the former leader")
			s.mend()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, keptTTL)
			for began := time.Now(); ; {
				fault(t, s)
				s.crowd.goesOn(t, s.cluster, "afterwards")
				s.requireKept(t)
				if t.Failed() || time.Since(began) >= soak {
					break
				}
			}
			s.crowd.end()
		})
	}
}

func (s scene) killAndStart(t *testing.T, m *member) {
	t.Helper()
	m.kill(t)
	s.crowd.goesOn(t, s.cluster, "with two members")
	s.start(t, m)
}

// moveLeader makes another member the leader.
func (s scene) moveLeader(t *testing.T) {
	t.Helper()
	leader := s.awaitLeader(t, s.watch, s.members[:]...)
	next := s.others(leader)[0]
	s.await(t, "a leader moved", func(ctx context.Context) bool {
		status, err := s.watch.Status(ctx, next.endpoint)
		if err != nil {
			return false
		}
		direct := connect(t, leader.endpoint) // only who leads can hand over
		_, err = direct.MoveLeader(ctx, status.Header.MemberId)
		return err == nil || s.leader(ctx, s.watch, next) == next
	})
}

// cutOff cuts off a member from the others. Clients still reach it.
func (c *cluster) cutOff(t *testing.T, m *member) {
	t.Helper()
	status, err := connect(t, m.endpoint).Status(t.Context(), m.endpoint)
	if err != nil {
		t.Fatal(err)
	}
	m.link.cut()
	for _, other := range c.others(m) {
		other.link.cutFrom(fmt.Sprintf("%x", status.Header.MemberId))
	}
}

func (c *cluster) mend() {
	for _, m := range c.members {
		m.link.mend()
	}
}

// Goal: a program that reaches only a leader which is cut off loses its leases, and hears of it before anybody else has the
// object. Method: it holds one while a program on the other side waits for it.
func TestHolderBesideALeaderThatIsCutOff(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	watch := connect(t, c.endpoints()...)
	leader := c.awaitLeader(t, watch, c.members[:]...)
	var others []string
	for _, m := range c.others(leader) {
		others = append(others, m.endpoint)
	}
	lost := keep(t, connect(t, leader.endpoint), "lost", faultTTL)
	c.cutOff(t, leader)
	requireHandedOn(t, lost, connect(t, others...))
	cut := backendOn(t, connect(t, leader.endpoint))
	c.await(t, "a member saying that it has no leader", func(ctx context.Context) bool {
		_, err := cut.Get(ctx, customer("free"), owner("ANN"), faultTTL)
		if !errors.Is(err, applock.ErrUnreachable) {
			t.Fatalf("the member that is cut off answers %v, want ErrUnreachable", err)
		}
		return errors.Is(err, rpctypes.ErrNoLeader) // else its clients would wait for it
	})
}

// requireHandedOn requires that another operator gets an object only after its holder has lost the lease.
func requireHandedOn(t *testing.T, lost applock.Lease, client *clientv3.Client) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	next, err := leasesOn(t, client).Acquire(ctx, applock.AcquireRequest{Object: lost.Object(), MaxHold: time.Hour, TTL: faultTTL})
	if err != nil {
		t.Fatal(err)
	}
	if !errors.Is(lost.Err(), applock.ErrLost) {
		t.Errorf("somebody else has the object, and the former holder is told %v, want ErrLost", lost.Err())
	}
	if next.Fence() <= lost.Fence() {
		t.Errorf("fence %d after %d, want a greater one", next.Fence(), lost.Fence())
	}
}

// Goal: a program that reaches nobody loses its leases in the same way; who waits there gets the object when it reaches the
// cluster again. Method: links between the program and all members, which are cut, and mended.
func TestProgramIsCutOff(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	var links []*link
	var endpoints []string
	for _, m := range c.members {
		links = append(links, newLink(t, m.endpoint))
		endpoints = append(endpoints, links[len(links)-1].address())
	}
	far, near := connect(t, endpoints...), connect(t, c.endpoints()...)
	held := keep(t, near, "held", keptTTL)
	lost := keep(t, far, "lost", faultTTL)
	waits := make(chan error, 1)
	waiter := leasesOn(t, far)
	go func() {
		_, err := waiter.Acquire(t.Context(), applock.AcquireRequest{Object: held.Object(), MaxHold: time.Hour, TTL: faultTTL})
		waits <- err
	}()
	c.await(t, "a waiter", func(ctx context.Context) bool {
		answer, err := near.Get(ctx, "applock/waiting/customer:held/", clientv3.WithPrefix(), clientv3.WithCountOnly())
		return err == nil && answer.Count == 1
	})
	for _, link := range links {
		link.cut()
	}
	requireHandedOn(t, lost, near)
	if err := held.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, link := range links {
		link.mend()
	}
	select {
	case err := <-waits:
		if err != nil {
			t.Errorf("the waiter behind the link: %v", err)
		}
	case <-time.After(time.Minute):
		t.Error("the waiter behind the link goes on waiting")
	}
}

// Goal: without a majority nobody gets any object, not even a free one, and the error says unreachable and not held; holders lose their
// leases. With a majority again, everything works. Method: kill two of three, and start them again.
func TestMajorityIsLost(t *testing.T) {
	t.Parallel()
	s := newScene(t, faultTTL)
	client := connect(t, s.endpoints()...)
	asking := leasesOn(t, client)
	killed := s.members[:2]
	for _, m := range killed {
		m.kill(t)
	}
	lease, err := asking.TryAcquire(t.Context(), applock.AcquireRequest{Object: customer("free"), MaxHold: time.Minute, MaxWait: 2 * time.Second})
	if !errors.Is(err, applock.ErrUnreachable) || errors.Is(err, applock.ErrHeld) {
		t.Errorf("without a majority: %v, %v, want ErrUnreachable", lease, err)
	}
	select {
	case <-s.kept.Context().Done():
	case <-time.After(time.Minute):
		t.Error("a holder is not told that its lease is lost")
	}
	for _, m := range killed {
		s.start(t, m)
	}
	s.crowd.goesOn(t, s.cluster, "with a majority again")
	requireHandedOn(t, s.kept, client)
	s.crowd.end()
}

// Goal: a lock survives a restart of the whole cluster, with its fence. Method: kill all members while an object is held, start them again,
// and try to get the object.
func TestRestartOfTheCluster(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	client := connect(t, c.endpoints()...)
	grant := mustTake(t, backendOn(t, client), customer("1"), "ANN", time.Hour)
	for _, m := range c.members {
		m.kill(t)
	}
	for _, m := range c.members {
		c.start(t, m)
	}
	var held *applock.HeldError
	c.await(t, "an answer", func(ctx context.Context) bool {
		_, err := backendOn(t, client).Get(ctx, customer("1"), owner("BOB"), time.Minute)
		return errors.As(err, &held) || err == nil
	})
	if held == nil || held.Holder.Owner.Operator != "ANN" || held.Holder.Fence != grant.Fence {
		t.Errorf("refused with %v, want that ANN has it with %d", held, grant.Fence)
	}
}
