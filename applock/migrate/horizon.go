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

// HorizonRequest is what Horizon tells. Its zero value is usable.
type HorizonRequest struct{}

// Holder is something that keeps a server from removing former versions of rows: while it lasts, tables with hot rows grow.
type Holder struct {
	// Kind is session, replica, prepared transaction or replication slot. It is for people.
	Kind string
	// Name is by what the server knows it: the number of a session, the name of the others.
	Name string
	// User, Application and State are those of a session; MySQL and MariaDB tell the host in the place of the application.
	User, Application, State string
	// Age is for how long, in whole seconds; 0 where the server does not tell, as of a replication slot.
	Age time.Duration
	// Transactions is how many have begun since; 0 on MySQL and MariaDB, which do not count them so.
	Transactions int64
	// End is the SQL that ends it. Look before what would be lost.
	End string
}

// String says who it is in a line, such as "session 4711 (user shop, from report, idle in transaction) for 2h0m0s and 1204 transactions".
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

// HorizonResult is who keeps a server from removing former versions of rows.
type HorizonResult struct {
	// Holders are all of them, the oldest first; none where nothing is kept for anybody.
	Holders []Holder
	// Kept is how much the server keeps at the moment, and KeptAre what that counts, for people.
	Kept    int64
	KeptAre string
}

// Horizon tells who keeps the server from removing former versions of rows. It changes nothing. On PostgreSQL the account has to be in
// pg_monitor, on MySQL and MariaDB it has to have PROCESS: it returns ErrPrivilege otherwise. On SQLite and Db2 it returns errors.ErrUnsupported.
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
