package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/applock/applock/applock"
)

func (a *app) noteCommand() *cobra.Command {
	var key applock.Key
	command := &cobra.Command{
		Use:   "note OBJECT TEXT --operator O [--fence N]",
		Short: "Write on a lock why it is held",
		Long: `Writes on the operator's lock why it lasts. list, inquire and a refused get show the note. It lasts as long
as the lock, through renewals; the next lock begins without. An empty TEXT removes it. With --fence only
this grant gets the note.

Prints NOTED with the note (exit code 0), HELD with the holder if somebody else, or another grant than
--fence, holds the object, or FREE if nobody does (exit code 1).`,
		Example: `  applockctl note customer:42 "waits for documents until Friday" --operator jdoe
  applockctl note customer:42 "" --operator jdoe`,
		Args:              objectAndText,
		ValidArgsFunction: a.completeObjects,
		RunE:              body(func(ctx context.Context, args []string) error { return a.noteObject(ctx, args[:1], key, args[1]) }),
	}
	a.operatorFlag(command, &key.Operator, "who holds the object", a.completeHolder)
	fenceFlag(command, &key.Fence, "note only the grant with this fence; by default whatever grant the operator has")
	return command
}

// objectAndText accepts two arguments. It refuses a third, since only the first word of an unquoted text would be noted.
func objectAndText(command *cobra.Command, args []string) error {
	if len(args) < 2 {
		if err := oneObject(command, args); err != nil {
			return err
		}
		return errors.New("the text is missing: write it in quotes after the object; \"\" removes the note")
	}
	if len(args) > 2 {
		return fmt.Errorf("unexpected argument %q: write the text in quotes", args[2])
	}
	return nil
}

func (a *app) noteObject(ctx context.Context, texts []string, key applock.Key, note string) error {
	return a.eachObject(ctx, "note", texts, lockAnswer{}, func(ctx context.Context, s session, object applock.Object) (record, error) {
		key.Object = object
		answer := newAnswer(object, applock.Owner{Operator: key.Operator})
		err := s.Note(ctx, key, note)
		if err == nil {
			answer.Outcome = applock.OutcomeNoted
			answer.Holder, answer.Note = answer.OperatorID, trim(note)
		}
		return &answer, a.refused(&answer, err)
	})
}
