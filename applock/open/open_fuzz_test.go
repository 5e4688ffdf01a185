package open_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/open"
)

// Goal: whatever a DSN is, it is refused as an invalid argument or makes a client, and a refusal repeats nothing of what may be the password.
// Method: a secret in any place of any text, but the path of a file, which is none.
func FuzzByDSN(f *testing.F) {
	for _, around := range [][2]string{
		{"postgres://jdoe:", "@127.0.0.1:1/crm?sslmode=disable"},
		{"postgres://jdoe:", "@127.0.0.1:port/crm"},
		{"postgres://127.0.0.1:1/crm?sslmode=nonsense&password=", ""},
		{"postgres://jdoe:p@", ":p@127.0.0.1/crm"},
		{"postgres://jdoe:", ""},
		{"postgres://jdoe:70000/", ""},
		{"postgresql://jdoe:%", "@127.0.0.1/crm"},
		{"mysql://jdoe:", "@127.0.0.1:1/crm?tls=nonsense"},
		{"mysql://jdoe:p/", "@127.0.0.1:1/crm"},
		{"mariadb://jdoe:p@127.0.0.1:1/crm?password=", ""},
		{"jdoe:", "@tcp(127.0.0.1:1)/crm"},
		{"jdoe:", "@tcp(127.0.0.1:1/crm"},
		{"jdoe:", "@udp(127.0.0.1:1)/crm?tls=x"},
		{"db2://jdoe:", "@127.0.0.1:1/CRM?Security=nonsense"},
		{"db2://jdoe:p@127.0.0.1:1/CRM?PWD=", ""},
		{"oracle://jdoe:", "@127.0.0.1"},
		{"", ""},
		{"\x00", "\xff"},
	} {
		f.Add(around[0], around[1])
	}
	const secret = "Zq7xSecret"
	f.Fuzz(func(t *testing.T, before, after string) {
		dsn := before + secret + after
		if strings.HasPrefix(dsn, "sqlite:") || !mayBePassword(before) {
			return
		}
		client, err := open.ByDSN(t.Context(), dsn, open.Config{})
		if err == nil {
			_ = client.Close()
			return
		}
		if !errors.Is(err, applock.ErrInvalid) || strings.Contains(err.Error(), secret) {
			t.Fatalf("%q: %v", dsn, err)
		}
	})
}

// mayBePassword reports whether what stands behind a text may be a password: behind the colon of a user, or as the value of an option.
func mayBePassword(before string) bool {
	_, rest, found := strings.Cut(before, "://")
	if !found {
		return true
	}
	user, _, _ := strings.Cut(rest, "@")
	user, _, _ = strings.Cut(user, "/")
	return strings.Contains(user, ":") || strings.HasSuffix(strings.ToLower(before), "password=") || strings.HasSuffix(before, "PWD=")
}
