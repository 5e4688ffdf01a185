// Command applockctl gets, releases, inquires, transfers and lists application locks, purges old rows,
// and installs the table and the procedures.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	// Turn a closed pipe into an ordinary write error, so that the demo still cleans up.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), endings()...)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr, os.Getenv)
	stop()
	os.Exit(code)
}

// endings returns the signals that end the program. It leaves out those that the parent process ignores, as nohup does.
func endings() []os.Signal {
	var signals []os.Signal
	for _, candidate := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(candidate) {
			signals = append(signals, candidate)
		}
	}
	return signals
}
