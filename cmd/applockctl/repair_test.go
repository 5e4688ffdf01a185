package main

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/applock/applock/internal/testing/testdb"
)

// Goal: who restores a dump without procedures is led out of it by what the program says. Method: the product's own
// tools dump a database with a live lock, without --routines, and restore it elsewhere; then the commands are followed
// that the program names, up to a renewal.
func TestHeavyRestoreWithoutRoutines(t *testing.T) {
	t.Parallel()
	onMySQL(t, func(t *testing.T, s server) {
		dsn, copied := s.lentDatabase(t), s.newDatabase(t)
		from, into := userOf(dsn), userOf(s.newOwner(t, copied))
		from.must(t, "get", "customer:42", "--operator", "jdoe")
		dump := testdb.DumpMySQL(t, string(s), dsn)
		s.run(t, copied, dump)

		damaged := into.run(t, "get", "customer:42", "--operator", "asmith")
		damaged.check(t, exitError, "applockctl migrate repair")
		into.run(t, "migrate", "up").check(t, exitNo, "others, each is missing; mend it with: applockctl migrate repair")
		into.run(t, "migrate", "status").check(t, exitNo, "others, each is missing; mend it with: applockctl migrate repair")
		repaired := obey(t, into, damaged.stderr, "%s: applock in %s is damaged: %s %s; see all with: %s, and %s")
		if !strings.Contains(repaired.stdout, "REPAIRED") {
			t.Errorf("repair says %s", repaired.stdout)
		}
		into.must(t, "migrate", "status")
		into.run(t, "get", "customer:42", "--operator", "asmith").check(t, exitNo)
		if got := into.must(t, "get", "customer:42", "--operator", "jdoe"); !strings.Contains(got.stdout, "RENEWED") {
			t.Errorf("after the repair: %s", got.stdout)
		}
		if again := into.must(t, "migrate", "repair"); again.stdout != "" || again.stderr != "nothing to do, everything is as it should be\n" {
			t.Errorf("repair again: %s%s", again.stdout, again.stderr)
		}
	})
}

// Goal: a restore that forgets the privileges does not let everybody in. Method: pg_restore --no-privileges gives
// PUBLIC the right to execute, as a new function has it; the status says so, and repair takes it back.
func TestRestoreWithoutPrivileges(t *testing.T) {
	t.Parallel()
	s := postgresServer
	dsn, copied := s.installedDatabase(t), s.newDatabase(t)
	from, into := userOf(dsn), userOf(copied)
	from.must(t, "get", "customer:42", "--operator", "jdoe")
	dump := exec.CommandContext(t.Context(), testdb.PostgresTool(t, "pg_dump"), "--format=custom", "--schema=applock", dsn)
	restore := exec.CommandContext(t.Context(), testdb.PostgresTool(t, "pg_restore"), "--no-privileges", "--dbname="+copied)
	var err error
	if restore.Stdin, err = dump.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	if err := dump.Start(); err != nil {
		t.Fatal(err)
	}
	if output, err := restore.CombinedOutput(); err != nil {
		t.Fatalf("pg_restore: %v\n%s", err, output)
	}
	if err := dump.Wait(); err != nil {
		t.Fatal(err)
	}
	const mayPurge = "SELECT has_function_privilege('pg_monitor', 'applock.purge_appl_locks_row(bigint, bigint)', 'EXECUTE')::text"
	if got := s.query(t, copied, mayPurge); got != "true" {
		t.Fatalf("everybody may purge: %s, want the damage", got)
	}
	into.run(t, "migrate", "status").check(t, exitNo,
		"others, each may be executed by everybody (PUBLIC)", "applockctl migrate repair")
	into.must(t, "migrate", "repair", "--owner", userName(t, s.newOwner(t, copied)))
	into.must(t, "migrate", "repair")
	into.must(t, "migrate", "status")
	if got := s.query(t, copied, mayPurge); got != "false" {
		t.Errorf("after the repair everybody may purge: %s", got)
	}
	into.run(t, "get", "customer:42", "--operator", "asmith").check(t, exitNo)
}

// Goal: an account that migrates what another one owns, as after a restore by a superuser, is told whose it is and what to do, and that leads
// out of it. The superuser is told once that it had better not be the owner. Method: a superuser installs; an account that may migrate tries each command; then the superuser does what is said. The same
// where the superuser has made the schema alone.
func TestMigratingWhatBelongsToAnother(t *testing.T) {
	t.Parallel()
	s := postgresServer
	dsn := s.newDatabase(t)
	s.exec(t, dsn, "CREATE SCHEMA applock")
	migrator := s.newOwner(t, dsn)
	name, admin := userName(t, migrator), s.query(t, dsn, "SELECT current_user::text")
	alter := "ALTER SCHEMA applock OWNER TO " + name
	stranger := userOf(migrator).run(t, "migrate", "up")
	stranger.check(t, exitError, "; schema applock belongs to "+admin+": do this as that account, or mend it with the SQL: "+alter+"\n")
	first := userOf(dsn).must(t, "migrate", "up").stderr
	if !strings.HasPrefix(first, "installed, but role "+admin+" is a superuser, ") ||
		strings.Count(first, "\n") != 1 || !strings.HasSuffix(first, "; mend it with: applockctl migrate repair --owner NAME\n") {
		t.Errorf("the first migration says %s", first)
	}
	if again := userOf(dsn).must(t, "migrate", "up").stderr; again != "nothing to do, all steps were applied before\n" {
		t.Errorf("the second migration says %s", again)
	}
	for _, command := range []string{
		"migrate up", "migrate status", "migrate repair", "migrate uninstall --yes", "grant --to " + name + " --as operator", "revoke --from " + name,
	} {
		refused := userOf(migrator).run(t, strings.Fields(command)...)
		refused.check(t, exitError, "; the installation in schema applock belongs to "+admin+
			": do this as that account, or let a superuser give it to an account NAME that can migrate and no more: applockctl migrate repair --owner NAME\n")
	}
	obey(t, userOf(dsn), strings.ReplaceAll(first, "NAME", name), "mend it with: ...")
	for _, command := range []string{"up", "status --exit-code", "repair", "uninstall --yes"} {
		userOf(migrator).must(t, append([]string{"migrate"}, strings.Fields(command)...)...)
	}
	other := s.newSchema(t, dsn)
	userOf(dsn).must(t, "migrate", "up", "--schema", other)
	refused := userOf(migrator).run(t, "migrate", "repair", "--schema", other)
	refused.check(t, exitError, "applockctl --schema "+other+" migrate repair --owner NAME\n")
	obey(t, userOf(dsn), strings.ReplaceAll(refused.stderr, "NAME", name),
		"the installation in schema %s belongs to %s: do this as that account, or let a superuser give it to an account NAME that can migrate and no more: %s --owner NAME")
	userOf(migrator).must(t, "migrate", "repair", "--schema", other)
	s.exec(t, dsn, "CREATE SCHEMA applock")
	obeySQL(t, func(statement string) { s.exec(t, dsn, statement) }, stranger.stderr,
		"schema %[1]s belongs to %[2]s: do this as that account, or mend it with the SQL: ALTER SCHEMA %[1]s OWNER TO %[3]s")
	userOf(migrator).must(t, "migrate", "up")
	userOf(migrator).must(t, "migrate", "goto", "0") // leaves its schema and the table of the steps
	left := userOf(dsn).run(t, "migrate", "up").stderr
	if strings.Count(left, "\n") != 1 || !strings.HasSuffix(left, "; mend it with: applockctl migrate repair\n") {
		t.Errorf("in what the migrator has left, the superuser's migration says %s", left)
	}
	repaired := userOf(dsn).run(t, "migrate", "repair")
	obey(t, userOf(dsn), strings.ReplaceAll(repaired.stderr, "NAME", name), "mend it with: ...")
	userOf(migrator).must(t, "migrate", "status")
}

// newMigrator returns an account with the password 0wner and the rights of docs/dba.md, which may migrate and no more.
func newMigrator(t *testing.T, s server, dsn string) string {
	t.Helper()
	name := randomName()
	s.exec(t, dsn, "CREATE USER "+name+" IDENTIFIED BY '0wner'", "GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, CREATE VIEW, SHOW VIEW, "+
		"CREATE ROUTINE, ALTER ROUTINE, EXECUTE ON "+databaseOf(t, dsn)+".* TO "+name)
	t.Cleanup(func() { s.exec(t, dsn, "DROP USER IF EXISTS "+name) })
	return name
}

// Goal: a repair that lacks a right for one thing mends the others, and tells the right. Method: the migrating account repairs an installation
// without an index and the procedure that is mended behind it.
func TestRepairGoesOnWithoutARight(t *testing.T) {
	t.Parallel()
	onMySQL(t, func(t *testing.T, s server) {
		dsn := s.newDatabase(t)
		name := newMigrator(t, s, dsn)
		migrator := userOf(withUser(t, dsn, name, "0wner"))
		migrator.must(t, "migrate", "up")
		s.exec(t, dsn, "DROP INDEX appl_lock_event_object_ix ON appl_lock_event", "DROP PROCEDURE get_appl_lock_row")
		refused := migrator.run(t, "migrate", "repair")
		refused.check(t, exitError, "index appl_lock_event_object_ix is missing: ", " on the database, and INDEX to repair an index\n")
		migrator.must(t, "get", "customer:42", "--operator", "jdoe")
		s.exec(t, dsn, "GRANT INDEX ON "+databaseOf(t, dsn)+".* TO "+name)
		migrator.must(t, "migrate", "repair")
		migrator.must(t, "migrate", "status")
	})
}

// Goal: where the account is gone, or lacks rights, with whose rights the procedures run, each is told what concerns it, and one command mends
// everything: an application is told who mends it, and not that its password is wrong, as servers word it for a view; an administrator which
// account that was; a plain account, which may migrate and no more, becomes the owner, unless the application would lose rights that it
// cannot grant. A repair by an administrator keeps these. Method: one installation, whose owner is dropped again and again.
func TestHeavyOwnerIsGone(t *testing.T) {
	t.Parallel()
	onMySQL(t, func(t *testing.T, s server) {
		dsn := s.newDatabase(t)
		root := userOf(dsn)
		migrator := newMigrator(t, s, dsn)
		userOf(withUser(t, dsn, migrator, "0wner")).must(t, "migrate", "up")
		drop := func(owner string) { s.exec(t, dsn, "DROP USER "+owner) }
		drop(migrator)

		reader := newMigrator(t, s, dsn)
		s.exec(t, dsn, "GRANT SELECT ON mysql.* TO "+reader)
		plain := userOf(withUser(t, dsn, reader, "0wner"))
		const advice = "an account that does not exist; mend it with: applockctl migrate repair\n"
		plain.run(t, "migrate", "status").check(t, exitNo, "each has the rights of "+migrator+"@%, "+advice)
		plain.must(t, "migrate", "repair")
		root.must(t, "migrate", "status")
		name := s.newUser(t, dsn, "s3cret")
		root.must(t, "grant", "--to", name, "--as", "operator")
		operator := userOf(withUser(t, dsn, name, "s3cret"))
		drop(reader)

		const gone = "the account whose rights the procedures and views run with does not exist any more; " +
			"the database administrator mends that with: applockctl migrate repair --owner NAME: Error "
		operator.run(t, "get", "customer:43", "--operator", "jdoe").check(t, exitError, "get customer:43: "+gone+"1449")
		operator.run(t, "list").check(t, exitError, "list: "+gone+"1045")
		root.run(t, "list").check(t, exitError, "list: "+gone+"1449")
		checkGoneOwner(t, root, reader)

		owner := newMigrator(t, s, dsn)
		s.exec(t, dsn, "GRANT SELECT ON mysql.* TO "+owner)
		granted := "SELECT COUNT(*) FROM mysql.procs_priv WHERE user = '" + name + "'"
		before := s.query(t, dsn, granted)
		userOf(withUser(t, dsn, owner, "0wner")).run(t, "migrate", "repair").check(t, exitError, "denied")
		if after := s.query(t, dsn, granted); after != before {
			t.Errorf("the application may call %s procedures, want %s", after, before)
		}
		repaired := obey(t, root, strings.ReplaceAll(operator.run(t, "get", "customer:43", "--operator", "jdoe").stderr, "NAME", owner),
			"the account whose rights the procedures and views run with does not exist any more; the database administrator mends that with: applockctl %smigrate repair --owner NAME")
		if !strings.Contains(repaired.stdout, "has the rights of "+reader+"@%") || strings.Contains(repaired.stdout, "installed: ") {
			t.Errorf("repair says %s", repaired.stdout)
		}
		root.must(t, "migrate", "status")
		root.must(t, "verify", "--look-only")
		operator.must(t, "get", "customer:43", "--operator", "jdoe")
		operator.must(t, "list")

		statement := "GRANT SELECT, INSERT, UPDATE, DELETE, EXECUTE ON `" + databaseOf(t, dsn) + "`.* TO '" + owner + "'@'%'"
		s.exec(t, dsn, "REVOKE ALL ON "+databaseOf(t, dsn)+".* FROM "+owner)
		refused := operator.run(t, "get", "customer:43", "--operator", "jdoe")
		refused.check(t, exitError, "1370")
		root.run(t, "list").check(t, exitError, "is damaged: account "+owner+"@% lacks privileges", statement)
		for _, args := range []string{"migrate status", "migrate repair"} {
			root.run(t, strings.Fields(args)...).check(t, exitNo, "account "+owner+"@%",
				"lacks privileges on the database that procedures and views need, since they run with its rights: SELECT", statement)
		}
		status := obey(t, root, refused.stderr, "%s: %s, whose rights the procedures have, lacks one itself; an administrator sees which with: %s: %w")
		obeySQL(t, func(statement string) { s.exec(t, dsn, statement) }, status.stderr, "mend it with the SQL: ...")
		operator.must(t, "get", "customer:43", "--operator", "jdoe")
		root.must(t, "migrate", "status")
		drop(owner)

		blind := userOf(withUser(t, dsn, newMigrator(t, s, dsn), "0wner")) // it may not read which accounts there are
		blind.run(t, "migrate", "status").check(t, exitNo, "each has the rights of "+owner+"@%, an account that does not exist")
		blind.must(t, "migrate", "repair")
		blind.must(t, "migrate", "status")
		root.must(t, "migrate", "status")
		root.must(t, "grant", "--to", name, "--as", "operator")
		operator.must(t, "get", "customer:43", "--operator", "jdoe")
	})
}

// Goal: the same after a restore without procedures, as on another server. Servers deny a plain account the access to the views, in the
// words that they have for a wrong password. Method: the owner is dropped before the restore; an administrator looks, a plain account
// repairs; an application's get and list.
func TestHeavyOwnerIsGoneAfterARestore(t *testing.T) {
	t.Parallel()
	onMySQL(t, func(t *testing.T, s server) {
		dsn, copied := s.newDatabase(t), s.newDatabase(t)
		migrator := newMigrator(t, s, dsn)
		userOf(withUser(t, dsn, migrator, "0wner")).must(t, "migrate", "up")
		dump := testdb.DumpMySQL(t, string(s), dsn)
		s.exec(t, dsn, "DROP USER "+migrator)
		s.run(t, copied, dump)
		checkGoneOwner(t, userOf(copied), migrator)
		plain := userOf(withUser(t, copied, newMigrator(t, s, copied), "0wner"))
		plain.run(t, "migrate", "status").check(t, exitNo, "cannot be read: the account "+migrator+"@%, whose rights it has, seems not to exist any more",
			"mend it with: applockctl migrate repair\n")
		plain.must(t, "migrate", "repair")
		userOf(copied).must(t, "migrate", "status")
		name := s.newUser(t, copied, "s3cret")
		userOf(copied).must(t, "grant", "--to", name, "--as", "operator")
		restored := userOf(withUser(t, copied, name, "s3cret"))
		restored.must(t, "get", "customer:42", "--operator", "jdoe")
		restored.must(t, "list")
	})
}

// checkGoneOwner fails the test unless each command names the account that is gone, with the whole command that mends it and no other.
func checkGoneOwner(t *testing.T, root user, gone string) {
	t.Helper()
	const advice = "mend it with: applockctl migrate repair"
	for _, command := range []string{"migrate status", "migrate up", "verify --look-only"} {
		got := root.run(t, strings.Fields(command)...)
		said := got.stdout + got.stderr
		whole := strings.Count(said, "create an account NAME that can migrate and no more; "+advice+" --owner NAME\n")
		if got.code != exitNo || !strings.Contains(said, "each has the rights of "+gone+"@%, an account that does not exist; create ") ||
			whole == 0 || strings.Count(said, advice) != whole || strings.Contains(said, "not the one that was installed") {
			t.Errorf("%s: exit code %d: %s", command, got.code, said)
		}
	}
}

// Goal: on PostgreSQL the owner may be a role that cannot log in. Method: somebody who is a member of it installs, grants, upgrades and removes as that
// role, by the DSN of docs/dba.md; an application calls in between.
func TestOwnerWithoutLogin(t *testing.T) {
	t.Parallel()
	s := postgresServer
	dsn := s.newDatabase(t)
	owner, person := s.newUser(t, dsn, "n0login"), s.newUser(t, dsn, "s3cret")
	s.exec(t, dsn, "ALTER ROLE "+owner+" NOLOGIN", "GRANT CREATE ON DATABASE "+databaseOf(t, dsn)+" TO "+owner, "GRANT "+owner+" TO "+person)
	asOwner := parseURL(t, withUser(t, dsn, person, "s3cret"))
	query := asOwner.Query()
	query.Set("options", "-crole="+owner)
	asOwner.RawQuery = query.Encode()
	u := userOf(asOwner.String())
	u.must(t, "migrate", "up")
	if owned := s.query(t, dsn, "SELECT string_agg(DISTINCT proowner::regrole::text, ' ') FROM pg_proc WHERE pronamespace = 'applock'::regnamespace"); owned != owner {
		t.Errorf("the routines belong to %s, want %s", owned, owner)
	}
	u.must(t, "verify")
	app := s.newUser(t, dsn, "4pp")
	u.must(t, "grant", "--to", app, "--as", "operator")
	userOf(withUser(t, dsn, app, "4pp")).must(t, "get", "customer:42", "--operator", "jdoe")
	u.must(t, "migrate", "goto", "1", "--force")
	u.must(t, "migrate", "up")
	u.must(t, "migrate", "uninstall", "--yes", "--force")
}
