package main

import (
	"context"
	"strings"
	"testing"
)

// Goal: whoever may do what operators do and nothing else, and keeps an object's row locked in a transaction without an end, makes others wait for no longer
// than the lock wait, who are told so; an administrator finds the session and ends it, and then the object is to be had. Method: a user of the role
// operator on each product, with a new object and with one that is held; the queries of SECURITY.md.
func TestOperatorKeepsARowLocked(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, s server) {
		dsn := s.installedDatabase(t)
		owner := userOf(dsn)
		name := s.newUser(t, dsn, "secret")
		owner.must(t, "grant", "--to", name, "--as", "operator")
		owner.must(t, "get", "customer:old", "--operator", "jdoe")
		handle := s.open(t, withUser(t, dsn, name, "secret"))
		defer func() { _ = handle.Close() }()
		tx, err := handle.BeginTx(context.WithoutCancel(t.Context()), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = tx.Rollback() }()
		call := "SELECT * FROM applock.get_appl_lock_row('customer', 'ID', 'jdoe', NULL, NULL, NULL)"
		if s.isMySQL() {
			call = "CALL get_appl_lock_row('customer', 'ID', 'jdoe', NULL, NULL, NULL)"
		}
		for _, id := range []string{"old", "new"} {
			if _, err := tx.ExecContext(t.Context(), strings.Replace(call, "ID", id, 1)); err != nil {
				t.Fatal(err)
			}
		}
		const busy = "another transaction is changing the lock"
		for _, args := range []string{
			"get customer:new --operator asmith", "release customer:old --operator jdoe", "transfer customer:old --from jdoe --to asmith --by boss",
		} {
			owner.run(t, append([]string{"--timeout", "5m"}, strings.Fields(args)...)...).check(t, exitError, busy)
		}
		owner.must(t, "inquire", "customer:old") // who only looks does not wait
		s.endTransactionsOf(t, dsn, name)
		owner.must(t, "get", "customer:new", "--operator", "asmith")
		owner.must(t, "release", "customer:old", "--operator", "jdoe")
		if err := tx.Commit(); err == nil {
			t.Error("the transaction of a session that was ended is committed")
		}
	})
}

// endTransactionsOf ends the sessions of a user that have a transaction, as SECURITY.md has it, and returns when they have ended.
func (s server) endTransactionsOf(t *testing.T, dsn, name string) {
	t.Helper()
	if !s.isMySQL() {
		ended := s.query(t, dsn, "SELECT count(pg_terminate_backend(pid, 60000)) FROM pg_stat_activity WHERE usename = '"+name+"' AND state = 'idle in transaction'")
		if ended != "1" {
			t.Fatalf("%s sessions of %s have ended, want 1", ended, name)
		}
		return
	}
	const sessions = "SELECT trx_mysql_thread_id FROM information_schema.innodb_trx AS t JOIN information_schema.processlist AS p ON p.id = t.trx_mysql_thread_id WHERE p.user = '"
	s.exec(t, dsn, "KILL "+s.query(t, dsn, sessions+name+"'"))
	for s.query(t, dsn, "SELECT count(*) FROM ("+sessions+name+"') AS s") != "0" {
		if t.Context().Err() != nil {
			t.Fatal("the session does not end")
		}
	}
}
