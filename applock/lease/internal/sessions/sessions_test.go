package sessions

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
)

// Goal: two owners never have one object, although a session gets its own locks again. Method: two owners, one
// session; the refusal names the holder.
func TestTwoOwnersExcludeEachOther(t *testing.T) {
	t.Parallel()
	play(t, 1, func(t *testing.T, server *fake, b *backend[string]) {
		grant := mustTake(t, b, wallet("1"), jdoe)
		_, err := b.Get(t.Context(), wallet("1"), asmith, time.Minute)
		var held *applock.HeldError
		if !errors.As(err, &held) || held.Holder.Owner != jdoe || held.Object != wallet("1") {
			t.Errorf("take: %v, want it to be held by %s", err, jdoe)
		}
		if err := b.Release(t.Context(), applock.Grant{Object: wallet("1"), Owner: asmith}); !errors.Is(err, applock.ErrNotHeld) {
			t.Errorf("release by a stranger: %v, want ErrNotHeld", err)
		}
		requireAlive(t, b, []applock.Grant{grant}, grant)
		server.requireLocks(t, 1)
	})
}

// Goal: an object that has no lock is refused at once, by each call, and nothing is sent. Method: a server that has no name
// for it.
func TestAnObjectWithoutAName(t *testing.T) {
	t.Parallel()
	play(t, 1, func(t *testing.T, server *fake, b *backend[string]) {
		grant := applock.Grant{Object: nameless, Owner: jdoe}
		_, takeErr := b.Get(t.Context(), nameless, jdoe, time.Minute)
		_, renewErr := b.Renew(t.Context(), []lease.Renewal{{Grant: grant, TTL: time.Minute}})
		_, pollErr := b.Poll(t.Context(), slices.Values([]applock.Object{nameless}))
		for _, err := range []error{takeErr, renewErr, pollErr, b.Release(t.Context(), grant)} {
			if !errors.Is(err, applock.ErrInvalid) {
				t.Errorf("%v, want ErrInvalid", err)
			}
		}
		if _, sessions := server.count(); sessions != 0 {
			t.Errorf("%d sessions, want none", sessions)
		}
	})
}

// Goal: objects whose locks have the same name exclude each other, and release their own. Method: a server with
// one name.
func TestACollisionExcludes(t *testing.T) {
	t.Parallel()
	play(t, 1, func(t *testing.T, server *fake, b *backend[string]) {
		server.sameName = true
		grant := mustTake(t, b, wallet("1"), jdoe)
		for _, owner := range []applock.Owner{jdoe, asmith} {
			if _, err := b.Get(t.Context(), wallet("2"), owner, time.Minute); !errors.Is(err, applock.ErrHeld) {
				t.Errorf("take: %v, want ErrHeld", err)
			}
		}
		if err := b.Release(t.Context(), applock.Grant{Object: wallet("2"), Owner: jdoe}); !errors.Is(err, applock.ErrNotHeld) {
			t.Errorf("release: %v, want ErrNotHeld", err)
		}
		other := applock.Grant{Object: wallet("2"), Owner: jdoe}
		requireAlive(t, b, []applock.Grant{other})
		requireAlive(t, b, []applock.Grant{grant}, grant)
		polled, err := b.Poll(t.Context(), slices.Values([]applock.Object{wallet("1"), wallet("2")}))
		if err != nil || len(polled.Free) != 0 {
			t.Errorf("poll: %v, %v, want nothing", polled.Free, err)
		}
		if err := b.Release(t.Context(), grant); err != nil {
			t.Error(err)
		}
		polled, err = b.Poll(t.Context(), slices.Values([]applock.Object{wallet("1"), wallet("2")}))
		if err != nil || len(polled.Free) != 2 {
			t.Errorf("poll: %v, %v, want both", polled.Free, err)
		}
	})
}

// Goal: taking again is a renewal, and one release frees. Method: the session counts.
func TestTakingAgainRenews(t *testing.T) {
	t.Parallel()
	play(t, 1, func(t *testing.T, server *fake, b *backend[string]) {
		first := mustTake(t, b, wallet("1"), jdoe)
		again := mustTake(t, b, wallet("1"), jdoe)
		if first.Outcome == applock.OutcomeRenewed || again.Outcome != applock.OutcomeRenewed {
			t.Errorf("renewed: %t, then %t", first.Outcome == applock.OutcomeRenewed, again.Outcome == applock.OutcomeRenewed)
		}
		server.requireLocks(t, 1)
		if err := b.Release(t.Context(), again); err != nil {
			t.Error(err)
		}
		server.requireLocks(t, 0)
		if err := b.Release(t.Context(), first); !errors.Is(err, applock.ErrNotHeld) {
			t.Errorf("release again: %v, want ErrNotHeld", err)
		}
	})
}

// Goal: a lock goes to the next holder without a call, for a second after the session's last answer; then the session is asked first, and
// one that has ended passes nothing on. Method: the statements are counted; the refusal names the new holder.
func TestAPassNeedsNoCall(t *testing.T) {
	t.Parallel()
	play(t, 1, func(t *testing.T, server *fake, b *backend[string]) {
		grant := mustTake(t, b, wallet("1"), jdoe)
		pass := func(to applock.Owner, calls int) {
			t.Helper()
			before := server.said()
			next, err := b.Pass(t.Context(), grant, to, time.Minute)
			if said := server.said() - before; err != nil || said != calls {
				t.Errorf("passed to %s by %d statements, %v, want %d", to, said, err, calls)
			}
			grant = next
		}
		pass(asmith, 0)
		var held *applock.HeldError
		if _, err := b.Get(t.Context(), wallet("1"), jdoe, time.Minute); !errors.As(err, &held) || held.Holder.Owner != asmith {
			t.Errorf("get: %v, want it to be held by %s", err, asmith)
		}
		time.Sleep(freshFor)
		pass(jdoe, 1)
		pass(asmith, 0)
		server.kill()
		time.Sleep(freshFor)
		if _, err := b.Pass(t.Context(), grant, jdoe, time.Minute); !errors.Is(err, applock.ErrNotHeld) {
			t.Errorf("pass of a lock whose session has ended: %v, want ErrNotHeld", err)
		}
	})
}

// Goal: a program whose session has ended passes on an object that another program has taken meanwhile, and who gets it hears of the end within
// a second. Method: the session ends at several times between two checks, another one takes the object, and then the holder releases it.
func TestAPassAfterTheEnd(t *testing.T) {
	t.Parallel()
	const times = 10
	for i := range times {
		play(t, 1, func(t *testing.T, server *fake, others *backend[string]) {
			leases := New(server, checked(t, Config{}))
			defer func() { _ = leases.Close() }()
			acquire := func() applock.Lease {
				got, err := leases.Acquire(t.Context(), applock.AcquireRequest{Object: wallet("1"), MaxHold: time.Hour, MaxWait: time.Minute})
				if err != nil {
					t.Error(err)
				}
				return got
			}
			holder, served := acquire(), make(chan applock.Lease, 1)
			go func() { served <- acquire() }()
			time.Sleep(time.Second + checkInterval*time.Duration(2*i+1)/(2*times)) // never at the time of a check
			server.kill()
			ended := time.Now()
			other := mustTake(t, others, wallet("1"), asmith)
			_ = holder.Release(t.Context())
			next := <-served // while the other program has the object
			if next == nil {
				t.FailNow()
			}
			<-next.Context().Done()
			if took := time.Since(ended); took > time.Second {
				t.Errorf("who got an object of another program heard after %s", took)
			}
			if err := others.Release(t.Context(), other); err != nil {
				t.Error(err)
			}
		})
	}
}

// Goal: a lock that the session has lost is not renewed, nor released as if it were there. Method: a lock disappears.
func TestAMissingLockIsLost(t *testing.T) {
	t.Parallel()
	play(t, 1, func(t *testing.T, server *fake, b *backend[string]) {
		grants := []applock.Grant{mustTake(t, b, wallet("1"), jdoe), mustTake(t, b, wallet("2"), jdoe), mustTake(t, b, wallet("3"), jdoe)}
		server.do(func() { clear(server.locks) })
		if again := mustTake(t, b, wallet("1"), jdoe); again.Outcome == applock.OutcomeRenewed {
			t.Error("renewed what was not there")
		}
		requireAlive(t, b, grants[:2], grants[0])
		if err := b.Release(t.Context(), grants[2]); !errors.Is(err, applock.ErrNotHeld) {
			t.Errorf("release: %v, want ErrNotHeld", err)
		}
		server.requireLocks(t, 1)
	})
}

// Goal: a caller that leaves before the answer gets nothing, now or later. Method: leave while the server
// hesitates; what the owner had before stays.
func TestACallerWhoLeavesHasNothing(t *testing.T) {
	t.Parallel()
	for _, before := range []int{0, 1} {
		play(t, 1, func(t *testing.T, server *fake, b *backend[string]) {
			for range before {
				mustTake(t, b, wallet("1"), jdoe)
			}
			server.do(func() { server.answering = after(time.Second) })
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			defer cancel()
			if _, err := b.Get(ctx, wallet("1"), jdoe, time.Minute); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("take: %v, want DeadlineExceeded", err)
			}
			time.Sleep(time.Minute)
			server.requireLocks(t, before)
		})
	}
}

// Goal: the same at any moment: either the caller has the lock or nobody. Method: contexts that end at the very
// time of the answer.
func TestLeavingAtTheTimeOfTheAnswer(t *testing.T) {
	t.Parallel()
	play(t, 1, func(t *testing.T, server *fake, b *backend[string]) {
		server.answering = after(time.Second)
		got := 0
		for i := range 300 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			grant, err := b.Get(ctx, wallet(fmt.Sprint(i)), jdoe, time.Minute)
			cancel()
			if err == nil {
				got++
				server.do(func() { server.answering = nil })
				requireAlive(t, b, []applock.Grant{grant}, grant)
				if err := b.Release(t.Context(), grant); err != nil {
					t.Fatal(err)
				}
				server.do(func() { server.answering = after(time.Second) })
				continue
			}
			time.Sleep(time.Minute)
			server.requireLocks(t, 0)
		}
		t.Logf("%d of 300 had the lock", got)
	})
}

// Goal: a release is not forgotten because the session was busy. Method: a release whose turn does not come in time;
// nobody has the lock meanwhile; a little later it is free without anybody's call.
func TestAReleaseIsMadeUpFor(t *testing.T) {
	t.Parallel()
	play(t, 1, func(t *testing.T, server *fake, b *backend[string]) {
		grants := []applock.Grant{mustTake(t, b, wallet("1"), jdoe), mustTake(t, b, wallet("2"), jdoe)}
		b.occupied(8*time.Second, func() {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			if err := b.Release(ctx, grants[0]); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("release: %v, want DeadlineExceeded", err)
			}
			server.requireLocks(t, 2)
			requireLost(t, b, grants[0])
		})
		time.Sleep(defaultGrace / 2)
		server.requireLocks(t, 1)
		requireAlive(t, b, grants, grants[1])
	})
}

// requireLost requires an answer at once, even while the session is busy.
func requireLost(t *testing.T, b *backend[string], grant applock.Grant) {
	t.Helper()
	began := time.Now()
	answers, err := b.Renew(t.Context(), []lease.Renewal{{Grant: grant, TTL: time.Minute}})
	if err != nil || len(answers) != 1 || answers[0].Lost == nil || time.Since(began) > 0 {
		t.Errorf("renew: %v, %v after %s, want it to be lost at once", answers, err, time.Since(began))
	}
}

// Goal: a lock that is being released has no holder, and a release frees its own grant only. Method: calls that are queued before a release
// that has begun.
func TestAReleaseThatWaitsForItsTurn(t *testing.T) {
	t.Parallel()
	release := func(t *testing.T, b *backend[string], grant applock.Grant, want error) func() {
		t.Helper()
		return func() {
			if err := b.Release(t.Context(), grant); !errors.Is(err, want) {
				t.Errorf("release: %v, want %v", err, want)
			}
		}
	}
	refuse := func(t *testing.T, server *fake, b *backend[string], grant applock.Grant) {
		t.Helper()
		server.do(func() { server.refusing = func(string) error { return errAnswer } })
		release(t, b, grant, errAnswer)()
		server.do(func() { server.refusing = nil })
	}
	for name, test := range map[string]func(t *testing.T, server *fake, b *backend[string], grant applock.Grant){
		"TakenAgain": func(t *testing.T, server *fake, b *backend[string], grant applock.Grant) {
			b.occupied(time.Second, func() {
				if _, err := b.Get(t.Context(), wallet("1"), jdoe, time.Minute); !errors.Is(err, applock.ErrHeld) {
					t.Errorf("take: %v, want ErrHeld", err)
				}
			}, release(t, b, grant, nil))
			server.requireLocks(t, 0)
		},
		"SweptBefore": func(t *testing.T, server *fake, b *backend[string], grant applock.Grant) {
			refuse(t, server, b, grant)
			var next applock.Grant
			b.occupied(time.Second, func() { next = mustTake(t, b, wallet("1"), asmith) }, release(t, b, grant, nil))
			requireAlive(t, b, []applock.Grant{next}, next)
		},
		"LostBefore": func(t *testing.T, server *fake, b *backend[string], grant applock.Grant) {
			server.kill()
			var next applock.Grant
			take := func() { mustTake(t, b, wallet("2"), asmith) }
			takeSame := func() { next = mustTake(t, b, wallet("1"), asmith) }
			b.occupied(time.Second, take, takeSame, release(t, b, grant, applock.ErrNotHeld))
			requireAlive(t, b, []applock.Grant{next}, next)
		},
		"LostWhileOverdue": func(t *testing.T, server *fake, b *backend[string], grant applock.Grant) {
			refuse(t, server, b, grant)
			server.kill()
			mustTake(t, b, wallet("1"), asmith)
			server.requireLocks(t, 1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			play(t, 1, func(t *testing.T, server *fake, b *backend[string]) {
				test(t, server, b, mustTake(t, b, wallet("1"), jdoe))
			})
		})
	}
}

// Goal: a release that the server refuses is made up for. Method: refuse; the lock is nobody's meanwhile; then
// release again, or wait, or take it.
func TestARefusedReleaseIsMadeUpFor(t *testing.T) {
	t.Parallel()
	later := map[string]func(b *backend[string], grant applock.Grant) error{
		"Release": func(b *backend[string], grant applock.Grant) error { return b.Release(context.Background(), grant) },
		"Wait": func(*backend[string], applock.Grant) error {
			time.Sleep(defaultGrace)
			return nil
		},
		"Get": func(b *backend[string], grant applock.Grant) error {
			again, err := b.Get(context.Background(), grant.Object, grant.Owner, time.Minute)
			if again.Outcome == applock.OutcomeRenewed {
				return errors.New("renewed")
			}
			return errors.Join(err, b.Release(context.Background(), grant))
		},
	}
	for name, do := range later {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			play(t, 1, func(t *testing.T, server *fake, b *backend[string]) {
				grant := mustTake(t, b, wallet("1"), jdoe)
				server.do(func() {
					server.refusing = func(statement string) error {
						if statement == "unlock" {
							return errAnswer
						}
						return nil
					}
				})
				if err := b.Release(t.Context(), grant); !errors.Is(err, errAnswer) {
					t.Errorf("release: %v, want the server's answer", err)
				}
				for _, owner := range []applock.Owner{jdoe, asmith} {
					if _, err := b.Get(t.Context(), wallet("1"), owner, time.Minute); !errors.Is(err, applock.ErrHeld) {
						t.Errorf("take: %v, want ErrHeld", err)
					}
				}
				requireLost(t, b, grant)
				server.do(func() { server.refusing = nil })
				if err := do(b, grant); err != nil {
					t.Error(err)
				}
				server.requireLocks(t, 0)
			})
		})
	}
}

// Goal: an answer of the server, whatever it says, costs no lease. Method: errors as answers to each kind of call.
func TestAnAnswerLosesNothing(t *testing.T) {
	t.Parallel()
	play(t, 1, func(t *testing.T, server *fake, b *backend[string]) {
		grant := mustTake(t, b, wallet("1"), jdoe)
		server.do(func() { server.refusing = func(string) error { return errAnswer } })
		if _, err := b.Renew(t.Context(), []lease.Renewal{{Grant: grant, TTL: time.Minute}}); !errors.Is(err, errAnswer) {
			t.Errorf("renew: %v", err)
		}
		if _, err := b.Poll(t.Context(), slices.Values([]applock.Object{wallet("2")})); !errors.Is(err, errAnswer) {
			t.Errorf("poll: %v", err)
		}
		before := server.said()
		time.Sleep(defaultGrace)
		if beats := server.said() - before; beats > 2*beatsPerGrace {
			t.Errorf("%d statements in %s", beats, defaultGrace)
		}
		server.do(func() { server.refusing = nil })
		requireAlive(t, b, []applock.Grant{grant}, grant)
	})
}

// Goal: when a session is lost, its leases are, and the next call has another one at once. Method: kill it; each
// kind of call comes first once.
func TestALostSessionIsReplaced(t *testing.T) {
	t.Parallel()
	calls := map[string]func(b *backend[string], grant applock.Grant) error{
		"Get": func(b *backend[string], _ applock.Grant) error {
			_, err := b.Get(context.Background(), wallet("2"), asmith, time.Minute)
			return err
		},
		"TakeAgain": func(b *backend[string], grant applock.Grant) error {
			again, err := b.Get(context.Background(), grant.Object, grant.Owner, time.Minute)
			if again.Outcome == applock.OutcomeRenewed {
				return errors.New("renewed")
			}
			return errors.Join(err, b.Release(context.Background(), grant))
		},
		"Poll": func(b *backend[string], grant applock.Grant) error {
			polled, err := b.Poll(context.Background(), slices.Values([]applock.Object{grant.Object}))
			if len(polled.Free) != 1 {
				err = errors.Join(err, errors.New("not free"))
			}
			return err
		},
		"Renew": func(b *backend[string], grant applock.Grant) error {
			answers, err := b.Renew(context.Background(), []lease.Renewal{{Grant: grant, TTL: time.Minute}})
			if err == nil && !errors.Is(answers[0].Lost, errBroken) {
				err = fmt.Errorf("lost because of %w", answers[0].Lost)
			}
			return err
		},
		"Release": func(b *backend[string], grant applock.Grant) error {
			if err := b.Release(context.Background(), grant); !errors.Is(err, applock.ErrNotHeld) {
				return fmt.Errorf("released: %w", err)
			}
			return nil
		},
	}
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			play(t, 1, func(t *testing.T, server *fake, b *backend[string]) {
				grants := []applock.Grant{mustTake(t, b, wallet("0"), jdoe), mustTake(t, b, wallet("1"), jdoe)}
				server.kill()
				if err := call(b, grants[0]); err != nil {
					t.Error(err)
				}
				requireAlive(t, b, grants)
				mustTake(t, b, wallet("1"), asmith)
			})
		})
	}
}

// Goal: a check tells holders that their session is lost while the next one is being opened, and before the server is told to free their locks.
// Method: the check waits for its turn behind a get, which finds the session dead; the server does not answer to a farewell, and lets nobody in.
func TestLossIsToldBeforeTheNextSession(t *testing.T) {
	t.Parallel()
	play(t, 1, func(t *testing.T, server *fake, b *backend[string]) {
		grant := mustTake(t, b, wallet("1"), jdoe)
		server.kill()
		server.do(func() {
			server.closing = func(ctx context.Context) { _ = after(never)(ctx, "") }
			server.opening = func(ctx context.Context) error { return after(never)(ctx, "") }
		})
		check := func() {
			ctx, cancel := context.WithTimeout(t.Context(), checkInterval)
			defer cancel()
			answers, err := b.Renew(ctx, []lease.Renewal{{Grant: grant, TTL: time.Minute}})
			if err != nil || len(answers) != 1 || answers[0].Lost == nil {
				t.Errorf("renew: %v, %v, want it to be lost", answers, err)
			}
		}
		b.occupied(0, func() { _, _ = b.Get(t.Context(), wallet("2"), asmith, time.Minute) }, check)
		server.do(func() { server.closing = nil })
	})
}

// Goal: an error that a new session cannot repair is returned. Method: a server that ends each session at the first statement, and one that
// opens none.
func TestAServerThatIsNotThere(t *testing.T) {
	t.Parallel()
	play(t, 1, func(t *testing.T, server *fake, b *backend[string]) {
		server.answering = func(context.Context, string) error { return errBroken }
		if _, err := b.Get(t.Context(), wallet("1"), jdoe, time.Minute); !errors.Is(err, errBroken) {
			t.Errorf("take: %v", err)
		}
		server.opening = func(context.Context) error { return errAnswer }
		if _, err := b.Get(t.Context(), wallet("1"), jdoe, time.Minute); !errors.Is(err, errAnswer) {
			t.Errorf("take: %v", err)
		}
		if len(server.sessions) != 1 {
			t.Errorf("%d sessions were opened", len(server.sessions))
		}
		server.opening, server.answering = nil, nil
		mustTake(t, b, wallet("1"), jdoe)
	})
}

// Goal: a session that has locks is lost alone. Method: three sessions, thirty objects, one session killed.
func TestSeveralSessions(t *testing.T) {
	t.Parallel()
	play(t, 3, func(t *testing.T, server *fake, b *backend[string]) {
		var grants []applock.Grant
		for i := range 30 {
			grants = append(grants, mustTake(t, b, wallet(fmt.Sprint(i)), jdoe))
			if _, err := b.Get(t.Context(), wallet(fmt.Sprint(i)), asmith, time.Minute); !errors.Is(err, applock.ErrHeld) {
				t.Errorf("take: %v, want ErrHeld", err)
			}
		}
		server.requireLocks(t, 30)
		if _, sessions := server.count(); sessions != 3 {
			t.Fatalf("%d sessions, want 3", sessions)
		}
		server.do(func() { server.end(server.sessions[1]) })
		left, _ := server.count()
		if left == 0 || left == 30 {
			t.Fatalf("%d locks are left of 30", left)
		}
		var alive []applock.Grant
		for _, grant := range grants {
			if server.locks[grant.Object.String()] != nil {
				alive = append(alive, grant)
			}
		}
		requireAlive(t, b, grants, alive...)
	})
}

// Goal: one silent session does not hold back the others' answers. Method: two sessions, one silent.
func TestOneSilentSession(t *testing.T) {
	t.Parallel()
	play(t, 2, func(t *testing.T, server *fake, b *backend[string]) {
		var renewals []lease.Renewal
		lines := map[*line[string]]bool{}
		for i := 0; len(lines) < len(b.lines); i++ { // a random seed decides which session has an object
			_, itsLine, err := b.lineOf(wallet(fmt.Sprint(i)))
			lines[itsLine] = err == nil
			renewals = append(renewals, lease.Renewal{Grant: mustTake(t, b, wallet(fmt.Sprint(i)), jdoe), TTL: time.Minute})
		}
		b.lines[0].turn <- struct{}{}
		ctx, cancel := context.WithTimeout(t.Context(), checkInterval)
		defer cancel()
		answers, err := b.Renew(ctx, renewals)
		if err != nil || len(answers) == 0 || len(answers) == len(renewals) {
			t.Errorf("%d answers to %d renewals, %v", len(answers), len(renewals), err)
		}
		for _, answer := range answers {
			if answer.Lost != nil {
				t.Errorf("%s: %v", answer.Object, answer.Lost)
			}
		}
		<-b.lines[0].turn
	})
}

// Goal: one statement asks for many objects, and none of them gets too large. Method: count statements.
func TestPollAsksForAllAtOnce(t *testing.T) {
	t.Parallel()
	play(t, 2, func(t *testing.T, server *fake, b *backend[string]) {
		var objects []applock.Object
		for i := range 2*pollNames + 1 {
			objects = append(objects, wallet(fmt.Sprint(i)))
		}
		mustTake(t, b, objects[7], jdoe)
		before := server.said()
		polled, err := b.Poll(t.Context(), slices.Values(objects))
		if err != nil || len(polled.Free) != 2*pollNames || slices.Contains(polled.Free, objects[7]) {
			t.Errorf("%d of %d are free, %v", len(polled.Free), len(objects), err)
		}
		if statements := server.said() - before; statements != 3 {
			t.Errorf("%d statements, want 3", statements)
		}
	})
}

// Goal: nothing is left after Close, also of work that was under way, and nothing begins again. Method: close
// during a statement that takes longer than Close waits, and then use it.
func TestClose(t *testing.T) {
	t.Parallel()
	play(t, 2, func(t *testing.T, server *fake, b *backend[string]) {
		mustTake(t, b, wallet("1"), jdoe)
		server.do(func() { server.answering = after(2 * closeLimit) })
		go func() { _, _ = b.Get(context.Background(), wallet("2"), jdoe, time.Minute) }()
		synctest.Wait()
		began := time.Now()
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took > closeLimit {
			t.Errorf("close took %s", took)
		}
		if _, err := b.Get(t.Context(), wallet("3"), jdoe, time.Minute); !errors.Is(err, applock.ErrClosed) {
			t.Errorf("take: %v, want ErrClosed", err)
		}
		time.Sleep(time.Minute)
		server.requireLocks(t, 0)
	})
}
