package main

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/applock/applock/applock"
)

// versionAnswer tells the versions. InstalledContract is nil when no database was asked, or has not
// answered, and 0 when applock is not installed there.
type versionAnswer struct {
	Outcome           applock.Outcome `json:"outcome"`
	Version           string          `json:"version"`
	Contract          int             `json:"contract"`
	InstalledContract *int            `json:"installed_contract"`
}

func (v versionAnswer) cells() []string {
	cells := []string{v.Version, strconv.Itoa(v.Contract)}
	if v.InstalledContract != nil {
		cells = append(cells, strconv.Itoa(*v.InstalledContract))
	}
	return cells
}

func (v versionAnswer) columns() []string {
	columns := []string{"VERSION", "CONTRACT"}
	if v.InstalledContract != nil {
		columns = append(columns, "INSTALLED")
	}
	return columns
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the versions of the program and of the contract",
		Long: `Prints the version of this program and the version of the procedures' contract that it needs. If a
database is named, by --dsn or APPLOCK_DSN, also the version that is installed there.

Exit code 4 when the database cannot be asked, or has no applock or one that is too old.`,
		Example: `  applockctl version
  applockctl version --dsn sqlite:applock.db --output json`,
		Args:                  noArguments,
		ValidArgsFunction:     cobra.NoFileCompletions,
		DisableFlagsInUseLine: true,
		RunE: body(func(ctx context.Context, _ []string) error {
			return a.version(ctx)
		}),
	}
}

func (a *app) version(ctx context.Context) error {
	answer := versionAnswer{Outcome: outcomeNotAsked, Version: programVersion(), Contract: applock.ContractVersion}
	var askErr error
	if a.databaseGiven() {
		answer.InstalledContract, askErr = a.installedContract(ctx)
		answer.Outcome = outcomeOfContract(answer.InstalledContract)
	}
	// What is known is printed in any case: somebody may be looking for the cause of the error.
	if err := a.print(answer, answer.columns()...); err != nil {
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
		version, err := s.Version(ctx)
		if err == nil || errors.Is(err, applock.ErrSchema) {
			installed = &version.Contract
		}
		return err
	})
	return installed, err
}

// programVersion is the version of the module as the Go toolchain knows it.
func programVersion() string {
	info, known := debug.ReadBuildInfo()
	if !known || info.Main.Version == "" {
		return "devel"
	}
	return strings.Trim(info.Main.Version, "()") // "(devel)" in a build from files
}
