package migrate

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/migrate"
)

// HorizonRequest is empty today.
type HorizonRequest struct{}

// Holder is a session or a similar thing that keeps a server from removing old versions of rows. Meanwhile, tables with hot rows grow.
type Holder struct {
	// Kind is session, replica, prepared transaction or replication slot. Its words may change.
	Kind string
	// Name is the server's name for it: the number of a session, the name of the others.
	Name string
	// User, Application and State describe a session; on MySQL and MariaDB the host replaces the application.
	User, Application, State string
	// Age is how long it has lasted, in whole seconds; 0 if the server does not know it, as of a replication slot.
	Age time.Duration
	// Transactions is the number begun since; always 0 on MySQL and MariaDB.
	Transactions int64
	// End is the SQL that ends it. Check first what would be lost.
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

// HorizonResult is the result of Horizon.
type HorizonResult struct {
	// Holders are the holders, the oldest first.
	Holders []Holder
	// Kept is the number of things that the server keeps, and KeptAre their name, for people.
	Kept    int64
	KeptAre string
}

// Horizon returns the sessions and the like that keep the server from removing old versions of rows. It changes nothing. It returns
// ErrPrivilege unless the account is in pg_monitor on PostgreSQL, or has PROCESS on MySQL and MariaDB. On SQLite and Db2 it returns
// errors.ErrUnsupported.
func Horizon(ctx context.Context, client *applock.Client, _ HorizonRequest) (HorizonResult, error) {
	var result HorizonResult
	err := onTarget(ctx, client, "horizon", func(_ db.Handle, target migrate.Target) error {
		found, err := migrate.LookForHolders(ctx, target)
		result.Kept, result.KeptAre = found.Kept, found.KeptAre
		for _, holder := range found.Holders {
			result.Holders = append(result.Holders, Holder(holder))
		}
		return err
	})
	return result, err
}
