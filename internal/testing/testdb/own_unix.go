//go:build unix

package testdb

import (
	"path/filepath"
	"testing"

	"github.com/applock/applock/internal/testing/private"
)

// OwnPostgres starts a PostgreSQL for one test, with additional settings, and stops it when the test ends. It is reached by a socket. Without a
// server's programs next to psql the test ends as in Require.
func OwnPostgres(t testing.TB, settings string) *private.Server {
	t.Helper()
	return own(t, private.PostgresOnSocket(postgresPrograms(t), nil, settings))
}

// StandbyOf is OwnPostgres for a hot standby of another one.
func StandbyOf(t testing.TB, primary *private.Server, settings string) *private.Server {
	t.Helper()
	return own(t, private.PostgresOnSocket(postgresPrograms(t), primary, settings))
}

// OwnTLS starts a server of any product for one test, with a certificate and its key in PEM, and stops it when the test ends. It returns its
// DSN, of the superuser. Without a server's programs beside the client the test ends as in Require.
func OwnTLS(t testing.TB, product, certificate, key string) string {
	t.Helper()
	if product == dialectPostgres {
		return own(t, private.Postgres(postgresPrograms(t)).WithTLS(certificate, key)).DSN()
	}
	return own(t, mysqlKind(t, product).WithTLS(certificate, key)).DSN()
}

func postgresPrograms(t testing.TB) private.Programs {
	t.Helper()
	setup := PostgresTool(t, "initdb")
	return private.Programs{Server: filepath.Join(filepath.Dir(setup), "postgres"), Setup: setup}
}

// own starts a server, and stops it when the test ends.
func own(t testing.TB, kind private.Kind) *private.Server {
	t.Helper()
	server, err := private.Start(t.Context(), kind)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	return server
}
