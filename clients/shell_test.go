package clients_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Goal: an answer that the shell's functions do not know is neither yes nor no, and a misuse is refused before the database is asked.
// Method: a client that is a function answers what no database does, or must not be called.
func TestShellAnswersAreKnown(t *testing.T) {
	t.Parallel()
	for name, each := range map[string]struct {
		answer, call string
		want         string
	}{
		"granted":               {`Y\tACQUIRED\t\t\t7`, `applock_get a 1 JDOE`, "0 true 7 "},
		"a flag says otherwise": {`Y\tHELD\tJDOE\t\t0`, `applock_get a 1 JDOE`, "1 false 0 "},
		"an unknown outcome":    {`Y\tQUEUED\t\t\t7`, `applock_get a 1 JDOE`, "4   applock: get_appl_lock answers QUEUED, which is new: copy the applock.bash of the version in the database"},
		"in a list":             {`a\t1\tQUEUED\t`, `applock_release_all JDOE >/dev/null`, "4   applock: release_appl_locks answers QUEUED, which is new: copy the applock.bash of the version in the database"},
		"refused in a list":     {`a\t1\tRENEWED\t\na\t2\tHELD\tJDOE`, `applock_renew a 1 JDOE 7 60 a 2 JDOE 7 60 >/dev/null`, "1   "},
		"a renewal is missing":  {`a\t1\tRENEWED\t`, `applock_renew a 1 JDOE 7 60 a 2 JDOE 7 60 >/dev/null`, "1   "},
		"all renewed":           {`a\t1\tRENEWED\t`, `applock_renew a 1 JDOE 7 60 >/dev/null`, "0   "},
		"full":                  {`FULL\ta#1\tJDOE\tCS\t7\t\t60\t`, `applock_permit a 1 1 KIM`, "1 false  "},
		"who has lost it":       {`Y\tTAKEN\tJDOE\tCS\t7`, `applock_take a 1 BOSS "" ill && echo "${lock[former]}" "${lock[holder]:-nobody}"`, "JDOE nobody\n0 true 7 "},
		"an older contract":     {`0`, `applock_check`, "4   applock: the database has contract 0, and applock.bash needs 1: applockctl migrate up"},
		"assert without SQL":    {`Y`, `applock_assert a 1 JDOE 7`, "2   applock_assert: the SQL for the same transaction is missing"},
		"serialize in vain":     {`Y`, `applock_serialize a 1 " ; "`, "2   applock_serialize: the SQL for the same transaction is missing"},
		"a ttl that is none":    {`Y`, `applock_renew a 1 JDOE 7 60s`, "2   applock_renew: ttl_seconds must be a whole number, not 60s"},
		"half a grant":          {`Y`, `applock_renew a 1 JDOE`, "2   applock_renew: each grant has five arguments"},
		"no such view":          {`Y`, `applock_read appl_locks_live`, "2   applock_read: there is no view appl_locks_live"},
	} {
		script := `source shell/applock.bash
			messages=$(mktemp)
			psql_function() { cat >/dev/null; printf '` + each.answer + `\n'; }
			applock_client=(psql_function)
			{ ` + each.call + `; } 2>"$messages"
			echo "$? ${lock[granted]-} ${lock[fence]-} $(<"$messages")"
			rm "$messages"`
		command := exec.CommandContext(t.Context(), "bash", "-c", script)
		output, err := command.CombinedOutput()
		if got := strings.TrimSuffix(string(output), "\n"); err != nil || got != each.want {
			t.Errorf("%s: %v, %q, want %q", name, err, got, each.want)
		}
	}
}

// Goal: the SQL behind a failed assertion does not run, also where the user's file has the client go on after errors and commit
// nothing. Method: such a file in the home of a script that asserts another grant than the lock's.
func TestShellClientStopsAtAFailedAssertion(t *testing.T) {
	t.Parallel()
	onMySQLClient := func(d driver) bool { return d.language.folder == "shell" && d.name != "psql" }
	eachDriver(t, onMySQLClient, func(t *testing.T, d driver, at place) {
		t.Helper()
		home := t.TempDir()
		settings := "[client]\ninit-command=SET autocommit=0\n[mysql]\nforce\n"
		if err := os.WriteFile(filepath.Join(home, ".my.cnf"), []byte(settings), 0o600); err != nil {
			t.Fatal(err)
		}
		command := exec.CommandContext(t.Context(), "bash", "-c", `source shell/applock.bash
			applock_client=("$0" --protocol=tcp --user="$MYSQL_USER" "$MYSQL_DATABASE")
			applock_get customer 42 JDOE && fence=${lock[fence]}
			applock_assert customer 42 JDOE "$fence" "CREATE TABLE written (n INT)"
			applock_assert customer 42 JDOE 1 "INSERT INTO written VALUES (1)" 2>/dev/null
			echo $? "$applock_sqlstate"
			applock_serialize customer 42 "SELECT COUNT(*) FROM written"`, d.name)
		command.Env = environment(append(at.environment, "HOME="+home)...)
		if output, err := command.CombinedOutput(); err != nil || string(output) != "5 LK002\n0\n" {
			t.Errorf("%v, %q", err, output)
		}
	})
}
