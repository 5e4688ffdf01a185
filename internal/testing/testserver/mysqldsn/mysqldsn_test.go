package mysqldsn_test

import (
	"strings"
	"testing"

	mysqldriver "github.com/applock/applock/internal/db/mysql"
	"github.com/applock/applock/internal/testing/testserver/mysqldsn"
)

func TestParseAndFormat(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ dsn, user, password, addr, database, url string }{
		"URL": {
			"mysql://root:secret@127.0.0.1:3307/applock",
			"root", "secret", "127.0.0.1:3307", "applock",
			"mysql://root:secret@127.0.0.1:3307/applock",
		},
		"DefaultPort": {
			"mysql://root@db.example.org/applock",
			"root", "", "db.example.org:3306", "applock",
			"mysql://root:@db.example.org:3306/applock",
		},
		"NoDatabase": {
			"mysql://root:secret@127.0.0.1:3307",
			"root", "secret", "127.0.0.1:3307", "",
			"mysql://root:secret@127.0.0.1:3307/",
		},
		"Escapes": {
			"mysql://r%40t:p%3A%2F%40%23@[::1]:3307/a%20b",
			"r@t", "p:/@#", "[::1]:3307", "a b",
			"mysql://r%40t:p%3A%2F%40%23@[::1]:3307/a%20b",
		},
		"Parameters": {
			"mysql://root:secret@127.0.0.1:3307/applock?parseTime=true&tls=skip-verify",
			"root", "secret", "127.0.0.1:3307", "applock",
			"mysql://root:secret@127.0.0.1:3307/applock?parseTime=true&tls=skip-verify",
		},
		"DriversOwnForm": {
			"root:p@s:/s@tcp(db.example.org:3307)/applock?parseTime=true",
			"root", "p@s:/s", "db.example.org:3307", "applock",
			"mysql://root:p%40s%3A%2Fs@db.example.org:3307/applock?parseTime=true",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config, err := mysqldriver.ParseDSN(test.dsn)
			if err != nil {
				t.Fatal(err)
			}
			if config.User != test.user || config.Passwd != test.password || config.Addr != test.addr || config.DBName != test.database {
				t.Errorf("user %q, password %q, address %q, database %q", config.User, config.Passwd, config.Addr, config.DBName)
			}
			if got, err := mysqldsn.Format(config); err != nil || got != test.url {
				t.Errorf("Format() = %q, %v, want %q", got, err, test.url)
			}
		})
	}
}

func TestASocketHasNoURL(t *testing.T) {
	t.Parallel()
	config, err := mysqldriver.ParseDSN("alice:s3cret@unix(/run/mysqld.sock)/x")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := mysqldsn.Format(config); err == nil || !strings.Contains(err.Error(), "not reached by TCP") {
		t.Errorf("error = %v", err)
	}
}
