package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/applock/applock/applock"
)

// What the shell may offer while somebody waits for a key to do something.
const (
	completionTime = time.Second
	completionRows = 100
)

// completeObjects offers the first argument: objects that somebody holds.
func (a *app) completeObjects(
	command *cobra.Command, args []string, begun string,
) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.completeObject(command, nil, begun)
}

// completeObject offers objects that somebody holds, with who that is.
func (a *app) completeObject(
	command *cobra.Command, _ []string, begun string,
) ([]cobra.Completion, cobra.ShellCompDirective) {
	request := applock.ListRequest{Prefix: begun, PageSize: completionRows}
	return a.offer(command.Context(), begun, request, func(lock applock.Lock) (string, string) {
		return lock.Object.String(), lock.Owner.String()
	})
}

// completeHolder offers the operator who holds the object of the first argument, or all who hold any.
func (a *app) completeHolder(
	command *cobra.Command, args []string, begun string,
) ([]cobra.Completion, cobra.ShellCompDirective) {
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

// completeOperator offers operators who hold anything.
func (a *app) completeOperator(
	command *cobra.Command, _ []string, begun string,
) ([]cobra.Completion, cobra.ShellCompDirective) {
	return a.offer(command.Context(), begun, applock.ListRequest{}, holderOf)
}

func holderOf(lock applock.Lock) (text, description string) { return lock.Owner.Operator, "" }

// offer returns what of the first locks begins with what the user has begun. It says nothing about errors, which would
// tear up the line that is being written; and it does not wait for a call that cannot be broken off.
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
				// A shell can take no other characters back.
				if strings.HasPrefix(text, begun) && printable(text) == text {
					completion := cobra.CompletionWithDesc(text, printable(description))
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

// offers lets the shell offer what a function finds for a flag.
func offers(command *cobra.Command, flag string, completions cobra.CompletionFunc) {
	_ = command.RegisterFlagCompletionFunc(flag, completions) // fails for a flag that does not exist, visible at the call
}
