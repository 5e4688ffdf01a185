package main

import (
	"regexp"
	"strings"
	"testing"
)

// commandsIn returns the commands that a message prints, as a person copies them: up to a comma, a colon, a semicolon or the end of the line.
func commandsIn(message string) [][]string {
	var commands [][]string
	for _, found := range regexp.MustCompile(`(?m)\bapplockctl ([a-z][^,:;\n]*)`).FindAllStringSubmatch(message, -1) {
		commands = append(commands, strings.Fields(found[1]))
	}
	return commands
}

// obey runs the commands of a message by the account that they are for, and fails if there are none.
func obey(t *testing.T, account user, message string) {
	t.Helper()
	commands := commandsIn(message)
	if len(commands) == 0 {
		t.Fatalf("no command in %q", message)
	}
	for _, command := range commands {
		account.must(t, command...)
	}
}

// Goal: advice is a command that works. Method: each situation is provoked, the command that stderr prints is run to the letter by the account that it
// is for, and what was refused works then.
func TestAdviceWorks(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, s server) {
		dsn := s.newDatabase(t)
		administrator := userOf(dsn)
		owner := userOf(s.newOwner(t, dsn))
		name := s.newUser(t, dsn, "secret")
		program := userOf(withUser(t, dsn, name, "secret"))

		t.Log("not installed")
		obey(t, owner, owner.run(t, "list").stderr)
		owner.must(t, "list")
		if s.isMySQL() {
			administrator.must(t, "grant", "--to", name, "--as", "janitor") // otherwise the server hides the database itself
		}
		for _, refused := range []struct{ command, role string }{
			{"list", "auditor"},
			{"get customer:1 --operator jdoe", "operator"},
			{"take customer:1 --operator boss --reason ill", "supervisor"},
			{"policy set customer --default-ttl 1h --by boss", "administrator"},
		} {
			command := strings.Fields(refused.command)
			got := program.run(t, command...)
			got.check(t, exitError, "applockctl grant --to "+name, "--as "+refused.role)
			obey(t, administrator, got.stderr)
			program.must(t, command...)
		}

		t.Log("down takes the rights")
		down := owner.must(t, "migrate", "down", "--force")
		owner.must(t, "migrate", "up")
		program.run(t, "get", "customer:2", "--operator", "jdoe").check(t, exitError)
		obey(t, administrator, down.stderr)
		program.must(t, "get", "customer:2", "--operator", "jdoe")
		program.must(t, "take", "customer:2", "--operator", "boss", "--reason", "ill")
	})
}

// Goal: an alert with the wrong account sounds. Method: verify --look-only as an auditor, who may not see the steps.
func TestAlertOfAnAuditorFails(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, s server) {
		dsn := s.installedDatabase(t)
		name := s.newUser(t, dsn, "secret")
		userOf(dsn).must(t, "grant", "--to", name, "--as", "auditor")
		got := userOf(withUser(t, dsn, name, "secret")).run(t, "verify", "--look-only")
		if got.code != exitNo || !strings.Contains(got.stdout, "cannot be checked") || strings.Contains(got.stdout, "no step is known") {
			t.Errorf("exit code %d\n%s%s", got.code, got.stdout, got.stderr)
		}
	})
}
