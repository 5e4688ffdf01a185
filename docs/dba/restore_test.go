package dba_test

import (
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/applock/applock/internal/testing/readme"
)

// restoration is a way through the page from a backup to an application that works.
type restoration struct {
	name string
	// edits are pairs: words of the page's commands, and what an administrator types in their place here.
	edits []string
	// blocks are words of those of the page, in the order in which they are played.
	blocks []string
	// granter is the account that grants, where that is not the administrator.
	granter string
	// into is the DSN of the database that is restored.
	into string
	// isAlone is true without the business data.
	isAlone bool
	// disaster happens after the backup; nil is none.
	disaster func(t *testing.T)
}

// block returns the first block of the page under a heading that has these words.
func (s site) block(t *testing.T, title, words string) string {
	t.Helper()
	part := readme.Under(page(t), title)
	for _, found := range slices.Concat(shellBlock.FindAllStringSubmatch(part, -1), sqlBlock.FindAllStringSubmatch(part, -1)) {
		if strings.Contains(found[1], words) {
			return s.words.Replace(found[1])
		}
	}
	t.Fatalf("the page has no block with %q under %q", words, title)
	return ""
}

// play runs a block, SQL as the administrator.
func (s site) play(t *testing.T, block string, environment ...string) {
	t.Helper()
	if strings.HasPrefix(block, "GRANT ") {
		execute(t, s.open(s.dsn), block)
		return
	}
	s.must(t, block, environment...)
}

// as returns a DSN for an account of the tests, which all have one password.
func as(t *testing.T, dsn, account string) string {
	t.Helper()
	if account == "" {
		return dsn
	}
	return another(t, dsn, "", url.UserPassword(account, "change-me"))
}

// account makes an account without rights until the test ends.
func (s site) account(t *testing.T, name string) string {
	t.Helper()
	create, drop := "CREATE ROLE "+name+" LOGIN PASSWORD 'change-me'", "DROP ROLE "+name
	if s.chapter != "PostgreSQL" {
		create, drop = "CREATE USER "+name+" IDENTIFIED BY 'change-me'", "DROP USER "+name
	}
	execute(t, s.open(s.dsn), create)
	t.Cleanup(func() {
		if s.chapter == "PostgreSQL" {
			execute(t, s.open(s.dsn), "DROP OWNED BY "+name)
		}
		execute(t, s.open(s.dsn), drop)
	})
	return name
}

// restorations are the ways of a product. Other is an account that may migrate and has not installed.
func (s site) restorations(t *testing.T, other string) []restoration {
	t.Helper()
	shop, copied, owner := s.words.Replace("shop"), s.words.Replace("shop_copy"), s.words.Replace("applock_dba")
	theirs := []string{owner, other}
	switch s.chapter {
	case "SQLite":
		lost := func(t *testing.T) {
			t.Helper()
			for _, file := range []string{"shop.db", "shop.db-wal", "shop.db-shm"} {
				if err := os.RemoveAll(filepath.Join(s.folder, file)); err != nil {
					t.Fatal(err)
				}
			}
		}
		return []restoration{
			{name: "into another file", blocks: []string{"cp "}, into: s.copied},
			{name: "into the same file", blocks: []string{"cp "}, into: s.dsn, edits: []string{"shop_copy.db", "shop.db"}, disaster: lost},
		}
	case "PostgreSQL":
		whole, bare := []string{"pg_restore --exit-on-error --dbname"}, []string{"--no-owner", "migrate repair", "applockctl grant"}
		plain := []string{
			"createdb " + copied, "createdb --owner=" + other + " " + copied, "pg_restore", "PGUSER=" + other + " PGPASSWORD=change-me pg_restore",
			" --owner " + owner, "", s.copied, as(t, s.copied, other),
		}
		lost := func(t *testing.T) {
			t.Helper()
			execute(t, s.open(another(t, s.dsn, "postgres", nil)), "DROP DATABASE "+shop+" WITH (FORCE)")
		}
		alone := []string{"pg_dump ", "PGUSER=" + owner + " PGPASSWORD=change-me pg_dump --schema=applock "}
		return []restoration{
			{name: "with owners and grants", blocks: whole, into: s.copied},
			{name: "the locks alone by their owner", blocks: whole, into: s.copied, edits: alone, isAlone: true},
			{name: "the locks alone without owners and grants", blocks: bare, into: s.copied, edits: alone, isAlone: true},
			{name: "without owners and grants", blocks: bare, into: s.copied},
			{name: "without owners", blocks: bare[:2], into: s.copied, edits: []string{"--no-privileges ", ""}},
			{name: "without grants", blocks: bare, into: s.copied, edits: []string{"--no-owner ", ""}},
			{name: "to another owner", blocks: bare, into: s.copied, edits: theirs},
			{name: "by no superuser", blocks: bare, into: s.copied, edits: plain, granter: other},
			{name: "under the same name with owners and grants", blocks: whole, into: s.dsn, edits: []string{copied, shop}, disaster: lost},
			{name: "under the same name", blocks: bare, into: s.dsn, edits: []string{copied, shop}, disaster: lost},
		}
	}
	all := []string{"CREATE DATABASE", "GRANT ", "migrate repair", "applockctl grant"}
	gone := func(t *testing.T) {
		t.Helper()
		execute(t, s.open(s.dsn), "DROP USER "+owner)
		t.Cleanup(func() { execute(t, s.open(s.dsn), s.rights(t)...) })
	}
	lost := func(t *testing.T) { t.Helper(); execute(t, s.open(s.dsn), "DROP DATABASE "+shop) }
	dumpedBy := func(account string) []string {
		home := "HOME=" + optionsOf(t, parse(t, as(t, s.dsn, account))) + " "
		return []string{"mariadb-dump", home + "mariadb-dump", "mysqldump", home + "mysqldump"}
	}
	execute(t, s.open(s.dsn), "GRANT SELECT, SHOW VIEW ON "+shop+".* TO "+other)
	return []restoration{
		{name: "as the page says", blocks: all, into: s.copied},
		{name: "dumped by the account that has installed", blocks: all, into: s.copied, edits: dumpedBy(owner)},
		{name: "dumped by an account that sees no procedures", blocks: all, into: s.copied, edits: dumpedBy(other)},
		{name: "without routines", blocks: all, into: s.copied, edits: []string{"--routines ", ""}},
		{name: "to another account", blocks: all, into: s.copied, edits: theirs, disaster: gone},
		{name: "to another account without routines", blocks: all, into: s.copied, edits: append(theirs, "--routines ", ""), disaster: gone},
		{name: "from an account that exists to another", blocks: all, into: s.copied, edits: theirs},
		{name: "from an account that exists to another without routines", blocks: all, into: s.copied, edits: append(theirs, "--routines ", "")},
		{name: "under the same name", blocks: all, into: s.dsn, edits: []string{copied, shop}, disaster: lost},
		{name: "under the same name without routines", blocks: all, into: s.dsn, edits: []string{copied, shop, "--routines ", ""}, disaster: lost},
	}
}

// Goal: after each backup and restore of the page an application works, with what it held, and nobody else is let in: into another name and the
// same, by another account than the one that has installed, with and without owners, grants and routines. Method: the page's commands, edited as an
// administrator would; an application that held a lock renews it and takes another one; an account without grants is refused.
func TestHeavyApplicationAfterARestore(t *testing.T) {
	t.Parallel()
	onSites(t, func(t *testing.T, s site) {
		var app, stranger, other string
		migrator := s.migrator(t)
		if s.chapter != "SQLite" {
			app, stranger = s.account(t, s.words.Replace("shop_app")), s.account(t, s.words.Replace("shop_app")+"2")
			other = s.account(t, s.words.Replace("applock_dba")+"2")
		}
		s.must(t, s.blocks(t, s.chapter+": install")[0], migrator...)
		business := "customer"
		if s.chapter == "PostgreSQL" {
			business = "public.customer" // the administrator of the tests is called applock, as the schema is
		}
		execute(t, s.open(s.dsn), "CREATE TABLE "+business+" (id INT PRIMARY KEY)", "INSERT INTO "+business+" VALUES (42)")
		if app != "" {
			s.must(t, "applockctl grant --to "+app+" --as operator")
		}
		if _, code := s.lock(t, as(t, s.dsn, app), "get customer:42 --operator jdoe --ttl 7d"); code != 0 {
			t.Fatalf("get: exit code %d", code)
		}
		for _, r := range s.restorations(t, other) {
			t.Run(r.name, func(t *testing.T) {
				s.restore(t, r)
				s.lets(t, r.into, app, stranger)
				if !r.isAlone && s.count(t, r.into, business) != 1 {
					t.Errorf("the row of %s is not there", business)
				}
				s.must(t, "applockctl migrate status", "APPLOCK_DSN="+r.into)
			})
		}
	})
}

// count counts the rows of a table.
func (s site) count(t *testing.T, dsn, table string) (rows int) {
	t.Helper()
	handle := s.open(dsn)
	defer func() { _ = handle.Close() }()
	if err := handle.QueryRowContext(t.Context(), "SELECT count(*) FROM "+table).Scan(&rows); err != nil {
		t.Error(err)
	}
	return rows
}

// restore goes the way, and removes what it has restored when the test ends, unless that is in the place of the original.
func (s site) restore(t *testing.T, r restoration) {
	t.Helper()
	edit := strings.NewReplacer(r.edits...)
	s.must(t, edit.Replace(s.block(t, s.chapter+": back up", "")))
	if r.disaster != nil {
		r.disaster(t)
	}
	if r.into == s.copied {
		t.Cleanup(func() { s.remove(t) })
	}
	for _, words := range r.blocks {
		block := s.block(t, s.chapter+": restore", words)
		s.play(t, edit.Replace(block), "APPLOCK_DSN="+as(t, r.into, r.granter))
	}
}

// remove removes the copy.
func (s site) remove(t *testing.T) {
	t.Helper()
	copied := s.words.Replace("shop_copy")
	switch s.chapter {
	case "PostgreSQL":
		execute(t, s.open(s.dsn), "DROP DATABASE IF EXISTS "+copied+" WITH (FORCE)")
	case "MySQL and MariaDB":
		execute(t, s.open(s.dsn), "DROP DATABASE IF EXISTS "+copied)
	}
}

// lets checks that a database lets the application in, with the lock that it held and another one, but not to purge, and not the stranger.
func (s site) lets(t *testing.T, dsn, app, stranger string) {
	t.Helper()
	for _, call := range []struct{ command, want string }{
		{"get customer:42 --operator jdoe", "RENEWED"}, {"get customer:42 --operator asmith", "HELD"},
		{"get customer:43 --operator asmith", "ACQUIRED"}, {"release customer:43 --operator asmith", "RELEASED"},
	} {
		if got, _ := s.lock(t, as(t, dsn, app), call.command); got.Outcome != call.want {
			t.Errorf("%s by the application: %v, want %s", call.command, got, call.want)
		}
	}
	if stranger == "" {
		return // there are no accounts
	}
	for _, call := range []struct{ account, command string }{{stranger, "get customer:44 --operator eve"}, {app, "purge"}} {
		output, code := s.shell(t, "applockctl "+call.command, "APPLOCK_DSN="+as(t, dsn, call.account))
		if code != 4 || !strings.Contains(output, "privilege") {
			t.Errorf("%s by %s: exit code %d\n%s", call.command, call.account, code, output)
		}
	}
}
