package db

import "time"

func renewApplLocks() Operation {
	return Operation{
		Name:    "renew_appl_locks",
		Summary: "Renew many grants in one call, each by its fence.",
		Parameters: []Parameter{
			{"p_grants", In, Document, "up to 10000 grants, no object twice: object_type, object_id, operator_id, fence, ttl_seconds of each"},
		},
		Columns: []Parameter{
			rowType(), rowID(),
			{"outcome", Out, Text, "the answer in one word"},
			{"old_operator_id", Out, Text, "who holds it, when `HELD`; else empty"},
			{"old_department_id", Out, Text, "the holder's department, when `HELD`; else empty"},
			{"acquired_ts", Out, Timestamp, "start of the holder's grant, when `HELD`; else NULL"},
			{"expires_ts", Out, Timestamp, "when the lock ends: the grant's, or the holder's when `HELD`; NULL when `FREE`"},
			rowSecondsLeft(),
		},
		Answers: []Answer{
			granted("RENEWED", "this grant is live, and lasts for its ttl from now, or as long as it did if that is longer"),
			refused("HELD", "another operator or another grant holds the object"),
			refused("FREE", "nobody holds it; the grant has ended"),
			remark("no row: another transaction is changing or asserting the lock; call again"),
			remark("on MySQL and MariaDB `RENEWED` may tell of another call's renewal at the same time, with its end, if that is not earlier"),
		},
	}
}

// MaxGrants is the most grants in one call of renew_appl_locks.
const MaxGrants = 10000

// RenewApplLocksParams are the IN parameters of renew_appl_locks. No object may appear twice.
type RenewApplLocksParams struct {
	Grants []RenewableGrant
}

// RenewableGrant is one grant to renew. The JSON names are those of the procedures.
type RenewableGrant struct {
	ObjectType string `json:"object_type"`
	ObjectID   string `json:"object_id"`
	OperatorID string `json:"operator_id"`
	Fence      int64  `json:"fence"`
	TTLSeconds int64  `json:"ttl_seconds"`
}

// RenewedGrant is one row of renew_appl_locks. A grant without a row was locked by another transaction: retry it.
type RenewedGrant struct {
	ObjectType string
	ObjectID   string
	// Outcome is Renewed, Held (another operator or grant holds the object) or Free.
	Outcome Outcome
	// OldOperatorID and OldDepartmentID are the holder's when Held, else empty.
	OldOperatorID   string
	OldDepartmentID string
	// AcquiredTS is the start of the holder's grant when Held, else zero.
	AcquiredTS Moment
	// ExpiresTS is when the caller's lock ends, or the holder's when Held; zero when Free.
	ExpiresTS Moment
	// SecondsLeft is the time until ExpiresTS by the database's clock, rounded up; zero for none.
	SecondsLeft int64
}

// Columns returns the columns of a row of renew_appl_locks, for Rows.
func (g *RenewedGrant) Columns() []any {
	return []any{
		&g.ObjectType, &g.ObjectID, &g.Outcome, &g.OldOperatorID, &g.OldDepartmentID, &g.AcquiredTS, &g.ExpiresTS, &g.SecondsLeft,
	}
}

// WholeSeconds rounds a ttl up to whole seconds, so that a lock lasts at least that long.
func WholeSeconds(ttl time.Duration) int64 { return int64((ttl + time.Second - 1) / time.Second) }
