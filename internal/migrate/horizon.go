package migrate

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/applock/applock/internal/db"
)

// Holder keeps the server from removing former versions of rows.
type Holder struct {
	// Kind is what it is, such as "session", and Name by which name the server knows it.
	Kind, Name string
	// User, Application and State are those of a session, as far as it has them.
	User, Application, State string
	// Age is for how long it has, 0 where the server does not tell; Transactions is how many have begun since, 0 where nothing counts them.
	Age          time.Duration
	Transactions int64
	// End is the SQL that ends it.
	End string
}

// Horizon is who holds former versions of rows, the oldest first.
type Horizon struct {
	Holders []Holder
	// Kept is how much is kept, and KeptAre what that counts.
	Kept    int64
	KeptAre string
}

// LookForHolders tells who holds former versions of rows, or errors.ErrUnsupported. It changes nothing.
func LookForHolders(ctx context.Context, target Target) (Horizon, error) {
	if target.Horizon == nil {
		return Horizon{}, errors.ErrUnsupported
	}
	conn, err := target.DB.Conn(ctx)
	if err != nil {
		return Horizon{}, db.NotSent(ctx, target.Interpret(ctx, err))
	}
	defer func() { _ = conn.Close() }() // gives it back to the pool
	found, err := target.Horizon(ctx, conn)
	if db.KindOf(err) == db.KindPrivilege { // found out by asking, where no statement would have failed
		return found, err
	}
	return found, target.Interpret(ctx, err)
}

// ReadHolders reads holders from a query with a column for each field of Holder, in order; Age is in seconds.
func ReadHolders(ctx context.Context, conn *sql.Conn, query string) (holders []Holder, err error) {
	rows, err := conn.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var h Holder
		var seconds int64
		if err := rows.Scan(&h.Kind, &h.Name, &h.User, &h.Application, &h.State, &seconds, &h.Transactions, &h.End); err != nil {
			return nil, err
		}
		h.Age = time.Duration(seconds) * time.Second
		holders = append(holders, h)
	}
	return holders, rows.Err()
}
