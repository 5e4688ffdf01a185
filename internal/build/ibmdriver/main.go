//go:build unix

// Command ibmdriver finds IBM's Db2 driver, or fetches it, and becomes a command that builds with it:
//
//	go run ./internal/build/ibmdriver -- go build -tags db2 ./cmd/applockctl
//
// The driver, also called clidriver, is a directory with include and lib. It is IBM's, under IBM's terms, and no
// part of this repository or of what is built. It is taken from where IBM_DB_HOME says, or else out of the Python
// package ibm_db, which pip gets from wherever this machine gets Python packages. What was fetched stays in the
// user's cache directory: delete it there to get a newer one.
//
// The command sees IBM_DB_HOME and cgo's variables. What it builds looks for the driver in the directory where it is now.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
)

const usage = "usage: ibmdriver -- COMMAND [ARG]"

func main() {
	if err := run(context.Background(), newHost(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "ibmdriver:", err)
		os.Exit(1)
	}
}

// run returns only after an error; otherwise the command has replaced this process.
func run(ctx context.Context, h host, args []string) error {
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		return errors.New(usage)
	}
	program, err := h.lookPath(args[0])
	if err != nil {
		return err
	}
	d, err := findDriver(ctx, h)
	if err != nil {
		return err
	}
	return h.become(program, args, d.environment(h.environ()))
}
