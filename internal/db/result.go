package db

// Result are the OUT parameters of an operation on one object. Those that the operation does not have are zero.
type Result struct {
	OkFL    Flag
	Outcome Outcome
	// OldOperatorID and OldDepartmentID are the holder's when Held, or those of the former holder, as the contract says.
	OldOperatorID   string
	OldDepartmentID string
	// Fence is that of the grant that the operation has begun or renewed.
	Fence int64
	// AcquiredTS is the start of the grant that ends at ExpiresTS, zero for none.
	AcquiredTS Moment
	// ExpiresTS is when the object's lock ends, zero for none.
	ExpiresTS Moment
	// SecondsLeft is the time until ExpiresTS by the database's clock, rounded up; zero for none.
	SecondsLeft int64
	// Note is the holder's when Held, the operator's own when Renewed, else empty.
	Note string
}

// The row forms have more or fewer of these columns, in this order.

func (r *Result) outcome() []any { return []any{&r.OkFL, &r.Outcome} }

func (r *Result) holder() []any { return append(r.outcome(), &r.OldOperatorID, &r.OldDepartmentID) }

func (r *Result) grant() []any {
	return append(r.holder(), &r.Fence, &r.AcquiredTS, &r.ExpiresTS, &r.SecondsLeft)
}

// Get returns the columns of get_appl_lock_row, for Rows.
func (r *Result) Get() []any { return append(r.grant(), &r.Note) }
