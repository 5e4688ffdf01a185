package main

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/cmd/applockctl/internal/table"
)

// versionAnswer has the versions. InstalledContract is nil if no database answered, and 0 if applock is not installed there.
type versionAnswer struct {
	Outcome           applock.Outcome `json:"outcome"`
	Version           string          `json:"version"`
	Revision          string          `json:"revision"`
	RevisionTS        table.Timestamp `json:"revision_ts"`
	Modified          bool            `json:"modified"`
	Contract          int             `json:"contract"`
	InstalledContract *int            `json:"installed_contract"`
}

func (v versionAnswer) fields() []table.Field {
	fields := []table.Field{{Title: "VERSION", Value: table.Word(v.words())}, {Title: "CONTRACT", Value: int64(v.Contract)}}
	if v.InstalledContract != nil {
		fields = append(fields, table.Field{Title: "INSTALLED", Value: int64(*v.InstalledContract)})
	}
	return fields
}

// words returns the version and the revision that the program was built from.
func (v versionAnswer) words() string {
	words := v.Version
	if v.Revision != "" {
		words += ", revision " + v.Revision[:min(12, len(v.Revision))]
	}
	if built := time.Time(v.RevisionTS); !built.IsZero() {
		words += " of " + built.UTC().Format(time.DateOnly)
	}
	if v.Modified {
		words += ", modified"
	}
	return words
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the versions of the program and of the contract",
		Long: `Prints the version of this program, the revision that it was built from, and the version of the contract
that it needs. If --dsn or APPLOCK_DSN names a database, also the version that is installed there.

Exit code 4 if the database cannot be reached, or its applock is missing or too old.`,
		Example: `  applockctl version
  applockctl version --dsn sqlite:applock.db --output json`,
		RunE: body(func(ctx context.Context, _ []string) error { return a.version(ctx) }),
	}
}

func (a *app) version(ctx context.Context) error {
	answer := programVersion(debug.ReadBuildInfo())
	var askErr error
	if a.databaseGiven() {
		answer.InstalledContract, askErr = a.installedContract(ctx)
		answer.Outcome = outcomeOfContract(answer.InstalledContract)
	}
	// Print the program's version even if the database failed: it may help to find the cause.
	if err := a.print(answer); err != nil {
		return fmt.Errorf("version: %w", err)
	}
	return askErr
}

// outcomeOfContract says what the installed contract means for this program.
func outcomeOfContract(installed *int) applock.Outcome {
	switch {
	case installed == nil:
		return outcomeNoAnswer
	case *installed == 0:
		return outcomeNotInstalled
	case *installed < applock.ContractVersion:
		return outcomeOutdated
	default:
		return outcomeInstalled
	}
}

func (a *app) installedContract(ctx context.Context) (*int, error) {
	var installed *int
	err := a.call(ctx, "version", func(ctx context.Context, s session) error {
		contract, err := s.Version(ctx)
		if err == nil || errors.Is(err, applock.ErrSchema) {
			installed = &contract
		}
		return err
	})
	return installed, err
}

// programVersion returns the version that the Go toolchain has recorded, and the revision if the program was built in a repository.
func programVersion(info *debug.BuildInfo, known bool) versionAnswer {
	answer := versionAnswer{Outcome: outcomeNotAsked, Version: "devel", Contract: applock.ContractVersion}
	if !known {
		return answer
	}
	if info.Main.Version != "" {
		answer.Version = strings.Trim(info.Main.Version, "()") // "(devel)" in a build from files
	}
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			answer.Revision = setting.Value
		case "vcs.time":
			at, _ := time.Parse(time.RFC3339, setting.Value) // an error leaves the zero time, which means none
			answer.RevisionTS = table.Timestamp(at)
		case "vcs.modified":
			answer.Modified = setting.Value == "true"
		}
	}
	return answer
}
