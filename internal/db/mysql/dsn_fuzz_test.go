package mysql_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/applock/applock/internal/db/mysql"
)

// Goal: user, password and database of a URL arrive unchanged, with any characters, and change nothing else. Method: each byte written as
// %XX, with an option after it.
func FuzzParseDSN(f *testing.F) {
	for _, secret := range []string{"s3cret", "p@ss:w/rd?x=y&tls=false#", "", "%zz", "\x00\xff", "')/?allowAllFiles=true", "p)/x", "日本"} {
		f.Add("root", secret, "applock")
		f.Add(secret, "p", secret)
	}
	f.Fuzz(func(t *testing.T, user, password, database string) {
		dsn := fmt.Sprintf("mysql://%s:%s@db.example.org:3307/%s?tls=true", escaped(user), escaped(password), escaped(database))
		config, err := mysql.ParseDSN(dsn)
		if err != nil {
			t.Fatalf("%q: %v", dsn, err)
		}
		if config.User != user || config.Passwd != password || config.DBName != database ||
			config.Addr != "db.example.org:3307" || config.TLSConfig != "true" || config.AllowAllFiles || len(config.Params) != 0 {
			t.Fatalf("%q: user %q, password %q, database %q, address %q, TLS %q, %v",
				dsn, config.User, config.Passwd, config.DBName, config.Addr, config.TLSConfig, config.Params)
		}
	})
}

func escaped(text string) string {
	var all strings.Builder
	for i := range len(text) {
		fmt.Fprintf(&all, "%%%02X", text[i])
	}
	return all.String()
}
