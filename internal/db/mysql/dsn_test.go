package mysql_test

import (
	"strings"
	"testing"
	"time"

	"github.com/applock/applock/internal/db/mysql"
)

func TestAnErrorDoesNotTellThePassword(t *testing.T) {
	t.Parallel()
	for name, dsn := range map[string]string{
		"NotAURL":       "mysql://alice:s3cret@host:port:port/x",
		"NotAForm":      "alice:s3cret@host",
		"BadParameter":  "mysql://alice:s3cret@host/x?parseTime=s3cret", // only so is the reason hidden
		"OtherDatabase": "postgres://alice:s3cret@host:5432",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := mysql.ParseDSN(dsn)
			if err == nil || strings.Contains(err.Error(), "s3cret") || !strings.Contains(err.Error(), "mysql://USER:PASSWORD@") {
				t.Errorf("error = %v", err)
			}
		})
	}
}

// Goal: the client's own form is taken for MySQL's, and nothing else is. Method: one of each.
func TestRecognizes(t *testing.T) {
	t.Parallel()
	for dsn, want := range map[string]bool{
		"user:p@ss@tcp(127.0.0.1:3306)/db":    true,
		"user@tcp(db.example.org)/":           true,
		"user@unix(/run/mysqld.sock)/db":      true,
		"tcp(127.0.0.1:3306)/db":              true,
		"user:pass@/db":                       true,
		"mysql:secret@tcp(127.0.0.1:3306)/db": true,
		"user:p@ss@tcp(host)/db?timeout=x":    true,
		"applock.db":                          false,
		"/tmp/applock.db":                     false,
		"oracle://user@host/db":               false,
		"user@host":                           false,
		"":                                    false,
	} {
		if got := mysql.Recognizes(dsn); got != want {
			t.Errorf("Recognizes(%q) = %t, want %t", dsn, got, want)
		}
	}
}

// Goal: options are the client's, also those with a slash, which that wants escaped. Method: two of them.
func TestOptionsOfAURL(t *testing.T) {
	t.Parallel()
	config, err := mysql.ParseDSN("mysql://user@db.example.org/shop?loc=Europe/Berlin&timeout=3s")
	if err != nil {
		t.Fatal(err)
	}
	if config.Loc.String() != "Europe/Berlin" || config.Timeout != 3*time.Second {
		t.Errorf("loc %s, timeout %s, want Europe/Berlin and 3s", config.Loc, config.Timeout)
	}
}

// Goal: a URL may say either product's name, and a port may be left out. Method: the same address twice.
func TestURLOfEitherProduct(t *testing.T) {
	t.Parallel()
	for _, scheme := range mysql.Schemes() {
		config, err := mysql.ParseDSN(scheme + "://user:p%40ss@db.example.org/shop")
		if err != nil {
			t.Fatal(err)
		}
		if config.User != "user" || config.Passwd != "p@ss" || config.Addr != "db.example.org:3306" || config.DBName != "shop" {
			t.Errorf("%s: user %q at %q, database %q", scheme, config.User, config.Addr, config.DBName)
		}
	}
}
