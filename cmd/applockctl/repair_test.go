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
func TestRestoreWithoutRoutines(t *testing.T) {
	t.Parallel()
	onMySQL(t, func(t *testing.T, s server) {
		dsn, copied := s.lentDatabase(t), s.newDatabase(t)
		from, into := userOf(dsn), userOf(s.newOwner(t, copied))
		from.must(t, "get", "customer:42", "--operator", "jdoe")
		dump := testdb.DumpMySQL(t, string(s), dsn)
		s.run(t, copied, dump)

		into.run(t, "get", "customer:42", "--operator", "asmith").check(t, exitError, "applockctl migrate repair")
		into.run(t, "migrate", "up").check(t, exitNo, "others, each is missing; mend it with: applockctl migrate repair")
		into.run(t, "migrate", "status").check(t, exitNo, "others, each is missing; mend it with: applockctl migrate repair")
		into.must(t, "migrate", "repair")
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
// out of it. Method: a superuser installs; an account that may migrate tries each command; then the superuser does what is said. The same
// where the superuser has made the schema alone.
func TestMigratingWhatBelongsToAnother(t *testing.T) {
	t.Parallel()
	s := postgresServer
	dsn := s.newDatabase(t)
	s.exec(t, dsn, "CREATE SCHEMA applock")
	migrator := s.newOwner(t, dsn)
	name, admin := userName(t, migrator), s.query(t, dsn, "SELECT current_user::text")
	alter := "ALTER SCHEMA applock OWNER TO " + name
	userOf(migrator).run(t, "migrate", "up").check(t, exitError, "; schema applock belongs to "+admin+": do this as that account, or mend it with the SQL: "+alter+"\n")
	userOf(dsn).must(t, "migrate", "up")
	for _, command := range []string{
		"migrate up", "migrate status", "migrate repair", "migrate uninstall --yes", "grant --to " + name + " --as operator", "revoke --from " + name,
	} {
		refused := userOf(migrator).run(t, strings.Fields(command)...)
		refused.check(t, exitError, "; the installation in schema applock belongs to "+admin+
			": do this as that account, or let a superuser give it to an account NAME that can migrate and no more: applockctl migrate repair --owner NAME\n")
	}
	userOf(dsn).must(t, "migrate", "repair", "--owner", name)
	for _, command := range []string{"up", "status --exit-code", "repair", "uninstall --yes"} {
		userOf(migrator).must(t, append([]string{"migrate"}, strings.Fields(command)...)...)
	}
	other := s.newSchema(t, dsn)
	userOf(dsn).must(t, "migrate", "up", "--schema", other)
	userOf(migrator).run(t, "migrate", "repair", "--schema", other).check(t, exitError, "applockctl --schema "+other+" migrate repair --owner NAME\n")
	s.exec(t, dsn, "CREATE SCHEMA applock")
	s.exec(t, dsn, alter)
	userOf(migrator).must(t, "migrate", "up")
}

// rightsOfAMigrator are those of docs/dba.md on MySQL and MariaDB.
const rightsOfAMigrator = "SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, CREATE VIEW, SHOW VIEW, CREATE ROUTINE, ALTER ROUTINE, EXECUTE"

// migratedBy installs as an account of its own, and returns an operator there and who migrated.
func migratedBy(t *testing.T, s server, dsn, password string) (operator user, migrator string) {
	t.Helper()
	migrator = randomName()
	s.exec(t, dsn, "CREATE USER "+migrator+" IDENTIFIED BY '"+password+"'")
	s.exec(t, dsn, "GRANT "+rightsOfAMigrator+" ON "+databaseOf(t, dsn)+".* TO "+migrator)
	userOf(withUser(t, dsn, migrator, password)).must(t, "migrate", "up")
	name := s.newUser(t, dsn, password)
	userOf(dsn).must(t, "grant", "--to", name, "--as", "operator")
	return userOf(withUser(t, dsn, name, password)), migrator
}

// Goal: an application is told that the owner of the installation is gone, and not that its password is wrong, as servers word it for a view; who
// repairs leaves the callers their rights. Method: the account that has migrated is dropped; an administrator repairs; an application's get and
// list before, in between and afterwards.
func TestRepairKeepsGrants(t *testing.T) {
	t.Parallel()
	onMySQL(t, func(t *testing.T, s server) {
		dsn := s.newDatabase(t)
		operator, migrator := migratedBy(t, s, dsn, "s3cret")
		operator.must(t, "get", "customer:42", "--operator", "jdoe")
		s.exec(t, dsn, "DROP USER "+migrator)
		const gone = "the account whose rights the procedures and views run with does not exist any more; " +
			"the database administrator mends that with: applockctl migrate repair --owner NAME: Error "
		operator.run(t, "get", "customer:43", "--operator", "jdoe").check(t, exitError, "get customer:43: "+gone+"1449")
		operator.run(t, "list").check(t, exitError, "list: "+gone+"1045")
		userOf(dsn).run(t, "list").check(t, exitError, "list: "+gone+"1449")
		userOf(dsn).run(t, "migrate", "repair").check(t, exitNo, "account root@% is the owner of 99 of the procedures and views")
		operator.must(t, "get", "customer:43", "--operator", "jdoe")
		operator.must(t, "list")
	})
}

// Goal: where the owner is gone, an administrator is told which account that was, and one command that mends everything. A view of a gone owner
// is not called another one than the one that was installed. Method: the account that has migrated is dropped, in its own database and before a
// restore into another one without procedures; an administrator looks with each command, and follows the advice once.
func TestGoneOwnerIsNamedWithTheWholeCommand(t *testing.T) {
	t.Parallel()
	onMySQL(t, func(t *testing.T, s server) {
		dsn, copied := s.newDatabase(t), s.newDatabase(t)
		operator, migrator := migratedBy(t, s, dsn, "s3cret")
		operator.must(t, "get", "customer:42", "--operator", "jdoe")
		dump := testdb.DumpMySQL(t, string(s), dsn)
		s.exec(t, dsn, "DROP USER "+migrator)
		s.run(t, copied, dump)
		for _, place := range []string{dsn, copied} {
			root := userOf(place)
			for _, command := range []string{"migrate status", "migrate up", "verify --look-only"} {
				got := root.run(t, strings.Fields(command)...)
				checkGoneOwner(t, command, migrator, got.code, got.stdout+got.stderr)
			}
			owner := s.newUser(t, place, "0wner")
			s.exec(t, place, "GRANT "+rightsOfAMigrator+" ON "+databaseOf(t, place)+".* TO "+owner)
			repaired := root.must(t, "migrate", "repair", "--owner", owner)
			if !strings.Contains(repaired.stdout, "has the rights of "+migrator+"@%") || strings.Contains(repaired.stdout, "installed: ") {
				t.Errorf("repair says %s", repaired.stdout)
			}
			root.must(t, "migrate", "status")
			root.must(t, "verify", "--look-only")
		}
		operator.run(t, "get", "customer:42", "--operator", "asmith").check(t, exitNo)
	})
}

// checkGoneOwner fails the test unless a command names the account that is gone, with the whole command and no other.
func checkGoneOwner(t *testing.T, command, gone string, code int, said string) {
	t.Helper()
	const advice = "mend it with: applockctl migrate repair"
	whole := strings.Count(said, "create an account NAME that can migrate and no more; "+advice+" --owner NAME\n")
	if code != exitNo || !strings.Contains(said, "each has the rights of "+gone+"@%, an account that does not exist; create ") ||
		whole == 0 || strings.Count(said, advice) != whole || strings.Contains(said, "not the one that was installed") {
		t.Errorf("%s: exit code %d: %s", command, code, said)
	}
}

// Goal: an account without administrative rights is not told to name another one, for it may be the owner itself. Method: the account that has
// migrated is dropped; another one that may migrate, and read which accounts exist, looks and follows the advice.
func TestPlainAccountBecomesTheOwner(t *testing.T) {
	t.Parallel()
	onMySQL(t, func(t *testing.T, s server) {
		dsn := s.newDatabase(t)
		migrator := randomName()
		s.exec(t, dsn, "CREATE USER "+migrator+" IDENTIFIED BY 's3cret'", "GRANT "+rightsOfAMigrator+" ON "+databaseOf(t, dsn)+".* TO "+migrator)
		userOf(withUser(t, dsn, migrator, "s3cret")).must(t, "migrate", "up")
		s.exec(t, dsn, "DROP USER "+migrator)
		name := s.newUser(t, dsn, "0wner")
		s.exec(t, dsn, "GRANT SELECT ON mysql.* TO "+name, "GRANT "+rightsOfAMigrator+" ON "+databaseOf(t, dsn)+".* TO "+name)
		plain := userOf(withUser(t, dsn, name, "0wner"))
		const advice = "an account that does not exist; mend it with: applockctl migrate repair\n"
		plain.run(t, "migrate", "status").check(t, exitNo, "each has the rights of "+migrator+"@%, "+advice)
		plain.must(t, "migrate", "repair")
		userOf(dsn).must(t, "migrate", "status")
	})
}

// withoutOwner migrates by an account that is dropped then. It returns an application's user, that account, and another one that may migrate,
// with the password 0wner.
func withoutOwner(t *testing.T, s server, dsn string) (operator user, gone, plain string) {
	t.Helper()
	operator, gone = migratedBy(t, s, dsn, "s3cret")
	s.exec(t, dsn, "DROP USER "+gone)
	plain = s.newUser(t, dsn, "0wner")
	s.exec(t, dsn, "GRANT "+rightsOfAMigrator+" ON "+databaseOf(t, dsn)+".* TO "+plain)
	return operator, gone, plain
}

// Goal: who sees the rights of an application and may not grant them loses none of them by a repair. Method: as above, with an application;
// afterwards an administrator repairs for that account.
func TestRepairWithoutTheRightToGrantChangesNothing(t *testing.T) {
	t.Parallel()
	onMySQL(t, func(t *testing.T, s server) {
		dsn := s.newDatabase(t)
		operator, _, name := withoutOwner(t, s, dsn)
		s.exec(t, dsn, "GRANT SELECT ON mysql.* TO "+name)
		granted := "SELECT COUNT(*) FROM mysql.procs_priv WHERE user = '" + userName(t, operator.environment[dsnVariable]) + "'"
		before := s.query(t, dsn, granted)
		userOf(withUser(t, dsn, name, "0wner")).run(t, "migrate", "repair").check(t, exitError, "denied")
		if after := s.query(t, dsn, granted); after != before {
			t.Errorf("the application may call %s procedures, want %s", after, before)
		}
		userOf(dsn).must(t, "migrate", "repair", "--owner", name)
		operator.must(t, "get", "customer:42", "--operator", "jdoe")
	})
}

// Goal: an account that may not read which accounts there are sees that the owner of the procedures is gone, and mends it. Method: as above,
// without that right; the application, whose rights it could not see, is granted them again.
func TestPlainAccountSeesThatTheOwnerIsGone(t *testing.T) {
	t.Parallel()
	onMySQL(t, func(t *testing.T, s server) {
		dsn := s.newDatabase(t)
		operator, migrator, name := withoutOwner(t, s, dsn)
		plain := userOf(withUser(t, dsn, name, "0wner"))
		plain.run(t, "migrate", "status").check(t, exitNo, "each has the rights of "+migrator+"@%, an account that does not exist")
		plain.must(t, "migrate", "repair")
		plain.must(t, "migrate", "status")
		userOf(dsn).must(t, "migrate", "status")
		userOf(dsn).must(t, "grant", "--to", userName(t, operator.environment[dsnVariable]), "--as", "operator")
		operator.must(t, "get", "customer:42", "--operator", "jdoe")
	})
}

// Goal: an account that may migrate and no more repairs an installation without procedures whose owner is gone, as after a restore on another
// server. Servers deny such an account the access to the views, in the words that they have for a wrong password. Method: the procedures and the
// account that has migrated are dropped; another one repairs; an application's get and list.
func TestRepairWithoutOwnerByAPlainAccount(t *testing.T) {
	t.Parallel()
	onMySQL(t, func(t *testing.T, s server) {
		dsn := s.newDatabase(t)
		operator, migrator := migratedBy(t, s, dsn, "s3cret")
		dump := testdb.DumpMySQL(t, string(s), dsn)
		s.exec(t, dsn, "DROP USER "+migrator)
		copied := s.newDatabase(t)
		s.run(t, copied, dump)
		name := s.newUser(t, dsn, "0wner")
		s.exec(t, copied, "GRANT "+rightsOfAMigrator+" ON "+databaseOf(t, copied)+".* TO "+name)
		plain := userOf(withUser(t, copied, name, "0wner"))
		plain.run(t, "migrate", "status").check(t, exitNo, "cannot be read: the account "+migrator+"@%, whose rights it has, seems not to exist any more",
			"mend it with: applockctl migrate repair\n")
		plain.must(t, "migrate", "repair")
		userOf(copied).must(t, "migrate", "status")
		app := userName(t, operator.environment[dsnVariable])
		userOf(copied).must(t, "grant", "--to", app, "--as", "operator")
		restored := userOf(withUser(t, copied, app, "s3cret"))
		restored.must(t, "get", "customer:42", "--operator", "jdoe")
		restored.must(t, "list")
	})
}

// Goal: an owner that may do nothing in the database, as after a restore into another one, is told, with what mends it. Method: the account that has
// migrated loses its rights there; an administrator looks, and does what is said.
func TestOwnerWithoutRightsIsTold(t *testing.T) {
	t.Parallel()
	onMySQL(t, func(t *testing.T, s server) {
		dsn := s.newDatabase(t)
		operator, migrator := migratedBy(t, s, dsn, "s3cret")
		defer s.exec(t, dsn, "DROP USER "+migrator)
		s.exec(t, dsn, "REVOKE ALL ON "+databaseOf(t, dsn)+".* FROM "+migrator)
		operator.run(t, "get", "customer:43", "--operator", "jdoe").check(t, exitError, "1370")
		statement := "GRANT SELECT, INSERT, UPDATE, DELETE, EXECUTE ON `" + databaseOf(t, dsn) + "`.* TO '" + migrator + "'@'%'"
		for _, args := range []string{"migrate status", "migrate repair"} {
			userOf(dsn).run(t, strings.Fields(args)...).check(t, exitNo, "account "+migrator+"@%", "lacks privileges on the database that procedures and views need, since they run with its rights: SELECT", statement)
		}
		s.exec(t, dsn, statement)
		userOf(dsn).must(t, "migrate", "status")
		operator.must(t, "get", "customer:43", "--operator", "jdoe")
	})
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
