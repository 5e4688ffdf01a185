package contract

import (
	"context"
	"testing"
)

// lent is how many places at most are kept for the next test.
const lent = 100

// Places lends places one after the other to the tests below one test, because making a place takes longer than most of
// them. It is safe for concurrent use.
type Places struct {
	owner  testing.TB
	create func(t testing.TB) Place
	empty  []string
	free   chan Place
}

// NewPlaces returns a lender whose places go when owner ends. The statements empty make a place that a test has used as
// good as new.
func NewPlaces(owner testing.TB, create func(t testing.TB) Place, empty ...string) *Places {
	return &Places{owner: owner, create: create, empty: empty, free: make(chan Place, lent)}
}

// outliving is a test whose clean-up waits for another one's, and whose context does not end before.
type outliving struct {
	testing.TB
	owner testing.TB
}

func (o outliving) Cleanup(clean func()) { o.owner.Cleanup(clean) }

func (o outliving) Context() context.Context { return o.owner.Context() }

// Take returns an empty place, and takes it back when the test ends. A place that cannot be emptied is not lent again.
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
