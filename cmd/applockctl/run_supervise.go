package main

import (
	"context"
	"os"
	"time"

	"github.com/applock/applock/applock"
)

// supervision watches a command, and ends it before somebody else can get the lock.
type supervision struct {
	app       *app
	operation string
	lease     applock.Lease
	process   *process
	job       job
	// ends is the end of --max-hold.
	ends time.Time
}

const mostSpare = time.Second

// spare is the time between killing the command and the end of the lease: a tenth of the lease, and at most mostSpare.
func (w *supervision) spare() time.Duration {
	return min(w.job.request.TTL/10, w.job.request.MaxHold/10, mostSpare)
}

// left is the time until SIGTERM, unless the lease is renewed.
func (w *supervision) left() time.Duration {
	return time.Until(w.lease.Deadline()) - w.job.grace - w.spare()
}

// watch forwards signals until the command has ended. isEnded reports whether the supervision ended it.
func (w *supervision) watch(signals <-chan os.Signal) (code int, isEnded bool) {
	lost := w.lease.Context().Done()
	soon := time.NewTimer(w.left())
	defer soon.Stop()
	var patience time.Duration
	var graceEnds <-chan time.Time
	for {
		select {
		case <-w.process.ended:
			if isEnded {
				w.process.kill() // its child processes, too
			}
			return w.process.exitCode(), isEnded
		case received := <-signals:
			w.process.forward(received)
		case <-soon.C:
			if left := w.left(); left > 0 {
				soon.Reset(left) // the lease was renewed meanwhile
				continue
			}
			isEnded = true
			w.complain(w.reason() + "; ending the command")
			w.process.terminate()
			patience = max(0, min(w.job.grace, time.Until(w.lease.Deadline())-w.spare()))
			graceEnds = time.After(patience)
		case <-graceEnds:
			w.complain("the command goes on " + patience.Round(time.Second/10).String() + " after SIGTERM; killing it")
			w.process.kill()
		case <-lost: // another run may hold the lock by now
			lost, isEnded = nil, true
			w.complain(oneLine(context.Cause(w.lease.Context()).Error()) + "; killing the command")
			w.process.kill()
		}
	}
}

func (w *supervision) reason() string {
	if !w.lease.Deadline().Before(w.ends.Add(-2 * mostSpare)) {
		return "--max-hold is over"
	}
	return "the lock ends soon and was not renewed"
}

func (w *supervision) complain(text string) {
	w.app.complain("%s: %s: %s", program, w.operation, text)
}
