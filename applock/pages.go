package applock

import (
	"context"
	"fmt"
	"log/slog"
)

// pages is a list that is read from the database page by page, while the caller iterates.
type pages[Row, Item any] struct {
	// what names the list in errors, and view names it in the log.
	what, view string
	// maxRows is the size of a page: a smaller one is the last.
	maxRows int64
	// err is why nothing can be read: what is wrong with the request.
	err error
	// read reads a page.
	read func() ([]Row, error)
	// goOn says behind which row the next page begins. Without it there is one page.
	goOn func(last Row)
	item func(Row) Item
	// wants reports whether an item belongs to the list, and ends whether none behind it does.
	wants, ends func(Item) bool
}

// each yields the items. An error ends the iteration and comes with a zero Item.
func (p pages[Row, Item]) each(ctx context.Context, o operations, yield func(Item, error) bool) {
	if p.err != nil {
		p.fail(p.err, yield)
		return
	}
	for {
		rows, err := retryIfUnchanged(ctx, o, p.read)
		if err != nil {
			p.fail(explain(err), yield)
			return
		}
		o.log(ctx, p.view, slog.Int("rows", len(rows)))
		for _, row := range rows {
			item := p.item(row)
			if p.wants(item) && !yield(item, nil) || p.ends(item) {
				return
			}
		}
		if p.goOn == nil || int64(len(rows)) < p.maxRows {
			return
		}
		p.goOn(rows[len(rows)-1])
	}
}

func (p pages[Row, Item]) fail(err error, yield func(Item, error) bool) {
	var none Item
	yield(none, fmt.Errorf("%s: %w", p.what, err))
}
