//go:build unix

package main

import "fmt"

// goal is one goal of the project: a figure of a product, and its limit.
type goal struct {
	row     string // for the page
	product string
	// figures are names. The first one that was measured is judged.
	figures []string
	// baseline, if set, makes the goal a ratio to it. Otherwise it is the value itself.
	baseline string
	unit     string
	// atLeast is true if more is better.
	atLeast     bool
	must, hoped float64
}

// cell is what distinguishes a goal from the other goals of its row.
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
	walletRow           = "deposits into one wallet"
	walletLeaseRow      = walletRow + " by leases, one program"
	lookUpName          = "select by primary key"
	getAndReleaseFigure = "cycles, 8 connections: get and release"
	inJavaFigure        = "cycles in Java, 8 threads: our procedures"
)

// missed is the verdict that needs a reason.
const missed = "**missed**"

// goals returns the goals in the order of the table. A new measurement with a goal needs a line here.
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

// judge returns what was measured, in words, and whether that reaches the goal.
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

// why returns why a goal is missed, if that is known: the limit, and what would have to change.
func (g goal) why() string { return reasons()[g.key()] }

func (g goal) key() string { return g.row + "/" + g.product + "/" + g.baseline }

// reasons are proofs by counts, which depend neither on the speed of the machine nor on its other load. Tests in internal/db hold the
// counts.
func reasons() map[string]string {
	// 8 connections, in turns on one server, medians of seven rounds, the ratio to insert and delete in the same round.
	least := "A procedure that does nothing but one UPDATE by primary key has lines of its own below: no lock in procedures can be faster. A lock by " +
		"statements of its client could be, but other languages could not call it. "
	// Processor time of the session, one connection, Intel Xeon, by leaving out one thing after the other: median of 21 rounds.
	program := least + "The steps of a get of a free object take this processor time, in µs with MariaDB and with MySQL. An outer and an inner procedure, one " +
		"UPDATE, and the statement that frees the object again: 136 and 215. The read that refuses without a lock: 40 and 36. An answer of eight " +
		"columns: 13 and 10. Assigning all columns: 8 and 14. Comparing the row again: 4 and 13. Fence, ttl and the checks of arguments: 13 and 7. The limit " +
		"of waiting and its handler: 9 and 19. The type's policy, with MySQL: 24. A first SELECT in a procedure takes 18 µs and a second one 5 to 7. A " +
		"first and a second UPDATE take 24 and 8 with MariaDB, 41 and 14 with MySQL. So each kind of statement has a price of its own, most likely because " +
		"its code must enter the processor's caches. Only a call of fewer kinds would cost less, and without the read a refusal would wait for a lock"
	// Processor time of the server, one connection, the least of nine rounds.
	oneSelect := "A procedure that does nothing but one SELECT by primary key has a line of its own below. A refused get takes this processor time of the " +
		"server as it gains one step after the other, in µs with MariaDB and with MySQL. A select by primary key: 76 and 102. The same in a procedure, with " +
		"eight columns: 97 and 126. In a second, outer procedure, which keeps name and grants during an upgrade: 98 and 138. With the answer as a statement of " +
		"its own, after the decision: 101 and 145. With the check for an open transaction: 107 and 150. With the decision: 111 and 163. With the checks of " +
		"arguments: 114 and 166. All of it: 118 and 179. So leaving out steps could save 4 % and 7 %. A stored function took 10 % and 18 % less, and 12 % and " +
		"22 % less to renew. But it reads by the caller's snapshot, and where MySQL writes a binary log only an administrator may create it. The client " +
		"spends the rest: it reads a result and its end for one row"
	// Counted by valgrind's callgrind on a server in single-user mode, PostgreSQL 15, of prepared statements, 40 calls against 140.
	function := "A procedure of one SELECT has a line of its own below. Counted were the server's instructions. A select by primary key needs 57,000. A " +
		"function with get's parameters and answer that does nothing needs 87,000, and with a search_path and a lock_timeout of its own 102,000. A refused " +
		"get needs 192,000: 55,000 for its one statement, the rest for checks, trims and the answer. All in one statement cost as much. Only a function in C " +
		"would cost less, or one without the two settings, whose operators would follow the caller's search_path"
	// 8 connections, durable, ten rounds by turns on one server, statements by pgx without the façade.
	twoFunctions := least + "The ratio to insert and delete falls with each step, in one run. One UPDATE each: 0.83. With the parameters, the fence and the answers " +
		"of get and release: 0.72. With the read that refuses: 0.71. With the check for waiters: 0.69. With the type's policy: 0.68. With the checks of " +
		"arguments: 0.65. Get and release themselves: 0.65. Where no commit waits for the disk, the seven ratios are 0.81, 0.61, 0.56, 0.54, 0.52, 0.50 and " +
		"0.49. Insert and delete need 132,000 instructions of the server, get and release 515,000, of which two functions that do nothing are 205,000. Get " +
		"and release run four statements instead of two, and write 187 bytes of log. A lease's release does not wait for its flush, which saves nothing " +
		"where the processor is the bottleneck"
	bare := "The other side sends bare statements of its own and calls no procedure. "
	againstFunctions, againstProcedures := bare+twoFunctions, bare+program
	opening := "A refused get is one prepared statement with one probe of the primary key, as the select is. In addition it computes the time twice, binds " +
		"three values instead of two, and reads four columns instead of one"
	message := "The hand-off has a message more than two commits, which the server's own process passes on once the release is committed. And its get reads " +
		"the row before it writes it. The line against NOTIFY compares the same without a lock, by UPDATE and NOTIFY"
	roundTrips := "A release with its message, the message, and a get are three trips through a socket to a server that has other work. A wait in the " +
		"server's own queue needs one; its line is the next one"
	polling := "A poll costs 0.37 ms of processor with MySQL 9.7, of which the server has 0.26 ms, and 0.09 ms with SQLite, counted over 3,000 polls. Every " +
		"10 ms that is 3.7 % of a core, and every 5 ms 1.8 %. Rarer polls would answer later. After 10 s polls become rare, and a minute's wait takes 1.7 % " +
		"with MySQL. The commits of the release and the get come on top"
	stacks := "A waiter has a goroutine. Its first attempt grows the stack to 8 KB, and the runtime shrinks it when less than a quarter is in use: 5 KB each " +
		"on average. Another 3.8 KB each is heap. Only waiters without goroutines would need less, and Acquire needs one"
	commits := "Each deposit waits for its own flush, since the next one needs it. A lease adds the commits of a get and of a release, or one for both where " +
		"a release passes the object on in one call. Serialize adds none"
	flushes := "Each deposit is a commit, and the disk of this machine makes some 1,900 of them a second, one after the other. The lines below reach 0.46 and " +
		"0.49 of that. A deposit also updates the wallet and the row that serializes"
	all := map[string]string{
		walletRow + "/" + productMariaDB + "/":                   flushes,
		walletRow + "/" + productMySQL + "/":                     flushes,
		walletLeaseRow + "/" + productPostgres + "/":             commits,
		walletLeaseRow + "/" + productMariaDB + "/":              commits,
		cyclesRow + "/" + productPostgres + "/insert and delete": twoFunctions,
		leaseRow + "/" + productPostgres + "/insert and delete":  twoFunctions,
		cyclesRow + "/" + productMariaDB + "/insert and delete":  program,
		cyclesRow + "/" + productMySQL + "/insert and delete":    program,
		cyclesRow + "/" + productPostgres + "/pglock":            againstFunctions,
		cyclesRow + "/" + productPostgres + "/goose's locker":    againstFunctions,
		cyclesRow + "/" + productMariaDB + "/goose's locker":     againstProcedures,
		inJavaRow + "/" + productPostgres + "/ShedLock":          againstFunctions,
		inJavaRow + "/" + productPostgres + "/JdbcLockRegistry":  againstFunctions,
		inJavaRow + "/" + productMariaDB + "/ShedLock":           againstProcedures,
		inJavaRow + "/" + productMariaDB + "/JdbcLockRegistry":   againstProcedures,
		refusalRow + "/" + productPostgres + "/" + lookUpName:    function,
		refusalRow + "/" + productMariaDB + "/" + lookUpName:     oneSelect,
		refusalRow + "/" + productMySQL + "/" + lookUpName:       oneSelect,
		refusalRow + "/" + productSQLite + "/" + lookUpName:      opening,
		"hand-off, two clients, p50/postgres/two commits":        message,
		"hand-off, redislock, p50/redis/":                        roundTrips,
		"hand-off, pgadvisory, p50/postgres/":                    roundTrips,
		"hand-off, two clients, polling, p50/mysql/":             polling,
		"hand-off, two clients, polling, p50/sqlite/":            polling,
	}
	for _, product := range []string{productPostgres, productMariaDB, productMySQL, productSQLite} {
		all["10,000 waiters: memory/"+product+"/"] = stacks
	}
	return all
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
