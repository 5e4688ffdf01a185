package main

import (
	"context"
	"fmt"
	"time"

	"github.com/applock/applock/internal/clients"
	"github.com/applock/applock/internal/inspect"
)

const (
	// defaultHeld is the longest harmless age of a snapshot. A lease of 30 s, renewed every 10 s, has left 60 old versions by then.
	defaultHeld = 10 * time.Minute
	// mostTransactions replaces the age on servers that report only how many transactions have begun since.
	mostTransactions = 10_000
	// mostHolders is how many holders of snapshots are named.
	mostHolders       = 5
	mayNotSeeSessions = "this account may not see the sessions of others: grant it pg_monitor on PostgreSQL, PROCESS on MySQL and MariaDB"
)

// heldTooLong returns the holders that exceed the limit, the oldest first.
func heldTooLong(found inspect.HeldRows, most time.Duration) []inspect.Holder {
	var long []inspect.Holder
	for _, holder := range found.Holders {
		if holder.Age > most || holder.Age == 0 && holder.Transactions > mostTransactions {
			long = append(long, holder)
		}
	}
	return long[:min(len(long), mostHolders)]
}

func heldWords(found inspect.HeldRows, most time.Duration) string {
	limit := duration(most)
	return fmt.Sprintf("nobody has held a snapshot for longer than %s; the server keeps %d %s", limit.String(), found.Kept, found.KeptAre)
}

// heldBy names the holder and the number of old versions that the server keeps for it.
func heldBy(holder inspect.Holder, found inspect.HeldRows) string {
	return fmt.Sprintf("%s keeps the server from removing old versions of rows, now %d %s", holder, found.Kept, found.KeptAre)
}

// heldAndEnded adds the SQL that ends it, if there is any.
func heldAndEnded(holder inspect.Holder, found inspect.HeldRows) string {
	if holder.End == "" {
		return heldBy(holder, found)
	}
	return fmt.Sprintf("%s; end it with the SQL: %s", heldBy(holder, found), holder.End)
}

// horizon finds old snapshots, which keep the server from removing old versions of rows.
func (v *verifier) horizon(ctx context.Context) error {
	found, err := inspect.LookForHolders(ctx, clients.Driver(v.session.Client))
	if err != nil {
		return err
	}
	long := heldTooLong(found, v.held)
	for _, holder := range long {
		v.fail("horizon", heldBy(holder, found)).Statement = holder.End
	}
	if len(long) == 0 {
		v.ok("horizon", heldWords(found, v.held))
	}
	return nil
}

// noteHeld reports old snapshots on stderr. It returns nil if the account may not see them: statistics work without that right.
func (a *app) noteHeld(ctx context.Context, s session) *inspect.HeldRows {
	found, err := inspect.LookForHolders(ctx, clients.Driver(s.Client))
	if err != nil {
		return nil
	}
	for _, holder := range heldTooLong(found, defaultHeld) {
		a.note("stats: %s", heldAndEnded(holder, found))
	}
	return &found
}

// horizonWords is the console's text about old snapshots; with one, it also returns errNo.
func horizonWords(found inspect.HeldRows) (string, error) {
	if long := heldTooLong(found, defaultHeld); len(long) > 0 {
		return heldAndEnded(long[0], found), errNo
	}
	return heldWords(found, defaultHeld), nil
}
