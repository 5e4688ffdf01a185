package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What is wrong on a command line ends with code 2 and says what, and nothing on stdout.
func TestUsageErrors(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		args string
		want string
	}{
		{"", "applockctl: a command is missing\nRun 'applockctl --help' for usage.\n"},
		{"gett", "applockctl: unknown command \"gett\" for \"applockctl\"\nDid you mean this? get\nRun 'applockctl --help' for usage.\n"},
		{"gett customer:42 --operator o", "applockctl: unknown command \"gett\" for \"applockctl\"\nDid you mean this? get\n"},
		{"relase", "\nDid you mean this? release\n"},
		{"lock customer:42", "\nDid you mean this? get\n"},
		{"unlock customer:42", "\nDid you mean this? release\n"},
		{"mcp --help", "applockctl: unknown command \"mcp\" for \"applockctl\"\nRun "},
		{"migrate donw --help", "applockctl: migrate: unknown command \"donw\" for \"applockctl migrate\"\nDid you mean this? down\n"},
		{"xyzzy", "applockctl: unknown command \"xyzzy\" for \"applockctl\"\nRun "},
		{"migrate statsu", "applockctl: migrate: unknown command \"statsu\" for \"applockctl migrate\"\nDid you mean this? status\n" +
			"Run 'applockctl migrate --help' for usage.\n"},
		{"migrate pu --dry-run", "applockctl: migrate: unknown command \"pu\" for \"applockctl migrate\"\nDid you mean this? up\n"},
		{"help migrate donw", "unknown command \"donw\" for \"applockctl migrate\"\nDid you mean this? down\n"},
		{"migrate", "applockctl: migrate: a command is missing\nRun 'applockctl migrate --help' for usage.\n"},
		{"migrate sideways", `applockctl: migrate: unknown command "sideways"`},
		{"migrate up now", `applockctl: migrate up: unexpected argument "now"`},
		{"completion", "applockctl: completion: a command is missing"},
		{"completion csh", `unknown command "csh"`},
		{"help nothing", `unknown command "nothing"`},
		{"--nothing list", "applockctl: unknown flag: --nothing"},
		{"list --nothing", "applockctl: list: unknown flag: --nothing\nRun 'applockctl list --help' for usage.\n"},
		{"list everything", `applockctl: list: unexpected argument "everything"`},
		{"list --output xml", `"--output" flag: write table or json`},
		{"list --timeout 0s", `"--timeout" flag: at least 1s`},
		{"list --timeout", "flag needs an argument: --timeout"},
		{"get --operator o", "applockctl: get: the object is missing"},
		{"get customer:42 customer:43 --operator o", `unexpected argument "customer:43"`},
		{"get customer:42", `--operator must be given`},
		{"get customer --operator o", `applockctl: get: OBJECT "customer" is not TYPE:ID, such as customer:42`},
		{"get :42 --operator o", "applockctl: get :42: the type of OBJECT must not be empty"},
		{"get customer: --operator o", "applockctl: get customer:: the id of OBJECT must not be empty"},
		{"get customer:42 --operator=", "applockctl: get customer:42: --operator must not be empty"},
		{"get customer:42 --operator " + strings.Repeat("o", 256), "--operator has 256 characters"},
		{"get customer:42 --operator o --ttl 0s", `"--ttl" flag: at least 1s`},
		{"get customer:42 --operator o --ttl -1s", `"--ttl" flag: write a number and a unit`},
		{"get customer:42 --operator o --ttl 1500ms", `"--ttl" flag: write a number and a unit`},
		{"get customer:42 --operator o --ttl 3651d", `"--ttl" flag: at most 3650d`},
		{"transfer customer:42 --from o --to p --by boss --ttl 0d", `"--ttl" flag: at least 1s`},
		{"transfer customer:42", `--by, --from, --to must be given; $APPLOCK_OPERATOR may say who you are`},
		{"transfer customer:42 --by b --from o --to=", "--to must not be empty"},
		{"release customer:42", `--operator must be given`},
		{"release customer:42 --operator o --fence 0", `"--fence" flag: write a whole number from 1`},
		{"release customer:42 --operator o --fence -1", `"--fence" flag: write a whole number from 1`},
		{"release customer:42 --operator o --fence x", `"--fence" flag: write a whole number from 1`},
		{"inquire", "applockctl: inquire: the object is missing"},
		{"purge --batch 0", `"--batch" flag: write a whole number from 1 to 10000`},
		{"purge --batch 10001", `"--batch" flag: write a whole number from 1 to 10000`},
		{"purge --older-than 0s", `"--older-than" flag: at least 1s`},
		{"purge --older-than 30", `"--older-than" flag: write a number and a unit`},
		{"migrate print --dialect mysql --schema A;b", `schema "A;b": must have`},
		{"list --dsn u@tcp(h)/db --schema A", `applockctl: list: open: --schema "A": must have`},
		{"list --dsn mysql://u@h/db?tls=x", "applockctl: list: open: the DSN cannot be used: invalid value / unknown config name: x"},
		{"run a:1 --operator o --ttl 2s --grace 1s -- true", "--grace is given, so --ttl must be at least 3s"},
		{"list --dsn postgres://u:p@h/db?ssl-mode=require", "the DSN has the unknown option ssl-mode: write sslmode"},
		{"list --dsn postgres://u:Zq7x@h/db?sslmode=require&sslrootcert=/no/ca.pem", "unable to read CA file: open /no/ca.pem"},
		{"list --dsn mysql://u:p@h/db?ssl-mode=REQUIRED", "the DSN has the unknown option ssl-mode: for TLS write tls=true"},
		{"list --dsn mysql://u:Zq7x@h/db?ssl-ca=/no/ca.pem", "the DSN has an unreadable ssl-ca: open /no/ca.pem"},
		{"list --dsn mysql://u:p@::1:3306/db", "the DSN has an IPv6 address without brackets"},
		{"list --dsn mysql://u:p@h,i/db", "the DSN names several hosts"},
		{"list --dsn mysql://u:p@unix(/s)/db", "the DSN has a network in a URL"},
		{"list --dsn sqlite::memory:", "the DSN is a database in memory"},
		{"list --dsn mysql://u:p@q@h/db", "write special characters of the password as %XX, such as @ as %40 and / as %2F, and an IPv6 address as [::1]\n"},
		{"migrate print --dialect oracle", `dialect "oracle" must be one of postgres, `},
		{"migrate print --dialect db2 --schema A;b", `schema "A;b": must have`},
		{"migrate print --dialect db2 --platform as400", `platform "as400" must be one of luw, zos`},
		{"migrate print --dialect mysql --platform zos", `must be empty for mysql, which has one script for all platforms, and not "zos"`},
		{"migrate print --dialect postgres --schema A;b", `schema "A;b": must have`},
		{"migrate print --dsn oracle:x", "the DSN must begin with"},
		{"list --schema x", `schema "x": this dialect has no schemas`},
		{"demo --schema x", "schema cannot be chosen"},
		{"demo --dsn oracle:x", "applockctl: demo: the DSN must begin with"},
		{"list --dsn=", "applockctl: list: the DSN is missing: write --dsn DSN, or set APPLOCK_DSN or APPLOCK_DSN_FILE"},
		{"list --dsn=x", "applockctl: list: open: the DSN must begin with postgres:, "},
		{"list --dsn sqlite://foo.db", "applockctl: list: open: the DSN has a host, and a file has none: write the path behind the colon, such as sqlite:applock.db"},
		{"list --dsn sqlite:", "applockctl: list: open: the DSN"},
		{"version --dsn oracle:x", "applockctl: version: open: the DSN must begin with"},
	} {
		t.Run(test.args, func(t *testing.T) {
			t.Parallel()
			got := fileUser(t).run(t, strings.Fields(test.args)...)
			got.check(t, exitUsage, test.want)
			if !strings.Contains(got.stderr, "\nRun 'applockctl") {
				t.Errorf("no word about the help: %s", got.stderr)
			}
			if got.stdout != "" && !strings.HasPrefix(test.args, "version") {
				t.Errorf("stdout: %s", got.stdout)
			}
		})
	}
}

// A mistake that cobra finds creates no database.
func TestUsageErrorCreatesNothing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "applock.db")
	for _, args := range [][]string{{"get", "customer:42"}, {"migrate", "print"}, {"get", "42", "--operator", "o"}, {"--help"}} {
		userOf("sqlite:"+path).run(t, args...)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("%s exists: %v", path, err)
	}
}
