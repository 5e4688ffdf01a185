//go:build !db2

package db2

import (
	"database/sql"
	"errors"
	"time"
)

// errNoClient is what a program says that was built without IBM's client, which needs cgo and is not free software.
var errNoClient = errors.New(`needs a build with IBM's Db2 client. "make build-db2" makes applockctl-db2, ` +
	"and fetches the client unless IBM_DB_HOME names its directory, with include and lib. " +
	"By hand: CGO_ENABLED=1 CGO_CFLAGS=-I$IBM_DB_HOME/include " +
	`CGO_LDFLAGS="-L$IBM_DB_HOME/lib -Wl,-rpath,$IBM_DB_HOME/lib" go build -tags db2 ./cmd/applockctl`)

// openPool checks the DSN, and can do no more.
func openPool(dsn string, _ time.Duration) (*sql.DB, error) {
	if _, err := connectionString(dsn); err != nil {
		return nil, err
	}
	return nil, errNoClient
}

// diagnose knows none of the errors: there is no client that could have made them.
func diagnose(error) (Diagnosis, bool) { return Diagnosis{}, false }
