//go:build unix

package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// question is a table of the page for readers who choose: applock compared with the alternatives.
type question struct {
	heading, intro string
	products       []string
	rows           []choice
	below          string
}

// choice is a row. Without a baseline it is our figure; with one it is that baseline of the figure.
type choice struct{ label, figure, baseline string }

const choosePreface = "# Performance\n\n" +
	"For developers and DBAs who choose a lock. Afterwards you know what applock does on a machine of two cores, compared with the alternatives.\n\n" +
	"- Each alternative ran in turns with applock, in the same run, on the same servers. **Compare the ratios**, in brackets: applock's value divided by the\n" +
	"  alternative's. The other values depend on the machine.\n" +
	"- Each commit waits for the disk, unless the table says otherwise.\n" +
	"- `make bench` made this page from [all values](%[1]s/run.json). [The results](%[2]s) have the goals, and the reason for each missed goal.\n\n"

func databases() []string {
	return []string{productPostgres, productMariaDB, productMySQL, productSQLite}
}

func productNames() map[string]string {
	return map[string]string{
		productPostgres: "PostgreSQL", productMariaDB: "MariaDB", productMySQL: "MySQL", productSQLite: "SQLite", productRedis: "Redis",
	}
}

const otherChoices = `## When to take something else

| you need | take |
|---|---|
| one transaction at a time on a row that you change anyway | the row's own lock (` + "`SELECT ... FOR UPDATE`" + `), or ` + "`serialize_appl_lock`" + ` |
| thousands of turns a second on one object, and a lost lock after a restart is harmless | redislock, pgadvisory or getlock |
| only the lock of one server's sessions, without owner, expiry and fence | pg_advisory_lock or GET_LOCK directly |
| only jobs that run once, in Java | ShedLock is enough |
| locks that outlive the loss of a database server without waiting for a failover | leases on etcd (package etcdlock) |

`

func questions() []question {
	const cycle, inJava, hot, walletRun = getAndReleaseFigure, inJavaFigure, "a hot object, 64 who want it: ", hotKeyPrefix
	return []question{
		{
			heading:  "How many locks a second?",
			intro:    "Taken and released by 8 connections, each with objects of its own. Higher is better; a ratio above 1 means that applock is faster.",
			products: databases(),
			rows: []choice{
				{"**applock**: get and release", cycle, ""},
				{"pglock", cycle, "pglock"},
				{"goose's locker", cycle, "goose's locker"},
				{"your own table: insert and delete a row", cycle, byHandName},
				{"**applock** from Java", inJava, ""},
				{"ShedLock", inJava, "ShedLock"},
				{"Spring's JdbcLockRegistry", inJava, "JdbcLockRegistry"},
			},
			below: "Your own table is faster on a server, because its client sends bare statements. applock runs a procedure, so that every language has the same lock with " +
				"fences, expiry and a history.",
		},
		{
			heading:  "How many without a disk?",
			intro:    "The same for locks that end with a session or with the server's memory.",
			products: []string{productPostgres, productMariaDB, productMySQL, productRedis},
			rows: []choice{
				{"**applock**: pgadvisory", "cycles, 8 connections: pgadvisory", ""},
				{"pg_advisory_lock", "cycles, 8 connections: pgadvisory", "pg_advisory_lock"},
				{"**applock**: getlock", "cycles, 8 connections: getlock", ""},
				{"GET_LOCK", "cycles, 8 connections: getlock", "GET_LOCK"},
				{"**applock**: redislock", "cycles, 8 connections: redislock", ""},
				{"bsm/redislock", "cycles, 8 connections: redislock", "bsm/redislock"},
				{"redsync", "cycles, 8 connections: redislock", "redsync"},
			},
			below: "A restart of their server ends these locks, and they do not show the holder. Take them for short work where that is enough.",
		},
		{
			heading:  "What does a refusal cost?",
			intro:    "Refused gets a second by 8 connections, compared with the cheapest read there is.",
			products: databases(),
			rows: []choice{
				{"**applock**: a refused get", refusalRow, ""},
				{"select by primary key", refusalRow, lookUpName},
				{"**applock**: a get that renews", "a get that renews", ""},
				{"update by primary key", "a get that renews", "update by primary key"},
			},
		},
		{
			heading:  "How soon does the next one have it?",
			intro:    "From the release to the grant of a waiter, median in ms. Lower is better; a ratio below 1 means that applock is faster.",
			products: append(databases(), productRedis),
			rows: []choice{
				{"**applock**: within one program", "hand-off, one client", ""},
				{"two commits", "hand-off, one client", "two commits"},
				{"**applock**: between programs, with notifications", "hand-off, two clients", ""},
				{"UPDATE with NOTIFY", "hand-off, two clients", "NOTIFY"},
				{"**applock**: between programs, by polling", "hand-off, two clients, polling", ""},
				{"a loop that asks every 10 ms", "hand-off, two clients, polling", "loop of 10 ms"},
				{"**applock**: redislock", "hand-off, redislock", ""},
				{"bsm/redislock", "hand-off, redislock", "bsm/redislock"},
			},
		},
		{
			heading:  "What if 64 want the same object?",
			intro:    "Turns a second, 64 goroutines of four programs. Each turn is durable, but for Redis.",
			products: append(databases(), productRedis),
			rows: []choice{
				{"**applock**: leases", hot + "leases", ""},
				{"update of one row", hot + "leases", "update of one row"},
				{"**applock**: redislock", hot + "redislock", ""},
				{"bsm/redislock", hot + "redislock", "bsm/redislock"},
				{"redsync", hot + "redislock", "redsync"},
			},
			below: "If the work is one transaction on one row, lock the row itself or use `Serialize`: a lease adds a commit.",
		},
		{
			heading:  "How many deposits into one wallet?",
			intro:    "Deposits a second by 8 at a time, one commit each.",
			products: databases(),
			rows: []choice{
				{"no lock: commits one after the other", walletRun + "Serialize", commitsName},
				{"**applock**: `Serialize` in the transaction", walletRun + "Serialize", ""},
				{"**applock**: a lease, one program", walletRun + "a lease, one program", ""},
				{"**applock**: a lease, four programs", walletRun + "a lease, four programs", ""},
			},
			below: "One flush for each deposit is the limit: the next deposit may begin only when the former one is durable.",
		},
		{
			heading:  "What do 10,000 waiters cost?",
			intro:    "10,000 goroutines of one program wait, each for an object of its own, while nothing is released.",
			products: databases(),
			rows: []choice{
				{"connections", "10000 wait, an object each: connections", ""},
				{"memory of the program", "10000 wait, an object each: heap and stacks", ""},
				{"statements", "10000 wait, an object each: statements", ""},
				{"processor of the server, % of one core", "10000 wait, an object each: processor, server", ""},
			},
		},
	}
}

// choosePage returns the page for readers who choose.
func (r *report) choosePage(folder, results string) string {
	var text strings.Builder
	fmt.Fprintf(&text, choosePreface, filepath.Base(folder), results)
	for _, each := range questions() {
		if table := r.answers(each); len(table) > 1 {
			fmt.Fprintf(&text, "## %s\n\n%s\n\n", each.heading, each.intro)
			writeTable(&text, table)
			text.WriteString("\n")
			if each.below != "" {
				text.WriteString(each.below + "\n\n")
			}
		}
	}
	r.writeHeldAnswer(&text)
	text.WriteString(otherChoices + "## Charts\n\n")
	for _, each := range pictures() {
		if len(r.bars(each.wanted)) > 0 {
			fmt.Fprintf(&text, "![%s](%s/%s)\n\n", each.alt, filepath.Base(folder), each.file)
		}
	}
	text.WriteString("## Where\n\n")
	r.writeCircumstances(&text)
	return text.String()
}

// writeHeldAnswer compares the cost of a call after ten minutes of a held snapshot with its cost at the beginning.
func (r *report) writeHeldAnswer(text *strings.Builder) {
	if len(r.held) == 0 {
		return
	}
	text.WriteString("## What if a session holds a snapshot?\n\nProcessor time of the server for a call, after ten minutes under an idle transaction at REPEATABLE READ, " +
		"as a multiple of its beginning.\n\n")
	heading, names := []string{""}, []string{}
	for _, run := range r.held {
		for _, line := range run.heldLines() {
			if line[4] != "" && !slices.Contains(names, line[0]) {
				names = append(names, line[0])
			}
		}
		heading = append(heading, run.heldServer())
	}
	table := [][]string{heading}
	for _, name := range names {
		row := []string{name}
		for _, run := range r.held {
			times := ""
			for _, line := range run.heldLines() {
				if line[0] == name {
					times = line[4]
				}
			}
			row = append(row, times)
		}
		table = append(table, row)
	}
	writeTable(text, table)
	text.WriteString("\n")
}

// heldServer returns the server of a run under a held snapshot.
func (r *report) heldServer() string {
	for _, f := range r.Figures {
		if strings.HasPrefix(f.Name, heldPrefix) {
			return productNames()[f.Product] + " " + r.version(f.Product)
		}
	}
	return ""
}

// answers returns the table of a question: the measured products, and the rows with a value.
func (r *report) answers(q question) [][]string {
	products := slices.DeleteFunc(slices.Clone(q.products), func(product string) bool {
		return !slices.ContainsFunc(q.rows, func(c choice) bool { return r.answer(c, product) != "" })
	})
	heading := []string{""}
	for _, product := range products {
		heading = append(heading, productNames()[product])
	}
	table := [][]string{heading}
	for _, row := range q.rows {
		line := []string{row.label}
		for _, product := range products {
			line = append(line, r.answer(row, product))
		}
		if strings.Join(line[1:], "") != "" {
			table = append(table, line)
		}
	}
	return table
}

func (r *report) answer(c choice, product string) string {
	for _, f := range r.Figures {
		switch {
		case f.Product != product || f.Name != c.figure:
		case c.baseline == "":
			return quantity(median(f.Values), f.Unit)
		case f.Baseline == c.baseline:
			return fmt.Sprintf("%s (%s)", quantity(median(f.BaselineValues), f.Unit), round(f.ratio()))
		}
	}
	return ""
}
