package contract

import (
	"context"
	"testing"
)

// lent is the greatest number of places kept for later tests.
const lent = 100

// Places lends places one after the other to the subtests of one test, because making a place takes longer than most of them. It is safe
// for concurrent use.
type Places struct {
	owner  testing.TB
	create func(t testing.TB) Place
	empty  []string
	free   chan Place
}

// NewPlaces returns a lender that removes its places when owner ends. The statements in empty reset a used place.
func NewPlaces(owner testing.TB, create func(t testing.TB) Place, empty ...string) *Places {
	return &Places{owner: owner, create: create, empty: empty, free: make(chan Place, lent)}
}

// outliving is a test with another test's clean-up and context, for a place that outlives the borrower.
type outliving struct {
	testing.TB
	owner testing.TB
}

func (o outliving) Cleanup(clean func()) { o.owner.Cleanup(clean) }

func (o outliving) Context() context.Context { return o.owner.Context() }

// Take returns an empty place until the test ends. If a place cannot be emptied, it is not lent again.
func (p *Places) Take(t testing.TB) Place {
	t.Helper()
	var place Place
	select {
	case place = <-p.free:
	default:
		place = p.create(outliving{TB: t, owner: p.owner})
	}
	t.Cleanup(func() {
		for _, statement := range p.empty {
			if _, err := place.SQL.ExecContext(context.WithoutCancel(t.Context()), statement); err != nil {
				t.Error(err)
				return
			}
		}
		p.free <- place
	})
	return place
}
