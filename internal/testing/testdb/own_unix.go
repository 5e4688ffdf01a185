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
	return ownPostgres(t, nil, settings)
}

// StandbyOf is OwnPostgres for a hot standby of another one.
func StandbyOf(t testing.TB, primary *private.Server, settings string) *private.Server {
	t.Helper()
	return ownPostgres(t, primary, settings)
}

func ownPostgres(t testing.TB, primary *private.Server, settings string) *private.Server {
	t.Helper()
	setup := PostgresTool(t, "initdb")
	programs := private.Programs{Server: filepath.Join(filepath.Dir(setup), "postgres"), Setup: setup}
	server, err := private.Start(t.Context(), private.PostgresOnSocket(programs, primary, settings))
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
