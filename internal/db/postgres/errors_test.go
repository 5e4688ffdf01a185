package postgres_test

import (
	"database/sql"
	"database/sql/driver"
	"fmt"
	"testing"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/postgres"
)

// refusal is an error of the server in the words of another client than pgx.
type refusal string

func (r refusal) Error() string    { return "refused" }
func (r refusal) SQLState() string { return string(r) }

// Goal: errors by database/sql get their kinds with any of its drivers, and no call that may have been sent counts as not sent. Method:
// each kind of error.
func TestErrorsOfDatabaseSQL(t *testing.T) {
	t.Parallel()
	closed := sql.OpenDB(nil)
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		err  error
		want db.Kind
	}{
		{refusal("LK001"), db.KindInvalid},
		{fmt.Errorf("wrapped: %w", refusal("40P01")), db.KindRetry},
		{refusal("25P03"), db.KindRetry},
		{refusal("57014"), db.KindBusy},
		{refusal("57P01"), db.KindInFlight},
		{driver.ErrBadConn, db.KindInFlight},
		{sql.ErrTxDone, db.KindInFlight},
		{closed.PingContext(t.Context()), db.KindClosed},
	} {
		if kind := db.KindOf(postgres.InterpretError(test.err)); kind != test.want {
			t.Errorf("%v is of kind %d, want %d", test.err, kind, test.want)
		}
	}
}
