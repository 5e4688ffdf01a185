package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/cmd/applockctl/internal/table"
)

func someObjects(_ *cobra.Command, args []string) error {
	if len(args) == 0 {
		return errNoObject
	}
	return nil
}

// parseObject also reads an object as tables print it if it has characters that cannot be seen.
func parseObject(text string) (applock.Object, error) {
	if plain, err := strconv.Unquote(text); err == nil && table.Printable(plain) == text {
		text = plain
	}
	return applock.ParseObject(text)
}

var errNoObject = errors.New("the object is missing: write it as TYPE:ID, such as customer:42")

// onObject is an operation on one object. Its error errNo is the answer no.
type onObject func(ctx context.Context, s session, object applock.Object) (record, error)

// forEach makes a command of eachObject.
func (a *app) forEach(verb string, like record, do onObject) func(*cobra.Command, []string) error {
	return body(func(ctx context.Context, args []string) error { return a.eachObject(ctx, verb, args, like, do) })
}

// eachObject runs do for one object after the other and prints each answer. The answer is no if any is no; an error stops the loop. All
// arguments are parsed before the first call.
func (a *app) eachObject(ctx context.Context, verb string, texts []string, like record, do onObject) error {
	objects := make([]applock.Object, len(texts))
	for i, text := range texts {
		var err error
		if objects[i], err = parseObject(text); err != nil {
			return fmt.Errorf("%s: %w", verb, err)
		}
	}
	operation := verb + " " + objects[0].String()
	if len(objects) > 1 {
		operation = verb
	}
	return a.call(ctx, operation, func(ctx context.Context, s session) error {
		printer := a.newPrinter(like)
		all, none := true, true
		for _, object := range objects {
			answer, err := do(ctx, s, object)
			yes := err == nil
			if yes && !a.quiet || errors.Is(err, errNo) {
				err = printer.print(answer)
			}
			if err != nil {
				return withUnprinted(err, printer.flush()) // print the answers so far
			}
			all, none = all && yes, none && !yes
			s.restart()
		}
		if err := printer.end(); err != nil {
			if none {
				err = withoutEffect(err)
			}
			return err
		}
		return yesIf(all)
	})
}
