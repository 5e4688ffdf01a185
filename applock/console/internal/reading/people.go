package reading

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/console/internal/access"
	"github.com/applock/applock/applock/console/internal/pages"
)

// worker is an operator who holds, waits or asks.
type worker struct {
	applock.Owner

	// Locks, Waits and Asks count what the operator holds, waits for and asks for; Asked counts the requests of others for it.
	Locks, Waits, Asks, Asked int
	// Percent is relative to the operator with the most locks.
	Percent int
	// Next is the lock that ends next, nil without a lock.
	Next *applock.Lock
}

// workers returns the operators, those with the most locks first.
func (s *snapshot) workers(p *present) []worker {
	all := map[string]*worker{}
	of := func(owner applock.Owner) *worker {
		if all[owner.Operator] == nil {
			all[owner.Operator] = &worker{Owner: owner}
		}
		found := all[owner.Operator]
		found.Department = cmp.Or(found.Department, owner.Department)
		return found
	}
	for i, row := range s.rows {
		holder := of(row.Owner)
		holder.Locks++
		if holder.Next == nil || row.ExpiresAt.Before(holder.Next.ExpiresAt) {
			holder.Next = &s.rows[i].Lock
		}
	}
	for _, waiter := range s.waiters {
		of(waiter.Owner).Waits++
	}
	for _, asker := range p.asked() {
		of(asker.Owner).Asks++
		if holder := all[asker.Holder.Owner.Operator]; holder != nil {
			holder.Asked++
		}
	}
	var sorted []worker
	for _, one := range all {
		sorted = append(sorted, *one)
	}
	slices.SortFunc(sorted, func(a, b worker) int { return cmp.Or(b.Locks-a.Locks, strings.Compare(a.Operator, b.Operator)) })
	for i := range sorted {
		most := max(1, sorted[0].Locks)
		sorted[i].Percent = (sorted[i].Locks*100 + most - 1) / most
	}
	return sorted
}

type peopleShown struct {
	part

	Workers []worker
	All     int
	// Search is a part of the name or department.
	Search string
	// Cut is true if there are more locks than the numbers include.
	Cut bool
}

// PeoplePage is the list of operators.
func (r *Reader) PeoplePage(ctx context.Context, who access.Visitor, query url.Values) (pages.View, error) {
	data := peopleShown{Search: strings.TrimSpace(query.Get("q"))}
	skip, notNumber := skipOf(query)
	all, notRead := r.readShared(ctx, who)
	present, notPresent := r.readPresent(ctx, who)
	if err := cmp.Or(notNumber, notRead, notPresent); err != nil {
		return pages.View{}, err
	}
	word := fold(data.Search)
	workers := slices.DeleteFunc(all.workers(present), func(one worker) bool {
		return !strings.Contains(fold(one.Operator+"\n"+one.Department), word)
	})
	data.part = partOf(len(workers), skip, parametersOf(query, "q"), "people")
	data.Workers, data.All, data.Cut = workers[data.From-1:data.To], len(workers), all.cut
	return pages.View{Template: "people", Title: r.pages.Text("title.people"), Here: "people", Data: data}, nil
}

type requestsShown struct {
	part

	Asked []applock.Asker
	All   int
	Type  string
	Types []string
}

// RequestsPage is the list of requests, the oldest first.
func (r *Reader) RequestsPage(ctx context.Context, who access.Visitor, query url.Values) (pages.View, error) {
	data := requestsShown{Type: strings.TrimSpace(query.Get("type"))}
	skip, notNumber := skipOf(query)
	present, notRead := r.readPresent(ctx, who)
	if err := cmp.Or(notNumber, notRead); err != nil {
		return pages.View{}, err
	}
	asked := slices.DeleteFunc(present.asked(), func(one applock.Asker) bool { return data.Type != "" && one.Object.Type != data.Type })
	data.part = partOf(len(asked), skip, parametersOf(query, "type"), "requests")
	data.Asked, data.All = asked[data.From-1:data.To], len(asked)
	data.Types, _ = kindsOf(r.readCounts(ctx))
	return pages.View{Template: "requests", Title: r.pages.Text("now.asked"), Here: "requests", Data: data}, nil
}

// readNames returns the names that a filter suggests, at most a minute old, and none if they cannot be read.
func (r *Reader) readNames(ctx context.Context) []string {
	names, _ := r.Names.Get(ctx, struct{}{}, true, func(ctx context.Context) ([]string, error) {
		owners, _ := r.People(ctx)
		var names []string
		for _, owner := range owners {
			names = append(names, owner.Operator)
		}
		return names, ctx.Err()
	})
	return names
}
