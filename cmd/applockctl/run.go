package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/cmd/internal/secret"
)

const (
	// anyOperator makes a new operator name for each run.
	anyOperator = "auto"
	// usualGrace is the default of --grace: how long a command may run after SIGTERM.
	usualGrace = 10 * time.Second
	// randomChars is the number of random characters in such a name.
	randomChars = 8

	objectVariable = "APPLOCK_OBJECT"
	fenceVariable  = "APPLOCK_FENCE"

	// The exit codes of shells for a command that cannot be started.
	exitNotExecutable = 126
	exitNotFound      = 127
)

// job is a command that runs while an object is held.
type job struct {
	command []string
	request applock.AcquireRequest
	// atLeast keeps the object locked for that long, even if the command ends sooner.
	atLeast time.Duration
	// grace is how long a command may run after SIGTERM.
	grace time.Duration
	// conflictCode is the exit code if somebody else holds the object.
	conflictCode int
	skipIfHeld   bool
}

// endedError carries the exit code of a job whose messages are already printed.
type endedError struct{ code int }

func (e *endedError) Error() string { return "exit code " + strconv.Itoa(e.code) }

func (a *app) runCommand() *cobra.Command {
	j := job{conflictCode: exitConflict, request: applock.AcquireRequest{TTL: time.Minute, MaxHold: 7 * 24 * time.Hour}}
	command := &cobra.Command{
		Use:   "run OBJECT [--wait 30s] [--at-least 14m] [--max-hold 2h] -- COMMAND [ARG]",
		Short: "Run a command while holding an object",
		Long: `Gets the lock on an object, runs a command, and releases the lock when the command ends. So the command runs
on one node only and never twice at a time, however many nodes start it. The lock is renewed while the
command runs, and ends --ttl after a crash. Each run has an operator of its own: host, process and a random
word, or --operator and a random word.

The command's environment has ` + objectVariable + `, ` + operatorVariable + `, ` + departmentVariable + ` and ` + fenceVariable + `. A
write that asserts the fence is safe even against a paused predecessor. Signals are passed on to the command
and the processes that it has started.

The command never outlives its lock. It gets SIGTERM, and --grace later SIGKILL, early enough to end before
--max-hold is over or the lock ends because it cannot be renewed. If somebody else ends the lock, the command
gets SIGKILL at once. If this program is killed, Linux kills the command, too; processes that the command
has started go on, and the fence keeps their writes out.

--at-least keeps the lock after a quick end, so that a node with a late clock does not run the same again.
The lock then ends when that time is over, or with its last --ttl if that ends later.

Exit codes: that of the command, 128 plus the number of the signal that ended it, or
  2    the command line is wrong
  3    the outcome of getting the lock is unknown: nothing was run, and the lock ends after --ttl
  4    the database could not be asked, or another error: nothing was run
  5    the command was ended, because --max-hold was over or the lock was lost
  75   somebody else holds the object (--conflict-exit-code); stderr says who; nothing was run
  126, 127   the command cannot be executed, or is not found
  130  interrupted before the command began`,
		Example: `  applockctl run job:nightly -- ./nightly.sh
  applockctl run job:report --at-least 14m --max-hold 2h -- report --all
  applockctl run job:mail --skip-if-held --quiet -- sendmail -q`,
		Args:              oneCommand,
		ValidArgsFunction: a.completeObjects,
		RunE: body(func(ctx context.Context, args []string) error {
			j.command = args[1:]
			return a.runJob(ctx, args[0], j)
		}),
	}
	flags := command.Flags()
	flags.StringVar(&j.request.Owner.Operator, "operator", anyOperator, "the beginning of this run's operator; auto is host and process")
	a.departmentFlag(command, &j.request.Owner.Department, departmentUsage)
	flags.Var((*duration)(&j.request.TTL), "ttl", "how long the lock outlives a crash")
	flags.Var((*duration)(&j.request.MaxWait), "wait", "how long to wait for the holder")
	flags.Var((*duration)(&j.atLeast), "at-least", "how long the object stays locked, also when the command ends earlier")
	flags.Var((*duration)(&j.request.MaxHold), "max-hold", "how long the command may run, from SIGTERM to SIGKILL included")
	flags.Var((*duration)(&j.grace), "grace", "how long the command may go on after SIGTERM; by default 10s, at most a third of --ttl and --max-hold")
	flags.IntVar(&j.conflictCode, "conflict-exit-code", exitConflict, "the exit code if somebody else holds the object")
	flags.BoolVar(&j.skipIfHeld, "skip-if-held", false, "exit with 0 and print nothing if somebody else holds the object")
	command.MarkFlagsMutuallyExclusive("conflict-exit-code", "skip-if-held")
	return command
}

// oneCommand accepts an object, then "--" and a command.
func oneCommand(command *cobra.Command, args []string) error {
	dash := command.ArgsLenAtDash()
	switch {
	case dash < 0 && len(args) > 1:
		return errors.New("write -- before the command, so that its flags are its own")
	case dash < 0 || len(args) == dash:
		return errors.Join(oneObject(command, args), errors.New("the command is missing: write it after --"))
	}
	return oneObject(command, args[:dash])
}

// check validates the job and fills in its defaults.
func (j *job) check(text string) error {
	object, err := parseObject(text)
	if err != nil {
		return fmt.Errorf("run: %w", err)
	}
	j.request.Object = object
	switch {
	case j.conflictCode < 0 || j.conflictCode > 255:
		return &applock.InvalidError{Argument: "--conflict-exit-code", Reason: "must lie between 0 and 255"}
	case j.atLeast < 0 || j.atLeast > j.request.MaxHold:
		return &applock.InvalidError{Argument: "--at-least", Reason: "must not be longer than --max-hold"}
	case j.request.Owner.Operator == anyOperator:
		j.request.Owner.Operator = ""
	default:
		j.request.Owner.Operator = trim(j.request.Owner.Operator) + "/" + rand.Text()[:randomChars]
	}
	return j.checkGrace()
}

// checkGrace limits grace to a third of the ttl. Renewals begin after the first third, so that a failed one can be repeated for another
// third before SIGTERM.
func (j *job) checkGrace() error {
	longest, of := j.request.TTL/3, "--ttl"
	if j.request.MaxHold < j.request.TTL {
		longest, of = j.request.MaxHold/3, "--max-hold"
	}
	if j.grace == 0 {
		j.grace = min(usualGrace, longest)
	}
	if j.grace > longest && longest < time.Second {
		return &applock.InvalidError{Argument: "--grace", Reason: "is given, so " + of + " must be at least 3s: leave --grace out, and it is a third of " + of}
	}
	if j.grace > longest {
		reason := fmt.Sprintf("must be at most %s, a third of %s", longest.Truncate(time.Second), of)
		return &applock.InvalidError{Argument: "--grace", Reason: reason}
	}
	return nil
}

func (a *app) runJob(ctx context.Context, text string, j job) error {
	if err := j.check(text); err != nil {
		return err
	}
	// From here on, signals are for the command, even before it has started.
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, forwarded()...)
	defer signal.Stop(signals)
	operation := "run " + j.request.Object.String()
	return a.call(ctx, operation, func(ctx context.Context, s session) error {
		s.extend(j.request.MaxWait)
		lease, err := s.TryAcquire(ctx, j.request)
		var held *applock.HeldError
		switch {
		case ctx.Err() == nil && errors.As(err, &held):
			return a.conflict(operation, held, j)
		case err != nil:
			return fmt.Errorf("%s: %w", operation, err)
		}
		s.pause() // the command's own time is not limited
		return a.supervise(context.WithoutCancel(ctx), operation, lease, j, signals)
	})
}

func (a *app) conflict(operation string, held *applock.HeldError, j job) error {
	if j.skipIfHeld {
		return nil
	}
	shown := *held
	zone := a.style().Zone
	shown.Holder.AcquiredAt, shown.Holder.ExpiresAt = held.Holder.AcquiredAt.In(zone), held.Holder.ExpiresAt.In(zone)
	a.complain("%s: %s: %s", program, operation, oneLine(shown.Error()))
	return &endedError{code: j.conflictCode}
}

// supervise runs the command until it ends or the lease does.
func (a *app) supervise(ctx context.Context, operation string, lease applock.Lease, j job, signals <-chan os.Signal) error {
	began := time.Now()
	process, err := startProcess(j.prepare(a, lease))
	if err != nil {
		a.letGo(ctx, operation, lease, 0)
		a.complain("%s: %s: %s", program, operation, oneLine(err.Error()))
		return &endedError{code: codeOfStart(err)}
	}
	w := supervision{app: a, operation: operation, lease: lease, process: process, job: j, ends: began.Add(j.request.MaxHold)}
	code, isEnded := w.watch(signals) //nolint:contextcheck // the lease has its own context
	if lease.Err() == nil {
		isEnded = a.letGo(ctx, operation, lease, j.atLeast-time.Since(began)) || isEnded
	}
	if isEnded {
		code = exitLost
	}
	if code == exitYes {
		return nil
	}
	return &endedError{code: code}
}

// letGo releases the lease, or leaves the object locked for the rest of --at-least. It reports whether the lease was lost.
func (a *app) letGo(ctx context.Context, operation string, lease applock.Lease, rest time.Duration) (lost bool) {
	limited, cancel := context.WithTimeout(ctx, time.Duration(a.timeout))
	defer cancel()
	var err error
	if rest > 0 {
		err = lease.Leave(limited, rest.Truncate(time.Second)+time.Second)
	} else {
		err = lease.Release(limited)
	}
	if err != nil {
		a.complain("%s: %s: %s", program, operation, oneLine(secret.Redact(err.Error())))
	}
	return errors.Is(err, applock.ErrLost)
}

func (j *job) prepare(a *app, lease applock.Lease) *exec.Cmd {
	command := exec.Command(j.command[0], j.command[1:]...) //nolint:gosec,noctx // the user's command; the lease ends it
	command.Stdin, command.Stdout, command.Stderr = os.Stdin, a.stdout, a.stderr
	command.Env = append(os.Environ(),
		objectVariable+"="+lease.Object().String(),
		operatorVariable+"="+lease.Owner().Operator,
		departmentVariable+"="+lease.Owner().Department,
		fenceVariable+"="+strconv.FormatInt(int64(lease.Fence()), 10),
	)
	return command
}

// codeOfStart returns the exit code that shells use for a command that cannot be started.
func codeOfStart(err error) int {
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
		return exitNotFound
	}
	return exitNotExecutable
}
