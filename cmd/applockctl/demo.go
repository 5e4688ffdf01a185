package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/migrate"
	"github.com/applock/applock/applock/open"
	"github.com/applock/applock/cmd/internal/secret"
)

// cleanUpTimeout bounds each step of the clean-up, unless --timeout is longer.
const cleanUpTimeout = 30 * time.Second

func (a *app) demoCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "Show everything on a throw-away database",
		Long: `Tells a story of two operators and their supervisor. Each step is a sentence, a command and its answer. The
commands really run, within a few seconds, and one lock really expires.

Without a DSN, or with one of SQLite, the demo uses a file of its own in a temporary directory. On a server
it uses a schema (on MySQL a database) of its own, named applock_demo_..., which the user must be allowed
to create. It touches nothing else, and removes what it has made, also after an error or Ctrl-C.`,
		Example: `  applockctl demo
  APPLOCK_DSN=postgres://dba@db.example.com/crm applockctl demo
  applockctl demo --output json`,
		RunE: body(func(ctx context.Context, _ []string) error { return a.demo(ctx) }),
	}
}

type scene struct {
	text, command string
	// want is the expected exit code.
	want int
	// wait is a pause before the step.
	wait time.Duration
}

func story() []scene {
	return []scene{
		{text: "A customer calls. Jane Doe in sales gets the lock on customer 42, for 7 days unless she renews it.",
			command: "get customer:42 --operator jdoe --department sales"},
		{text: "Adam Smith in service wants to work on the same customer. The refusal comes at once, and names the holder.",
			command: "get customer:42 --operator asmith --department service", want: exitNo},
		{text: "Jane needs longer and renews for 14 days. It is still the same grant: the fence stays, the end moves.",
			command: "get customer:42 --operator jdoe --department sales --ttl 14d"},
		{text: "The supervisor asks who works on customer 42, since when and until when.",
			command: "inquire customer:42"},
		{text: "Jane goes on holiday. The supervisor transfers the customer to Adam: a new grant with a greater fence.",
			command: "transfer customer:42 --from jdoe --to asmith --by mlee --to-department service"},
		{text: "Jane's program still believes that it has the lock and releases it. It is refused: Adam has it.",
			command: "release customer:42 --operator jdoe", want: exitNo},
		{text: "Adam is done and releases the customer.",
			command: "release customer:42 --operator asmith"},
		{text: "Jane's nightly job locks customer 7 for one second only, and then its host crashes.",
			command: "get customer:7 --operator jdoe-job --department sales --ttl 1s"},
		{text: "A second later the lock has expired, and an expired lock is no lock: Adam takes over, with a greater fence.",
			command: "get customer:7 --operator asmith --department service --ttl 36h", wait: 1100 * time.Millisecond},
		{text: "The supervisor lists all live locks on customers.",
			command: "list --type customer"},
		{text: "Customer 42 is free, but its row is still there, so that fences keep growing. From cron, purge removes such rows.",
			command: "purge --older-than 1s"},
	}
}

type stage struct {
	dsn    string
	schema string
	// clear removes the stage, even if ctx has ended.
	clear func(ctx context.Context) error
}

func (a *app) demo(ctx context.Context) (err error) {
	stage, err := a.newStage(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stage.clear(ctx)) }()

	opening := scene{text: "The database administrator installs the table and the procedures.", command: "migrate up"}
	// Ctrl-C waits for the end of this step: a stage that the server is still creating could not be removed reliably.
	making, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Duration(a.timeout))
	defer cancel()
	if err := a.play(making, stage, 1, opening); err != nil {
		return err
	}
	for i, scene := range story() {
		if err := sleep(ctx, scene.wait); err != nil {
			return fmt.Errorf("demo: %w", err)
		}
		if err := a.play(ctx, stage, i+2, scene); err != nil {
			return err
		}
	}
	return nil
}

func sleep(ctx context.Context, length time.Duration) error {
	select {
	case <-ctx.Done():
	case <-time.After(length):
	}
	if ctx.Err() != nil {
		return errInterrupted
	}
	return nil
}

// newStage chooses the place for the story. The first scene creates it.
func (a *app) newStage(ctx context.Context) (stage, error) {
	if a.schema != "" {
		err := &applock.InvalidError{Argument: "Schema", Reason: "cannot be chosen: the demo makes one of its own"}
		return stage{}, fmt.Errorf("demo: %w", err)
	}
	if !a.databaseGiven() {
		return a.newFileStage()
	}
	dsn, err := a.database()
	if err != nil {
		return stage{}, fmt.Errorf("demo: %w", err)
	}
	dialect, err := open.DialectOf(dsn)
	if err != nil {
		return stage{}, fmt.Errorf("demo: %w", err)
	}
	if dialect.Embedded {
		return a.newFileStage()
	}
	return a.newSchemaStage(ctx, dsn)
}

func (a *app) newFileStage() (stage, error) {
	directory, err := os.MkdirTemp("", "applock-demo-")
	if err != nil {
		return stage{}, fmt.Errorf("demo: %w", err)
	}
	dsn := "sqlite:" + filepath.Join(directory, "applock.db")
	a.note("The demo plays in a file of its own, and removes it at the end: %s=%s", dsnVariable, secret.Quote(dsn))
	return stage{
		dsn: dsn,
		clear: func(context.Context) error {
			if err := os.RemoveAll(directory); err != nil {
				return fmt.Errorf("demo: clean up, please remove it by hand: %w", err)
			}
			return nil
		},
	}, nil
}

func (a *app) newSchemaStage(ctx context.Context, dsn string) (stage, error) {
	// With 8 random bytes the name has 29 characters; the limit is 30.
	random := make([]byte, 8)
	_, _ = rand.Read(random) // never fails: crypto/rand crashes the program instead
	onStage := *a
	onStage.schema = "applock_demo_" + hex.EncodeToString(random)
	// This call changes nothing. If the server refuses the connection, there will be nothing to remove.
	err := onStage.call(ctx, "demo", func(ctx context.Context, s session) error {
		if _, err := migrate.Status(ctx, s.Client); err != nil {
			return fmt.Errorf("demo: %w", err)
		}
		return nil
	})
	if err != nil {
		return stage{}, err
	}
	a.note("The demo plays in a schema of its own, and removes it at the end: %s", onStage.schema)
	return stage{dsn: dsn, schema: onStage.schema, clear: onStage.clearSchema}, nil
}

func (a *app) clearSchema(ctx context.Context) error {
	a.timeout = max(a.timeout, duration(cleanUpTimeout))
	err := a.call(context.WithoutCancel(ctx), "demo: clean up", func(ctx context.Context, s session) error {
		_, err := migrate.Uninstall(ctx, s.Client, migrate.UninstallRequest{Force: true})
		return err
	})
	if err != nil {
		return fmt.Errorf("%w; please drop the schema %s by hand", err, a.schema)
	}
	return nil
}

// sceneAnswer is one step of the story as JSON. Answers are the objects that the step's command printed.
type sceneAnswer struct {
	Outcome  applock.Outcome   `json:"outcome"`
	Step     int               `json:"step"`
	Text     string            `json:"text"`
	Command  string            `json:"command"`
	ExitCode int               `json:"exit_code"`
	Answers  []json.RawMessage `json:"answers"`
}

// play runs the command of a scene as the program itself would, and prints its answer.
func (a *app) play(ctx context.Context, stage stage, number int, scene scene) error {
	global := []string{"--dsn", stage.dsn, "--output", string(a.output), "--timeout", a.timeout.String()}
	global = append(global, fmt.Sprint("--utc=", a.utc), fmt.Sprint("--wide=", a.wide))
	shown := []string{program}
	if stage.schema != "" {
		global = append(global, "--schema", stage.schema)
		shown = append(shown, "--schema", stage.schema)
	}
	shown = append(shown, scene.command)
	var answer, complaint bytes.Buffer
	code := run(ctx, append(global, strings.Fields(scene.command)...), &answer, &complaint, a.getenv)
	switch {
	case code == scene.want:
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("demo: step %d: %w", number, &timeoutError{length: a.timeout})
	case ctx.Err() != nil:
		return fmt.Errorf("demo: %w", errInterrupted)
	default:
		return fmt.Errorf("demo: step %d ended with exit code %d instead of %d: %s",
			number, code, scene.want, strings.TrimPrefix(complaint.String(), program+": "))
	}
	return wrapWrite(a.printScene(number, scene.text, strings.Join(shown, " "), code, answer.Bytes()))
}

func (a *app) printScene(number int, text, command string, code int, answer []byte) error {
	if a.output == formatTable {
		_, err := fmt.Fprintf(a.stdout, "%d. %s\n$ %s\n%s\n", number, text, command, answer)
		return err
	}
	scene := sceneAnswer{
		Outcome: outcomePlayed, Step: number, Text: text, Command: command, ExitCode: code, Answers: []json.RawMessage{},
	}
	for line := range bytes.Lines(answer) {
		scene.Answers = append(scene.Answers, bytes.TrimSpace(line))
	}
	encoder := json.NewEncoder(a.stdout)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(scene)
}
