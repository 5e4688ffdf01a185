package migrate

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/applock/applock/internal/db"
)

// Holder keeps the server from removing old versions of rows.
type Holder struct {
	// Kind is the kind of thing, such as "session", and Name the server's name for it.
	Kind, Name string
	// User, Application and State describe a session, if known.
	User, Application, State string
	// Age is how long it has lasted, 0 if unknown. Transactions is the number begun since, 0 if not counted.
	Age          time.Duration
	Transactions int64
	// End is the SQL that ends it; empty if this server cannot.
	End string
}

// String describes the holder in one line, such as "session 4711 (user shop, from report, idle in transaction) for 2h0m0s and 1204
// transactions".
func (h Holder) String() string {
	var about, lasts []string
	for _, each := range []struct{ name, value string }{{"user ", h.User}, {"from ", h.Application}, {"", h.State}} {
		if each.value != "" {
			about = append(about, each.name+each.value)
		}
	}
	if h.Age > 0 || h.Transactions == 0 {
		lasts = append(lasts, h.Age.String())
	}
	if h.Transactions > 0 {
		lasts = append(lasts, fmt.Sprintf("%d transactions", h.Transactions))
	}
	return fmt.Sprintf("%s %s (%s) for %s", h.Kind, h.Name, strings.Join(about, ", "), strings.Join(lasts, " and "))
}

// Horizon is the result of LookForHolders: the holders, the oldest first.
type Horizon struct {
	Holders []Holder
	// Kept is the number of things kept, and KeptAre their name.
	Kept    int64
	KeptAre string
}

// LookForHolders returns the holders of old versions of rows, or errors.ErrUnsupported. It changes nothing.
func LookForHolders(ctx context.Context, target Target) (Horizon, error) {
	if target.Horizon == nil {
		return Horizon{}, errors.ErrUnsupported
	}
	conn, err := target.Conn(ctx)
	if err != nil {
		return Horizon{}, err
	}
	defer func() { _ = conn.Close() }() // returns it to the pool
	found, err := target.Horizon(ctx, conn)
	if db.KindOf(err) == db.KindPrivilege { // a missing right that a query has found, without a failed statement
		return found, err
	}
	return found, target.Interpret(ctx, err)
}

// ReadHolders reads holders from a query with one column per field of Holder, in order. Age is in seconds.
func ReadHolders(ctx context.Context, conn *sql.Conn, query string) ([]Holder, error) {
	holders, err := Read(ctx, conn, func(h *Holder) []any {
		return []any{&h.Kind, &h.Name, &h.User, &h.Application, &h.State, &h.Age, &h.Transactions, &h.End}
	}, query)
	for at := range holders {
		holders[at].Age *= time.Second
	}
	return holders, err
}
