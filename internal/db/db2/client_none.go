//go:build !db2

package db2

import (
	"database/sql"
	"errors"
	"time"
)

// errNoClient is the error of a program built without IBM's client, which needs cgo and is not free software.
var errNoClient = errors.New(`needs a build with IBM's Db2 client. "make build-db2" makes applockctl-db2, ` +
	"and fetches the client unless IBM_DB_HOME names its directory, with include and lib. " +
	"By hand: CGO_ENABLED=1 CGO_CFLAGS=-I$IBM_DB_HOME/include " +
	`CGO_LDFLAGS="-L$IBM_DB_HOME/lib -Wl,-rpath,$IBM_DB_HOME/lib" go build -tags db2 ./cmd/applockctl`)

// openPool only checks the DSN.
func openPool(dsn string, _ time.Duration) (*sql.DB, error) {
	if _, err := connectionString(dsn); err != nil {
		return nil, err
	}
	return nil, errNoClient
}

// diagnose recognizes no error: without a client there are none.
func diagnose(error) (Diagnosis, bool) { return Diagnosis{}, false }
