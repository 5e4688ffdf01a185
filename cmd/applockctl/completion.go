package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/cmd/applockctl/internal/table"
)

// Completion is limited, since the user waits for the shell meanwhile.
const (
	completionTime = time.Second
	completionRows = 100
)

// completeObjects offers held objects for the first argument.
func (a *app) completeObjects(command *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.completeObject(command, nil, begun)
}

// completeObject offers held objects, with their holders as descriptions.
func (a *app) completeObject(command *cobra.Command, _ []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	request := applock.ListRequest{Prefix: begun, PageSize: completionRows}
	return a.offer(command.Context(), begun, request, func(lock applock.Lock) (string, string) {
		return lock.Object.String(), lock.Owner.String()
	})
}

// completeHolder offers the holder of the object in the first argument, or all holders without an argument.
func (a *app) completeHolder(command *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	request := applock.ListRequest{}
	if len(args) > 0 {
		object, err := applock.ParseObject(args[0])
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		request.ObjectType, request.ObjectID = object.Type, object.ID
	}
	return a.offer(command.Context(), begun, request, holderOf)
}

// completeOperator offers all operators who hold a lock.
func (a *app) completeOperator(command *cobra.Command, _ []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return a.offer(command.Context(), begun, applock.ListRequest{}, holderOf)
}

func holderOf(lock applock.Lock) (text, description string) { return lock.Owner.Operator, "" }

// offer returns texts of the first locks that begin with what the user has typed. It prints no errors, which would garble the line being
// typed, and it returns at the limit even if a database call cannot be cancelled.
func (a *app) offer(
	ctx context.Context, begun string, request applock.ListRequest, textOf func(applock.Lock) (text, description string),
) ([]cobra.Completion, cobra.ShellCompDirective) {
	limited, cancel := context.WithTimeout(ctx, completionTime)
	defer cancel()
	offered := make(chan []cobra.Completion, 1)
	go func() {
		var texts []cobra.Completion
		_ = a.call(limited, "complete", func(ctx context.Context, s session) error {
			looked := 0
			for lock, err := range s.List(ctx, request) {
				if err != nil || looked == applock.DefaultPageSize || len(texts) == completionRows {
					return err
				}
				looked++
				text, description := textOf(lock)
				// A shell cannot put other characters back on the command line.
				if strings.HasPrefix(text, begun) && table.Printable(text) == text {
					completion := cobra.CompletionWithDesc(text, table.Printable(description))
					if description == "" {
						completion = text
					}
					if !slices.Contains(texts, completion) {
						texts = append(texts, completion)
					}
				}
			}
			return nil
		})
		offered <- texts
	}()
	select {
	case texts := <-offered:
		return texts, cobra.ShellCompDirectiveNoFileComp
	case <-limited.Done():
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
}

// offers sets the completion function of a flag.
func offers(command *cobra.Command, flag string, completions cobra.CompletionFunc) {
	_ = command.RegisterFlagCompletionFunc(flag, completions) // fails only for an unknown flag, a mistake in the calling line
}
