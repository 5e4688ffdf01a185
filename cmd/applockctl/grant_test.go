package main

import (
	"errors"
	"strings"
	"testing"
)

// Goal: a role's rights are given in one command, in the schema that is in use, and are those of that role only. Method: a
// user of the server who is granted each role calls as the user, in the database of the DSN and in a schema that is named.
func TestGrant(t *testing.T) {
	t.Parallel()
	calls := map[string][]string{
		"get":      {"get", "customer:42", "--operator", "jdoe"},
		"inquire":  {"inquire", "customer:41"},
		"list":     {"list"},
		"waiters":  {"list", "--waiting"},
		"transfer": {"transfer", "customer:41", "--from", "jdoe", "--to", "asmith", "--by", "boss"},
		"purge":    {"purge"},
	}
	roles := map[string]string{
		"operator":   "get inquire list waiters",
		"supervisor": "get inquire list waiters transfer",
		"auditor":    "inquire list waiters",
		"janitor":    "purge",
	}
	onServers(t, func(t *testing.T, s server) {
		for _, schema := range []string{"", s.newSchema(t, s.newDatabase(t))} {
			dsn := s.newDatabase(t)
			owner := userOf(dsn)
			in := func(args ...string) []string { return append([]string{"--schema", schema}, args...) }
			owner.must(t, in("migrate", "up")...)
			for role, allowed := range roles {
				name := s.newUser(t, dsn, "secret")
				owner.must(t, in("grant", "--to", name, "--as", role)...)
				somebody := userOf(withUser(t, dsn, name, "secret"))
				if schema != "" && s.isMySQL() {
					somebody = userOf(withDatabase(t, somebody.environment[dsnVariable], schema))
				}
				for call, args := range calls {
					got := somebody.run(t, in(args...)...)
					if may := strings.Contains(allowed+" ", call+" "); may != (got.code <= exitNo) {
						t.Errorf("in schema %q the %s's %s: exit code %d, %s", schema, role, call, got.code, got.stderr)
					}
				}
			}
		}
	})
}

// Goal: an account that there is not is named as that. Method: a grant to nobody.
func TestGrantToNobody(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, s server) {
		u := userOf(s.lentDatabase(t))
		u.run(t, "grant", "--to", "nobody_of_that_name", "--as", "operator").check(t, exitUsage, `--to is no account of this server: "nobody_of_that_name"; create it first, or name it as the server does: `)
		u.run(t, "revoke", "--from", "nobody_of_that_name").check(t, exitUsage, `--from is no account of this server: "nobody_of_that_name"; `)
	})
}

// Goal: whoever is revoked may do nothing any more, whatever roles they had, and others keep theirs. Method: a user of two roles
// and one of one; the same again, which is no error.
func TestRevoke(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, s server) {
		dsn := s.installedDatabase(t)
		owner := userOf(dsn)
		leaver, stayer := s.newUser(t, dsn, "secret"), s.newUser(t, dsn, "secret")
		owner.must(t, "grant", "--to", leaver, "--as", "supervisor")
		owner.must(t, "grant", "--to", leaver, "--as", "janitor")
		owner.must(t, "grant", "--to", stayer, "--as", "operator")
		if got := owner.must(t, "revoke", "--from", leaver, "--print"); !strings.Contains(got.stdout, "REVOKE") || !strings.Contains(got.stdout, leaver) {
			t.Errorf("it prints %s", got.stdout)
		}
		userOf(withUser(t, dsn, leaver, "secret")).must(t, "list")
		for range 2 {
			if got := owner.must(t, "revoke", "--from", leaver); !strings.Contains(got.stdout, "REVOKED") {
				t.Errorf("it answers %s", got.stdout)
			}
		}
		for _, args := range []string{"list", "purge", "get customer:42 --operator jdoe", "transfer customer:42 --from jdoe --to asmith --by boss", "inquire customer:42"} {
			userOf(withUser(t, dsn, leaver, "secret")).run(t, strings.Fields(args)...).check(t, exitError)
		}
		userOf(withUser(t, dsn, stayer, "secret")).must(t, "get", "customer:42", "--operator", "jdoe")
	})
	sqliteUser(t).run(t, "revoke", "--from", "jdoe").check(t, exitUsage, "revoke: the DSN is of sqlite, ")
}

// Goal: GRANTED and REVOKED are told only if the rights are as they say; if not, nothing was changed, and the SQL that is told mends it. Method:
// on PostgreSQL, which only warns, a schema of another role, rights that another role has granted, and a grant by an account with its own
// rights only. The same where an answer cannot be printed.
func TestGrantNeedsTheOwner(t *testing.T) {
	t.Parallel()
	s, full := postgresServer, errors.New("disk full")
	dsn := s.newDatabase(t)
	other, dba := userName(t, s.newOwner(t, dsn)), userName(t, s.newOwner(t, dsn))
	granter, app := s.newUser(t, dsn, "secret"), s.newUser(t, dsn, "secret")
	s.exec(t, dsn, "CREATE SCHEMA applock AUTHORIZATION "+other, "GRANT ALL ON SCHEMA applock TO "+dba)
	owner, user := userOf(withUser(t, dsn, dba, "0wner")), userOf(withUser(t, dsn, app, "secret"))
	owner.run(t, "migrate", "up").check(t, exitNo) // it tells that the schema is not the owner's
	as := func(role string) func(string) {
		return func(statement string) { s.exec(t, dsn, "SET ROLE "+role+"; "+statement+"; RESET ROLE") }
	}
	grant := []string{"grant", "--to", app, "--as", "operator"}
	refused := owner.run(t, grant...)
	refused.check(t, exitError, "nothing was granted: "+app+" lacks USAGE on schema applock of "+other+"; let "+other+" or a superuser run: GRANT USAGE ON SCHEMA applock TO "+app+"\n")
	obeySQL(t, as(other), refused.stderr, "nothing was granted: %s lacks %s of %s; let %[3]s or a superuser run: GRANT %s TO %s")
	user.run(t, "list").check(t, exitError) // the rest was rolled back
	owner.checkUnprinted(t, full, true, grant...)
	user.must(t, "get", "customer:42", "--operator", "jdoe")

	s.exec(t, dsn, "GRANT USAGE ON SCHEMA applock TO "+granter+" WITH GRANT OPTION", "GRANT EXECUTE ON ALL ROUTINES IN SCHEMA applock TO "+granter+" WITH GRANT OPTION",
		"SET ROLE "+granter+"; GRANT EXECUTE ON ALL PROCEDURES IN SCHEMA applock TO "+app+"; RESET ROLE")
	refused = owner.run(t, "revoke", "--from", app)
	refused.check(t, exitError, "nothing was revoked: "+app+" has EXECUTE on ", " from "+granter+"; let "+granter+" run: REVOKE EXECUTE ON ROUTINE applock.")
	obeySQL(t, as(granter), refused.stderr, "%s has %s from %s; let %[3]s run: REVOKE %s FROM %s")
	user.must(t, "list")
	owner.checkUnprinted(t, full, true, "revoke", "--from", app)
	user.run(t, "list").check(t, exitError)

	s.exec(t, dsn, "GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA applock TO PUBLIC")
	owner.checkUnprinted(t, full, true, "migrate", "repair")
	s.exec(t, dsn, "SET ROLE "+granter+"; GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA applock TO PUBLIC; RESET ROLE")
	owner.run(t, grant...).check(t, exitError, "nothing was granted: PUBLIC has EXECUTE on ")
	if got := owner.run(t, "migrate", "repair"); got.code != exitNo || strings.Contains(got.stdout, "REPAIRED") {
		t.Errorf("exit code %d: %s", got.code, got.stdout)
	}
}

// Goal: who lacks what an upgrade has brought is named, with the command that gives it; that command is all it takes.
// Method: an operator's right to one operation is taken, and the migrating commands are run.
func TestMissingGrantsAreNamed(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, s server) {
		dsn := s.newDatabase(t)
		owner := userOf(dsn)
		s.installAsOwner(t, dsn)
		name := s.newUser(t, dsn, "secret")
		owner.must(t, "grant", "--to", name, "--as", "operator")
		if got := owner.must(t, "migrate", "status"); got.stderr != "" {
			t.Errorf("with all grants: %s", got.stderr)
		}
		routine, kind := databaseOf(t, dsn)+".renew_appl_locks", "PROCEDURE"
		if !s.isMySQL() {
			routine, kind = "applock.renew_appl_locks", "FUNCTION"
		}
		s.exec(t, dsn, "REVOKE EXECUTE ON "+kind+" "+routine+" FROM "+name)
		for _, command := range []string{"status", "up"} {
			got := owner.must(t, "migrate", command)
			if !strings.Contains(got.stderr, ", as operator, may not call renew_appl_locks; grant it with: applockctl grant --to "+name) {
				t.Errorf("migrate %s does not name the missing grant: %s", command, got.stderr)
			}
		}
		obey(t, owner, owner.run(t, "migrate", "status").stderr, "%s, as %s, may not call %s; grant it with: %s")
		if got := owner.must(t, "migrate", "status"); got.stderr != "" {
			t.Errorf("after granting again: %s", got.stderr)
		}
	})
}

// Goal: the account that has the rights to migrate on MySQL and MariaDB, and no others, is told in one line that it cannot
// see grants, and cron is not; what it may not grant is an error. Method: such an account on each product.
func TestMigratorWhoMayNotSeeGrants(t *testing.T) {
	t.Parallel()
	onMySQL(t, func(t *testing.T, s server) {
		dsn := s.newDatabase(t)
		name := s.newUser(t, dsn, "secret")
		s.letIn(t, dsn, name)
		migrator := userOf(withUser(t, dsn, name, "secret"))
		if got := migrator.must(t, "migrate", "up", "--quiet"); got.stderr != "" {
			t.Errorf("migrate up --quiet says %s", got.stderr)
		}
		const unseen = "cannot tell which accounts lack a grant, and what the owners of procedures and views may do: this account may not read the database mysql; " +
			"let an administrator run: applockctl verify\n"
		if got := migrator.must(t, "migrate", "status"); got.stderr != unseen {
			t.Errorf("migrate status says %s", got.stderr)
		}
		repaired := migrator.must(t, "migrate", "repair")
		if !strings.HasSuffix(repaired.stderr, unseen) {
			t.Errorf("migrate repair says %s", repaired.stderr)
		}
		verified := obey(t, userOf(dsn), repaired.stderr, "cannot tell which accounts lack a grant, and what the owners of procedures and views may do: this account may not read the database mysql; let an administrator run: %s")
		if verified.code != exitYes || !strings.Contains(verified.stdout, "no account has only a part of a role's rights") {
			t.Errorf("verify says %s", verified.stdout)
		}
		app := s.newUser(t, dsn, "secret")
		userOf(dsn).must(t, "grant", "--to", app, "--as", "operator")
		down := migrator.must(t, "migrate", "down", "--force")
		migrator.must(t, "migrate", "up")
		verified = obey(t, userOf(dsn), down.stderr, "%s: %s: programs have lost their rights to what was removed, and this account may not read which; \"migrate up\" grants none: then an administrator finds those that had more with: %s")
		obey(t, userOf(dsn), verified.stdout, "mend it with: ...")
		userOf(withUser(t, dsn, app, "secret")).must(t, "get", "customer:42", "--operator", "jdoe")
		refused := migrator.run(t, "grant", "--to", name, "--as", "auditor")
		refused.check(t, exitError, "a privilege is missing", "; the account that grants needs GRANT OPTION, as administrators have; the account that migrates does not\n")
		if strings.Contains(refused.stderr, "applockctl grant") {
			t.Errorf("whoever may not grant is told to grant: %s", refused.stderr)
		}
	})
}

// Goal: SQLite, where there are no rights, says so, and a printed grant needs no database. Method: both.
func TestGrantWithoutAServer(t *testing.T) {
	t.Parallel()
	sqliteUser(t).run(t, "grant", "--to", "cron", "--as", "janitor").check(t, exitUsage, "applockctl: grant: the DSN is of sqlite, which has no rights to grant")
	got := user{}.must(t, "--schema", "locks", "grant", "--to", "cron", "--as", "janitor", "--print", "--dialect", "postgres")
	if !strings.Contains(got.stdout, "GRANT EXECUTE ON PROCEDURE\n    locks.purge_appl_locks\n    TO cron;\n") {
		t.Errorf("printed %s", got.stdout)
	}
}
