//go:build unix

package main

import "fmt"

// goal is one cell of what the project set out to reach.
type goal struct {
	row     string // as people call it
	product string
	// figure names what is judged, and the best is the first of them that was measured.
	figures []string
	// baseline says that it is the ratio to this; if it is empty, the value itself.
	baseline string
	unit     string
	// atLeast is true when more is better.
	atLeast     bool
	must, hoped float64
}

// cell is where a goal differs from those beside it.
type cell struct {
	product     string
	must, hoped float64
}

func (g goal) on(cells ...cell) []goal {
	goals := make([]goal, len(cells))
	for i, each := range cells {
		goals[i] = g
		goals[i].product, goals[i].must, goals[i].hoped = each.product, each.must, each.hoped
	}
	return goals
}

func everyTable(must, hoped float64) []cell {
	return []cell{
		{productPostgres, must, hoped}, {productMariaDB, must, hoped}, {productMySQL, must, hoped}, {productSQLite, must, hoped},
	}
}

const (
	cyclesRow           = "get and release, 8 connections"
	leaseRow            = "a lease, 8 connections"
	inJavaRow           = "get and release in Java, 8 threads"
	refusalRow          = "a refused get"
	manyRowsRow         = "a get among many rows, p50"
	fewRowsName         = "of 10^3 rows"
	purgeRow            = "gets during a purge, p99"
	walletRow           = "deposits into one wallet"
	walletLeaseRow      = walletRow + " by leases, one program"
	largePurgeFigure    = "gets during a purge of 10^6 rows, p99"
	lookUpName          = "select by primary key"
	getAndReleaseFigure = "cycles, 8 connections: get and release"
	inJavaFigure        = "cycles in Java, 8 threads: our procedures"
)

// missed is the verdict that has to be explained.
const missed = "**missed**"

// goals are the cells in the order of the table. A measurement that is to reach something has a line here.
func goals() []goal {
	var all []goal
	add := func(g goal, cells ...cell) { all = append(all, g.on(cells...)...) }
	add(goal{
		row: cyclesRow, figures: []string{getAndReleaseFigure}, baseline: "insert and delete", atLeast: true,
	}, cell{productPostgres, 0.85, 0.95}, cell{productMariaDB, 0.7, 0.9}, cell{productMySQL, 0.65, 0.9}, cell{productSQLite, 0.85, 0.95})
	add(goal{
		row: leaseRow, figures: []string{"cycles, 8 connections: a lease"}, baseline: "insert and delete", atLeast: true,
	}, cell{productPostgres, 1.05, 1.2})
	add(goal{
		row: refusalRow, figures: []string{refusalRow}, baseline: lookUpName, atLeast: true,
	}, cell{productPostgres, 0.6, 0.75}, cell{productMariaDB, 0.45, 0.6}, cell{productMySQL, 0.4, 0.6}, cell{productSQLite, 0.7, 0.8})
	all = append(all, besidePeers()...)
	all = append(all, handOffs()...)
	add(goal{row: walletRow, figures: []string{"hot key, deposits: Serialize"}, unit: "/s", atLeast: true}, everyTable(1000, 2000)...)
	add(goal{row: walletLeaseRow, figures: []string{"hot key, deposits: a lease, one program"}, unit: "/s", atLeast: true},
		cell{productPostgres, 1500, 2000}, cell{productMariaDB, 1000, 1500})
	waiting := fmt.Sprintf("%d wait, an object each: ", full().waiters)
	add(goal{row: "10,000 waiters: connections", figures: []string{waiting + "connections"}},
		cell{productPostgres, 2, 2}, cell{productMariaDB, 2, 2}, cell{productMySQL, 2, 2})
	add(goal{row: "10,000 waiters: memory", figures: []string{waiting + "heap and stacks"}, unit: "MB"}, everyTable(100, 60)...)
	add(goal{
		row: manyRowsRow, figures: []string{"a get of 10^7 rows", "a get of 10^6 rows", "a get of 10^5 rows"},
		baseline: fewRowsName,
	}, everyTable(1.25, 1.1)...)
	add(goal{row: purgeRow, figures: []string{largePurgeFigure, purgeRow}, baseline: "without"}, everyTable(2, 1.3)...)
	return all
}

func besidePeers() []goal {
	var all []goal
	inGo := goal{row: cyclesRow, figures: []string{getAndReleaseFigure}, atLeast: true}
	inJava := goal{row: inJavaRow, figures: []string{inJavaFigure}, atLeast: true}
	for _, each := range []struct {
		goal     goal
		peer     string
		products []string
	}{
		{inGo, "pglock", []string{productPostgres}},
		{inGo, "goose's locker", []string{productPostgres, productMariaDB, productMySQL}},
		{inJava, "ShedLock", []string{productPostgres, productMariaDB}},
		{inJava, "JdbcLockRegistry", []string{productPostgres, productMariaDB}},
	} {
		each.goal.baseline = each.peer
		for _, product := range each.products {
			all = append(all, each.goal.on(cell{product, 1.3, 1.5})...)
		}
	}
	return all
}

func handOffs() []goal {
	var all []goal
	for _, each := range []struct {
		goal goal
		cell cell
	}{
		{goal{figures: []string{"hand-off, two clients"}, baseline: "two commits"}, cell{productPostgres, 1.2, 1}},
		{goal{figures: []string{"hand-off, redislock"}, unit: "ms"}, cell{productRedis, 1, 0.5}},
		{goal{figures: []string{"hand-off, pgadvisory"}, unit: "ms"}, cell{productPostgres, 1, 0.5}},
		{goal{figures: []string{"hand-off, two clients, polling"}, unit: "ms"}, cell{productMySQL, 8, 8}},
		{goal{figures: []string{"hand-off, two clients, polling"}, unit: "ms"}, cell{productSQLite, 8, 8}},
	} {
		each.goal.row = each.goal.figures[0] + ", p50"
		all = append(all, each.goal.on(each.cell)...)
	}
	return all
}

// judge tells what was measured, in words, and whether that reaches the goal.
func (g goal) judge(r *report) (measured, verdict string) {
	for i, name := range g.figures {
		f := r.findFor(g.product, name, g.baseline)
		if f == nil {
			continue
		}
		value := median(f.Values)
		if g.baseline != "" {
			value = f.ratio()
		}
		measured = quantity(value, g.unit)
		if i > 0 {
			measured += " (" + name + ")"
		}
		switch {
		case r.Smoke:
			return measured, "not judged"
		case g.atLeast && value >= g.must, !g.atLeast && value <= g.must:
			return measured, "reached"
		}
		return measured, missed
	}
	return "", "not measured"
}

// why says what is known of a goal that is missed: what the limit is, and what would have to change.
func (g goal) why() string { return reasons()[g.key()] }

func (g goal) key() string { return g.row + "/" + g.product + "/" + g.baseline }

// reasons are proofs by counts, which do not depend on how fast the machine was, or on what else it did. The tests of plans and of
// statements in internal/db hold the counts.
func reasons() map[string]string {
	// 8 connections, in turns on one server, medians of seven rounds, the ratio to insert and delete in the same round.
	least := "procedures that do nothing but one UPDATE by primary key each have a line of their own below, in the same run: no lock that " +
		"procedures keep can be faster than that. A lock without procedures, by statements of its client, could be faster, and other languages " +
		"could not call it. "
	// Processor time of the session, one connection, Intel Xeon, commit 3340aa8, by leaving out one thing after the other: median of 21 rounds.
	program := least + "Step by step, as processor time of the session for a get of what is free, MariaDB and MySQL: two procedures, one in the other, with one " +
		"UPDATE, and the statement that frees the object again, 136 and 215 µs; the read before it, which refuses without a lock, 40 and 36 more; an " +
		"answer of eight columns 13 and 10; all columns assigned 8 and 14; the row compared again as it is changed 4 and 13; the fence, the ttl and the checks of arguments 13 and 7; the limit of waiting and its handler 9 and " +
		"19. The policy of the type is 24 with MySQL. It is not the work itself: of two SELECTs in a procedure the first takes 18 µs and the " +
		"second 5 with MariaDB, 18 and 7 with MySQL, of two UPDATEs 24 and 8, 41 and 14: most likely each kind of statement in a call brings its code into the caches of the processor again, " +
		"so that only a call of fewer kinds would cost less: without the read a refusal would wait for a lock"
	oneSelect := "a procedure that does nothing but one SELECT by primary key has a line of its own below, in the same run. A refused get " +
		"took 51 µs of the server's processor with MariaDB and 54 with MySQL before commit 712ce36, of these the read by which it refuses 26 and 41, and the answer of eight " +
		"columns 11 and 13. That commit, by turns with 8 connections: 20,904 and 24,773 refusals a second with MariaDB, 20,094 and 21,507 with " +
		"MySQL. Step by step, as processor time of the server, one connection, the least of nine rounds, MariaDB and MySQL: a select by primary key 76 and " +
		"102 µs; a procedure that is one, with eight columns, 97 and 126; with the outer procedure, which keeps its name and its grants while the inner one is " +
		"replaced, 98 and 138; with an answer that is a statement of its own, because the decision comes before it, 101 and 145; with the look at whether a " +
		"transaction is open 107 and 150; with the decision 111 and 163; with the checks of arguments 114 and 166; a refused get 118 and 179. So what could " +
		"be left out is 4 % and 7 %. A stored function, without the limits of waiting, took 10 % and 18 % less, and 12 % and 22 % less to renew; but it reads " +
		"by the caller's snapshot, and where MySQL writes a binary log only an administrator may create it. The rest is the client's, which reads a result and an end for one row"
	// Counted by valgrind's callgrind on a server in single-user mode, PostgreSQL 15, of prepared statements, 40 calls against 140.
	function := "a procedure of one SELECT has a line of its own below. Counted in instructions of the server: " +
		"a select by primary key 57,000, a function with the parameters and the answer of get that does nothing 87,000, " +
		"with a search_path and a lock_timeout of its own 102,000, a refused get 192,000: its one statement is 55,000 of them, and " +
		"checks, trims and answer are the rest. All in one statement came to the same. Only a function in C, or one with neither setting, " +
		"whose operators mean what the caller's search_path says, would cost less"
	// 8 connections, durable, ten rounds by turns on one server, statements by pgx without the façade, commit 3340aa8.
	twoFunctions := least + "Piece by piece, as the ratio to insert and delete in one run: the least 0.83; with the parameters, the fence and the answers " +
		"of get and release 0.72; with the read that refuses 0.71; with the look whether anybody waits 0.69; with the policy of the type 0.68; with the checks " +
		"of arguments 0.65; get and release themselves 0.65. Where no commit waits for the disk: 0.81, 0.61, 0.56, 0.54, 0.52, 0.50 and 0.49. Counted in " +
		"instructions of the server: insert and delete 132,000, get and release 515,000, of which 205,000 are two functions " +
		"that do nothing; they are four statements for two, and 187 bytes of log. Where the processor and not the disk is what there is too little of, " +
		"that a lease's release does not wait for its flush saves nothing"
	bare := "it sends bare statements of its own, and calls no procedure. What limits a lock in procedures: "
	besideFunctions, besideProcedures := bare+twoFunctions, bare+program
	opening := "a refused get is one statement with one probe of the primary key, as the select is, prepared once; what is left is to compute " +
		"the time in it, twice, to bind three values for two, and to read four columns for one"
	message := "beside two commits there is a message, which the server's own process passes on once the release is committed, and the get, " +
		"which reads the row before it writes it: the line against NOTIFY is the same without a lock, by UPDATE and NOTIFY"
	roundTrips := "a release with its message, the message, and a get are three ways through a socket, to a server that has other work, for one in " +
		"the server's own queue, whose line is beside it"
	polling := "a poll costs 0.37 ms of processor with MySQL 9.7, 0.26 ms of them in the server, and 0.09 ms with SQLite, " +
		"counted over 3,000 of them: every 10 ms that is 3.7 % of a core, and every 5 ms 1.8 %. To ask more rarely is to be later; " +
		"after 10 s polls become rare, and a minute's wait takes 1.7 % with MySQL. The commits of the release and the get come on top"
	pages := "one probe of the primary key in each (the same number of pages but for the index's depth, which a test holds at 10^6 rows), but not " +
		"the same pages: of a large table nearly each get is the first since the checkpoint to change its page, which PostgreSQL then writes to " +
		"its log as a whole, 5,700 bytes for a get among 10^6 rows and 280 among 10^3, counted; and the table is larger than the buffers, so " +
		"that pages are read from disk. An UPDATE by hand would do the same"
	stacks := "a waiter has a goroutine, whose stack its first attempt has made 8 KB, and which the runtime makes smaller when less than a quarter " +
		"is in use: at 5 KB each on average that is half of it, and 3.8 KB each is heap. The least would be waiters without goroutines, which is " +
		"not what Acquire is"
	commits := "each deposit waits for its own flush, since the next one needs it; a lease adds the commit of a get and that of a release, or one for " +
		"both where a release passes the object on in one call. Serialize adds none"
	flushes := "each deposit is a commit, and the disk of this machine makes some 1,900 of them a second, one after the other: beside that the lines below " +
		"have 0.46 and 0.49. What else a deposit needs is an update of the wallet and one of the row that serializes"
	oneCore := "the purge is one more connection at work, and its commits share the disk and the processor with those of the gets"
	oneWriter := "a file has one writer: a get that meets a batch of the purge looks again after 1 ms, then 2, then 5, which is SQLite's own way of " +
		"waiting, and such a batch of 50 rows takes some 2 ms. Batches of 25 did not change it (5.1 ms). For a purge of 20,000 rows, " +
		"which has a line below, the gets hardly wait longer"
	all := map[string]string{
		walletRow + "/" + productMariaDB + "/":                   flushes,
		walletRow + "/" + productMySQL + "/":                     flushes,
		walletLeaseRow + "/" + productPostgres + "/":             commits,
		walletLeaseRow + "/" + productMariaDB + "/":              commits,
		cyclesRow + "/" + productPostgres + "/insert and delete": twoFunctions,
		leaseRow + "/" + productPostgres + "/insert and delete":  twoFunctions,
		cyclesRow + "/" + productMariaDB + "/insert and delete":  program,
		cyclesRow + "/" + productMySQL + "/insert and delete":    program,
		cyclesRow + "/" + productPostgres + "/pglock":            besideFunctions,
		cyclesRow + "/" + productPostgres + "/goose's locker":    besideFunctions,
		cyclesRow + "/" + productMariaDB + "/goose's locker":     besideProcedures,
		inJavaRow + "/" + productPostgres + "/ShedLock":          besideFunctions,
		inJavaRow + "/" + productPostgres + "/JdbcLockRegistry":  besideFunctions,
		inJavaRow + "/" + productMariaDB + "/ShedLock":           besideProcedures,
		inJavaRow + "/" + productMariaDB + "/JdbcLockRegistry":   besideProcedures,
		refusalRow + "/" + productPostgres + "/" + lookUpName:    function,
		refusalRow + "/" + productMariaDB + "/" + lookUpName:     oneSelect,
		refusalRow + "/" + productMySQL + "/" + lookUpName:       oneSelect,
		refusalRow + "/" + productSQLite + "/" + lookUpName:      opening,
		"hand-off, two clients, p50/postgres/two commits":        message,
		"hand-off, redislock, p50/redis/":                        roundTrips,
		"hand-off, pgadvisory, p50/postgres/":                    roundTrips,
		"hand-off, two clients, polling, p50/mysql/":             polling,
		"hand-off, two clients, polling, p50/sqlite/":            polling,
		purgeRow + "/" + productSQLite + "/without":              oneWriter,
	}
	for _, product := range []string{productPostgres, productMariaDB, productMySQL} {
		all[purgeRow+"/"+product+"/without"] = oneCore
	}
	for _, product := range []string{productPostgres, productMariaDB, productMySQL, productSQLite} {
		all["10,000 waiters: memory/"+product+"/"] = stacks
		all[manyRowsRow+"/"+product+"/"+fewRowsName] = pages
	}
	return all
}

// findFor also finds a figure by its value alone, when it has some baseline and nobody asks for which, and one of the large run.
func (r *report) findFor(product, name, baseline string) *figure {
	for _, f := range r.Figures {
		if f.Product == product && f.Name == name && (baseline == "" || f.Baseline == baseline) {
			return f
		}
	}
	if r.large != nil {
		return r.large.findFor(product, name, baseline)
	}
	return nil
}
