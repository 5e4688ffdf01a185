package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/cmd/applockctl/internal/table"
)

// pingPause is the pause between two attempts.
const pingPause = 250 * time.Millisecond

// pingAnswer describes the server that answered. InstalledContract is nil if the user may not read it, and 0 if applock is not installed.
type pingAnswer struct {
	Outcome           applock.Outcome `json:"outcome"`
	Product           string          `json:"product"`
	ProductVersion    string          `json:"product_version"`
	InstalledContract *int            `json:"installed_contract"`
}

func (p pingAnswer) fields() []table.Field {
	fields := []table.Field{
		{Title: "OUTCOME", Value: p.Outcome},
		{Title: "PRODUCT", Value: p.Product},
		{Title: "VERSION", Value: p.ProductVersion},
	}
	if p.InstalledContract != nil {
		fields = append(fields, table.Field{Title: "CONTRACT", Value: int64(*p.InstalledContract)})
	}
	return fields
}

func (a *app) pingCommand() *cobra.Command {
	var wait duration
	command := &cobra.Command{
		Use:   "ping [--wait 30s]",
		Short: "Check that the database answers",
		Long: `Connects, and prints the product, its version, and the version of applock's contract that is installed
there, 0 for none (exit code 0). With --wait it tries again until the database answers, for at most that
time: for services that start together with their database. --timeout is for each attempt.

Exit code 4 and the reason of the last attempt, if the database does not answer.`,
		Example: `  applockctl ping
  applockctl ping --wait 30s && applockctl migrate up`,
		RunE: body(func(ctx context.Context, _ []string) error {
			return a.pingUntil(ctx, time.Now().Add(time.Duration(wait)))
		}),
	}
	command.Flags().Var(&wait, "wait", "how long to wait for the database")
	return command
}

// pingUntil asks until the server answers. The last attempt begins before the limit.
func (a *app) pingUntil(ctx context.Context, limit time.Time) error {
	for {
		attempt := *a
		if left := time.Until(limit); left > 0 {
			attempt.timeout = min(a.timeout, duration(max(left, time.Second)))
		}
		err := attempt.ping(ctx)
		if err == nil || errors.Is(err, applock.ErrInvalid) || errors.Is(err, errInterrupted) || time.Until(limit) < pingPause {
			return err
		}
		if err := sleep(ctx, pingPause); err != nil {
			return fmt.Errorf("ping: %w", err)
		}
	}
}

func (a *app) ping(ctx context.Context) error {
	return a.call(ctx, "ping", func(ctx context.Context, s session) error {
		server, err := s.Ping(ctx)
		if err != nil {
			return err
		}
		answer := pingAnswer{Outcome: outcomeAnswered, Product: server.Product, ProductVersion: server.Version}
		installed, err := s.Version(ctx)
		switch {
		case err == nil, errors.Is(err, applock.ErrSchema):
			answer.InstalledContract = &installed
		case ctx.Err() != nil:
			return err
		}
		return a.answer(true, answer)
	})
}
