package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/applock/applock/applock"
)

// order is the sort order of a list. The zero value sorts by object.
type order string

const (
	byObject  order = "object"
	byLeft    order = "left"
	byAge     order = "age"
	byWaiters order = "waiters"
)

const orderHelp = "by object, left (the soonest end first), age (the oldest first) or waiters (the longest wait first)"

func orders() []string {
	return []string{string(byObject), string(byLeft), string(byAge), string(byWaiters)}
}

// listed returns the façade's value for the order.
func (o order) listed() applock.ListOrder {
	switch o {
	case byLeft:
		return applock.ByTimeLeft
	case byAge:
		return applock.ByAge
	case byWaiters:
		return applock.ByWaiters
	default:
		return applock.ByObject
	}
}

var _ pflag.Value = (*order)(nil)

// Set parses text.
func (o *order) Set(text string) error {
	if !slices.Contains(orders(), text) {
		return fmt.Errorf("write one of %s", strings.Join(orders(), ", "))
	}
	*o = order(text)
	return nil
}

// String returns the text that Set parses to the same value.
func (o *order) String() string { return string(*o) }

// Type is the word for the value in the help.
func (o *order) Type() string { return "order" }
