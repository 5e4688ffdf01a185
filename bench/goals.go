//go:build unix

package main

import (
	"fmt"
	"slices"
	"strings"
)

// goal is one goal of the project: a figure of a product, and its limit.
type goal struct {
	row     string // for the page
	product string
	figure  string
	// against, if set, makes the goal a ratio: to the baseline of this name, or to the figure of this name beside it.
	against string
	unit    string
	// atLeast is true if more is better.
	atLeast bool
	must    float64
	// because derives the limit.
	because string
}

// limited returns the goal with a limit, its derivation, and what it is compared with, if anything.
func (g goal) limited(must float64, against, because string) goal {
	g.must, g.against, g.because = must, against, because
	return g
}

// on returns the goal for each of the products.
func (g goal) on(products ...string) []goal {
	goals := make([]goal, len(products))
	for i, product := range products {
		goals[i] = g
		goals[i].product = product
	}
	return goals
}

const (
	getAndReleaseFigure = "cycles, 8 connections: get and release"
	inJavaFigure        = "cycles in Java, 8 threads: our procedures"
	refusalRow          = "a refused get"
	oneUpdateName       = "procedures of one UPDATE"
	oneSelectName       = "a procedure of one SELECT"
	byHandName          = "insert and delete"
	lookUpName          = "select by primary key"
	commitsName         = "commits one after the other"
)

// missed is the verdict that needs a reason.
const missed = "**missed**"

// Why the limits are where they are.
const (
	twice = "No lock in procedures is faster than a procedure of one statement. A call of ours may cost twice as much: it also reads who has the object and " +
		"the policy of its type, checks its arguments, and answers with the grant"
	bare       = "SQLite has no procedures: both sides send bare statements to the same file"
	noLoss     = "Who changes from another tool is to lose nothing. The others send bare statements, ours are procedures"
	inMemory   = "A quarter is left for what a lease adds to the bare lock: a name of its own, a place in a queue, a deadline, and the holder's context"
	message    = "Both sides commit twice and send one message. A fifth is left for the read before the get's write"
	threeTrips = "A release with its message, the message, and a get are three trips, where the waiter in the server's own queue needs one"
	aTurn      = "The other side asks by a get, which has the object when it is free. Ours asks by a read and then gets it, with the commit that this needs"
	halfALoop  = "Its loop asks every 10 ms, so that half of that is its mean. A message needs no pause"
	oneCommit  = "Each deposit waits for the commit before. Half is left for the three calls more that a transaction with Serialize has"
	twoCommits = "A lease adds a commit to that of the deposit, so half is the limit. Half of that is left for its calls"
	aPoller    = "One polls, and on PostgreSQL one listens"
	aWaiter    = "The stack of a goroutine takes 2 to 8 KB, and a wait 2.5 KB of heap"
)

// goals returns the goals in the order of the table. A new measurement with a goal needs a line here.
func goals() []goal {
	servers := []string{productPostgres, productMariaDB, productMySQL}
	everyTable := slices.Concat(servers, []string{productSQLite})
	getAndRelease := goal{row: "get and release, 8 connections", figure: getAndReleaseFigure, atLeast: true}
	inJava := goal{row: "get and release in Java, 8 threads", figure: inJavaFigure, atLeast: true}
	lease := goal{row: "a lease, 8 connections", figure: "cycles, 8 connections: a lease", atLeast: true}
	refused := goal{row: refusalRow, figure: refusalRow, atLeast: true}
	deposit := goal{row: "deposits into one wallet", figure: hotKeyPrefix + "Serialize", atLeast: true}
	leased := goal{row: "deposits into one wallet by leases, one program", figure: hotKeyPrefix + "a lease, one program", atLeast: true}
	waiting := fmt.Sprintf("%d wait, an object each: ", full().waiters)
	return slices.Concat(
		getAndRelease.limited(0.5, oneUpdateName, twice).on(servers...),
		getAndRelease.limited(0.85, byHandName, bare).on(productSQLite),
		lease.limited(0.5, oneUpdateName, twice).on(servers...),
		refused.limited(0.5, oneSelectName, twice).on(servers...),
		refused.limited(0.7, lookUpName, bare).on(productSQLite),
		getAndRelease.limited(1, "pglock", noLoss).on(productPostgres),
		getAndRelease.limited(1, "goose's locker", noLoss).on(servers...),
		inJava.limited(1, "ShedLock", noLoss).on(productPostgres, productMariaDB),
		inJava.limited(1, "JdbcLockRegistry", noLoss).on(productPostgres, productMariaDB),
		inMemoryGoals(),
		handOffGoals(),
		deposit.limited(0.5, commitsName, oneCommit).on(everyTable...),
		leased.limited(0.25, commitsName, twoCommits).on(everyTable...),
		goal{row: "10,000 waiters: connections", figure: waiting + "connections"}.limited(2, "", aPoller).on(servers...),
		goal{row: "10,000 waiters: memory", figure: waiting + "heap and stacks", unit: "MB"}.limited(100, "", aWaiter).on(everyTable...),
	)
}

// inMemoryGoals are those of locks that end with their session or with the server's memory.
func inMemoryGoals() []goal {
	of := func(name, peer string, products ...string) []goal {
		return goal{row: name + ", 8 connections", figure: "cycles, 8 connections: " + name, atLeast: true}.limited(0.75, peer, inMemory).on(products...)
	}
	return slices.Concat(
		of("pgadvisory", "pg_advisory_lock", productPostgres),
		of("getlock", "GET_LOCK", productMariaDB, productMySQL),
		of("redislock", "bsm/redislock", productRedis),
	)
}

func handOffGoals() []goal {
	of := func(name, peer string, must float64, because string, products ...string) []goal {
		return goal{row: "hand-off, " + name + ", p50", figure: "hand-off, " + name}.limited(must, peer, because).on(products...)
	}
	return slices.Concat(
		of("two clients", "NOTIFY", 1.2, message, productPostgres),
		of("pgadvisory", "pg_advisory_lock", 3, threeTrips, productPostgres),
		of("redislock", "bsm/redislock", 0.5, halfALoop, productRedis),
		of("two clients, polling", "loop of 10 ms", 1.25, aTurn, productMariaDB, productMySQL, productSQLite),
	)
}

// judge returns what was measured, in words, and whether that reaches the goal.
func (g goal) judge(r *report) (measured, verdict string) {
	f := g.compared(r)
	if f == nil {
		return "", "not measured"
	}
	value := median(f.Values)
	if g.against != "" {
		value = f.ratio()
	}
	measured = quantity(value, g.unit)
	switch {
	case r.Smoke:
		return measured, "not judged"
	case g.atLeast && value >= g.must, !g.atLeast && value <= g.must:
		return measured, "reached"
	}
	return measured, missed
}

// compared returns the figure with what it is to be compared with, nil if either was not measured.
func (g goal) compared(r *report) *figure {
	own := r.findFor(g.product, g.figure, g.against)
	if own != nil {
		return own
	}
	beside := g.against
	if measurement, _, ok := strings.Cut(g.figure, ": "); ok {
		beside = measurement + ": " + g.against
	}
	other := r.findFor(g.product, beside, "")
	if other == nil {
		return nil
	}
	own = r.find(g.product, g.figure, other.Baseline)
	if own == nil {
		return nil
	}
	return &figure{Samples: own.Samples, Values: own.Values, BaselineValues: other.Values}
}

// why returns why a goal is missed, if that is known: the limit, and what would have to change.
func (g goal) why() string { return reasons()[g.key()] }

func (g goal) key() string { return g.row + "/" + g.product + "/" + g.against }

// reasons are proofs by counts, which depend neither on the speed of the machine nor on its other load.
func reasons() map[string]string {
	const (
		aRead = "A refused get is one prepared statement with one probe of the primary key, as the select is. In addition it computes the time twice, binds " +
			"three values instead of two, and reads four columns instead of one"
		aTie = "It is a tie: the rounds of a run differ by more. The other side sends bare statements, and procedures of one UPDATE reach 1.4 times its rate. " +
			"What is between is the read of the holder and the policy, the checks, the fence and the answer"
		fourCalls = "A deposit is a transaction of four calls: begin, serialize, update and commit. Where the disk is quick, three calls cost as much as " +
			"the flush. A procedure that deposits would be one call"
		twoUpdates = "ShedLock's cycle is two bare UPDATEs by primary key. The procedures of one UPDATE beside it reach 1.5 times its rate, and get and release " +
			"half of theirs: they also read who has the object, raise the fence, and answer with the grant"
		aLease = "Both sides send two commands for a cycle, and the two cores of this machine serve the program and the server. So the rate is what a cycle " +
			"takes of the processor. A lease makes some 125 allocations, and the bare lock 15 to 34: 40 are contexts and timers, which end the call and the " +
			"lease, 37 the name, the queue and the holder, and 30 to 40 the two commands with their limits. That takes the program 45 µs, where bsm/redislock " +
			"takes 24 and pg_advisory_lock 15. A take also asks for its session's number, and a release whether somebody waits: 33 µs of PostgreSQL, and 21 for " +
			"the bare lock. With one connection, where the way decides, the ratios are 0.87, 0.7 and 1"
	)
	return map[string]string{
		"a refused get/sqlite/select by primary key":             aRead,
		"get and release in Java, 8 threads/mariadb/ShedLock":    twoUpdates,
		"get and release, 8 connections/postgres/pglock":         aTie,
		"get and release, 8 connections/postgres/goose's locker": aTie,
		"pgadvisory, 8 connections/postgres/pg_advisory_lock":    aLease,
		"getlock, 8 connections/mariadb/GET_LOCK":                aLease,
		"getlock, 8 connections/mysql/GET_LOCK":                  aLease,
		"redislock, 8 connections/redis/bsm/redislock":           aLease,
		"deposits into one wallet/mariadb/" + commitsName:        fourCalls,
		"deposits into one wallet/mysql/" + commitsName:          fourCalls,
	}
}

// findFor is find. For a value without a named baseline it also finds a figure with any baseline.
func (r *report) findFor(product, name, baseline string) *figure {
	for _, f := range r.Figures {
		if f.Product == product && f.Name == name && (baseline == "" || f.Baseline == baseline) {
			return f
		}
	}
	return nil
}
