package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/cmd/applockctl/internal/table"
)

type listedViewer struct{ applock.Viewer }

func (v listedViewer) fields() []table.Field {
	return []table.Field{
		{Title: "OBJECT", Value: v.Object.String()},
		{Title: "OPERATOR", Value: v.Owner.Operator},
		{Title: "DEPARTMENT", Value: v.Owner.Department},
		{Title: "STATE", Value: string(v.State)},
		{Title: "SINCE", Value: table.Timestamp(v.Since)},
		{Title: "LEFT", Value: table.Lasting(table.WholeSeconds(v.Left)), Wide: true},
		{Title: "PROGRAM", Value: v.Client},
	}
}

func (a *app) viewersCommand() *cobra.Command {
	var request applock.ViewersRequest
	var object string
	var limit int64
	command := &cobra.Command{
		Use:   "viewers [--object customer:42 | --type T | --prefix customer:4] [--operator O]",
		Short: "List the viewers of objects",
		Long: `Lists the viewers of objects, as "applockctl see" and support tools have recorded them: since when, and
whether they view, edit or are idle, in the order of the objects. An empty list has exit code 0.

With --object, --type or --prefix only that part of the table is read. With --output json each viewer is an
object on a line of its own.`,
		Example: `  applockctl viewers --object customer:42
  applockctl viewers --type customer --department sales --output json`,
		RunE: body(func(ctx context.Context, _ []string) error {
			if object != "" {
				one, err := parseObject(object)
				if err != nil {
					return fmt.Errorf("viewers: %w", err)
				}
				request.ObjectType, request.ObjectID = one.Type, one.ID
			}
			return a.printList(ctx, "viewers", "viewer", listedViewer{}, func(ctx context.Context, s session, p *printer) error {
				return printRows(s, p, s.Viewers(ctx, request), limit, func(viewer applock.Viewer) record { return listedViewer{viewer} })
			})
		}),
	}
	command.Flags().StringVar(&object, "object", "", "only this object")
	command.Flags().StringVar(&request.ObjectType, "type", "", "only objects of this type")
	command.Flags().StringVar(&request.Prefix, "prefix", "", "only objects whose TYPE:ID begins with this")
	command.Flags().StringVar(&request.Operator, "operator", "", "only this operator")
	command.Flags().StringVar(&request.Department, "department", "", "only viewers of this department")
	command.Flags().BoolVar(&request.NoDepartment, "no-department", false, "only viewers without a department")
	limitFlag(command, &limit)
	command.MarkFlagsMutuallyExclusive("object", "type", "prefix")
	offers(command, "object", a.completeObject)
	offers(command, "operator", a.completeOperator)
	return command
}
