// Package order has the sort orders of a list of locks, as a flag.
package order

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/applock/applock/applock"
)

// Order is the sort order of a list. The zero value sorts by object.
type Order string

// The orders.
const (
	ByObject  Order = "object"
	ByLeft    Order = "left"
	ByAge     Order = "age"
	ByWaiters Order = "waiters"
)

// Help describes the flag.
const Help = "by object, left (the soonest end first), age (the oldest first) or waiters (the longest wait first)"

// All returns the names of all orders.
func All() []string {
	return []string{string(ByObject), string(ByLeft), string(ByAge), string(ByWaiters)}
}

// Listed returns the façade's value for the order.
func (o Order) Listed() applock.ListOrder {
	switch o {
	case ByLeft:
		return applock.ByTimeLeft
	case ByAge:
		return applock.ByAge
	case ByWaiters:
		return applock.ByWaiters
	default:
		return applock.ByObject
	}
}

var _ pflag.Value = (*Order)(nil)

// Set parses text.
func (o *Order) Set(text string) error {
	if !slices.Contains(All(), text) {
		return fmt.Errorf("write one of %s", strings.Join(All(), ", "))
	}
	*o = Order(text)
	return nil
}

// String returns the text that Set parses to the same value.
func (o *Order) String() string { return string(*o) }

// Type is the word for the value in the help.
func (o *Order) Type() string { return "order" }
