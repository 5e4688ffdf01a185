// Package watch is the table of "applockctl watch" on a terminal: the locks, who waits for them and who asks, and the changes that a supervisor makes.
package watch

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/gdamore/tcell/v3"
	"github.com/gdamore/tcell/v3/color"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/cmd/applockctl/internal/table"
)

// ErrInterrupted means that Ctrl-C ended the table.
var ErrInterrupted = errors.New("interrupted")

// Session is a client whose calls have a time limit. Restart begins the time of the next call.
type Session struct {
	*applock.Client
	Restart func()
}

// Config is what the table needs of its command.
type Config struct {
	Query Query
	// Every is the time between two refreshes.
	Every time.Duration
	// By is the user's name, empty if unknown.
	By    string
	Style table.Style
	// Call runs an operation with a time limit of its own, and explains its error.
	Call func(ctx context.Context, operation string, run func(context.Context, Session) error) error
	// Problem returns an error as one line.
	Problem func(error) string
	// Inbox reads a page of an inbox, and the locks that end soon.
	Inbox func(context.Context, *applock.Client, applock.InboxRequest) ([]applock.Notice, applock.InboxPosition, error)
}

// Read reads the data of a query. A context.DeadlineExceeded is the end of the time limit.
func (c Config) Read(ctx context.Context, query Query) (found Snapshot, err error) {
	err = c.Call(ctx, "watch", func(ctx context.Context, s Session) error {
		if found, err = query.Read(ctx, s); err != nil {
			return fmt.Errorf("watch: %w", err)
		}
		return nil
	})
	return found, err
}

// Run shows the table on the terminal of this process until the user leaves or ctx ends.
func Run(ctx context.Context, config Config) error {
	tty, err := tcell.NewStdIoTty()
	if err != nil {
		return fmt.Errorf("watch: %w", err)
	}
	screen, err := tcell.NewTerminfoScreenFromTty(tty)
	if err != nil {
		return fmt.Errorf("watch: %w", err)
	}
	return newTerminal(config, screen).run(ctx)
}

// terminal owns the screen. It reads keys, calls the database and waits, so that the model need not.
type terminal struct {
	Config
	screen tcell.Screen
	model  model
	// answers receives the results of refreshes and changes.
	answers chan any
	// next fires when the next refresh is due.
	next *time.Timer
	// ahead is a key that was pressed, but not handled yet.
	ahead *keyPress
	// counted is the time of the last count; counting is true while one runs.
	counted  time.Time
	counting bool
	// stopRefresh cancels the running refresh when its result is no longer wanted.
	stopRefresh context.CancelFunc
}

func newTerminal(config Config, screen tcell.Screen) *terminal {
	return &terminal{
		Config: config, screen: screen,
		model: model{
			style: config.Style, query: config.Query, verbs: verbs(config.By), reports: reports(config.Inbox), by: config.By, problem: config.Problem,
		},
		answers:     make(chan any),
		stopRefresh: func() {},
	}
}

// run shows the table until the user leaves or ctx ends. It restores the terminal, even after a panic.
func (t *terminal) run(ctx context.Context) error {
	if err := t.screen.Init(); err != nil {
		return fmt.Errorf("watch: open the terminal: %w", err)
	}
	defer t.screen.Fini()
	working, stop := context.WithCancel(ctx)
	defer stop()
	t.next = time.NewTimer(t.Every)
	defer t.next.Stop()
	var event any = t.size()
	for {
		var next effect
		t.model, next = t.model.update(event)
		switch {
		case next.leave:
			return t.left(nil)
		case next.interrupted:
			return t.left(ErrInterrupted)
		}
		if next.change {
			t.change(working)
		}
		if next.report {
			t.report(working)
		}
		if next.refresh {
			t.refresh(working)
			t.count(working)
		}
		t.draw()
		var err error
		if event, err = t.event(ctx); err != nil {
			return t.left(err)
		}
	}
}

// left returns the error for leaving the table. The outcome of a change that still runs is unknown.
func (t *terminal) left(reason error) error {
	switch {
	case t.model.changing && reason == nil:
		return fmt.Errorf("watch: %s %s: %w", t.model.verb.name, t.model.wish.what(), applock.ErrOutcomeUnknown)
	case t.model.changing:
		return fmt.Errorf("watch: %s %s: %w: %w", t.model.verb.name, t.model.wish.what(), applock.ErrOutcomeUnknown, reason)
	case reason == nil:
		return nil
	default:
		return fmt.Errorf("watch: %w", reason)
	}
}

// size returns the size that the terminal's driver reports. Each draw reads it again.
func (t *terminal) size() windowSize {
	width, height := t.screen.Size()
	return windowSize{width: width, height: height}
}

func (t *terminal) event(ctx context.Context) (any, error) {
	if key := t.ahead; key != nil {
		t.ahead = nil
		return *key, nil
	}
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-t.next.C:
			return refreshDue{}, nil
		case answer := <-t.answers:
			if fault, crashed := answer.(fault); crashed {
				panic(fault.text) // in this goroutine, which restores the terminal
			}
			switch answer := answer.(type) {
			case refreshed:
				if answer.turn == t.model.turn {
					t.next.Reset(t.Every)
				}
			case counted:
				t.counting = false
			}
			return answer, nil
		case event := <-t.screen.EventQ():
			switch event := event.(type) {
			case *tcell.EventResize:
				return t.size(), nil // not the event's size: tmux before 3.4 swaps columns and lines
			case *tcell.EventKey:
				key := keyOfTerminal(event)
				if event.Modifiers()&tcell.ModAlt == 0 {
					return key, nil
				}
				t.ahead = &key // Escape with a key right after it arrives as one key with Alt
				return keyPress{key: keyEscape}, nil
			case *tcell.EventError:
				return nil, fmt.Errorf("read the terminal: %w", event)
			}
		}
	}
}

// refresh reads the database, and cancels the refresh before.
func (t *terminal) refresh(ctx context.Context) {
	t.stopRefresh()
	t.next.Stop() // a due timer could cancel this refresh; its answer restarts the timer
	ctx, t.stopRefresh = context.WithCancel(ctx)
	turn, wanted := t.model.turn, t.model.query
	t.background(ctx, func() any {
		began := time.Now()
		found, err := t.Read(ctx, wanted)
		return refreshed{turn: turn, at: began, found: found, err: err}
	})
}

// countEvery is how often a large table is counted, which reads all its rows. A small one is counted with each refresh.
const countEvery = time.Minute

// count counts the locks if a count is due. Without the right, or on a slow database, the table shows no number.
func (t *terminal) count(ctx context.Context) {
	isDue := time.Since(t.counted) >= countEvery || !t.model.isOld
	if !isDue || t.counting || t.model.query.Request.Operator != "" { // statistics cannot filter by operator
		return
	}
	t.counted, t.counting = time.Now(), true
	wanted := t.model.query
	t.background(ctx, func() any {
		var found counted
		err := t.Call(ctx, "watch", func(ctx context.Context, s Session) error {
			var err error
			found, err = wanted.count(ctx, s)
			return err
		})
		found.err = err
		return found
	})
}

func (t *terminal) report(ctx context.Context) {
	wanted, style := t.model.page, t.model.style
	t.background(ctx, func() any {
		found := reported{title: wanted.title}
		found.err = t.Call(ctx, wanted.report.name, func(ctx context.Context, s Session) error {
			var err error
			found.texts, err = wanted.report.read(ctx, s, style, wanted.lock)
			return err
		})
		return found
	})
}

// change makes the confirmed change, lock by lock. Leaving the table cancels it. A refusal concerns its own lock only; a call without an
// answer stops the rest.
func (t *terminal) change(ctx context.Context) {
	verb, wish := t.model.verb, t.model.wish
	t.background(ctx, func() any {
		var done changed
		for _, lock := range wish.locks {
			err := t.Call(ctx, verb.name, func(ctx context.Context, s Session) error {
				answer, err := verb.do(ctx, s, lock, wish)
				if err == nil {
					done.done, done.answers = append(done.done, lock), append(done.answers, answer)
				}
				return err
			})
			if err != nil {
				done.errs = append(done.errs, err)
			}
			if unanswered(err) {
				break
			}
		}
		return done
	})
}

// unanswered reports whether a call got no answer, so that the next call would get none either.
func unanswered(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, applock.ErrOutcomeUnknown) || errors.Is(err, applock.ErrUnreachable)
}

// fault is a panic in a goroutine of background.
type fault struct{ text string }

// background runs work in a goroutine and sends its result as an event, until ctx ends.
func (t *terminal) background(ctx context.Context, work func() any) {
	send := func(answer any) {
		select {
		case t.answers <- answer:
		case <-ctx.Done():
		}
	}
	go func() {
		defer func() {
			if reason := recover(); reason != nil {
				send(fault{fmt.Sprintf("%v\n%s", reason, debug.Stack())})
			}
		}()
		send(work())
	}()
}

func (t *terminal) draw() {
	t.screen.Clear()
	for y, line := range t.model.view() {
		t.screen.PutStrStyled(0, y, line.text, styleOf(line))
	}
	t.screen.Show()
}

// styleOf uses one colour, the terminal's own red.
func styleOf(line shadedLine) tcell.Style {
	style := tcell.StyleDefault
	switch line.shade {
	case strong:
		style = style.Bold(true)
	case faint:
		style = style.Dim(true)
	case marked:
		style = style.Reverse(true)
	}
	if line.soon {
		style = style.Foreground(color.Maroon)
	}
	return style
}

func keyOfTerminal(event *tcell.EventKey) keyPress {
	keys := map[tcell.Key]pressed{
		tcell.KeyUp: keyUp, tcell.KeyDown: keyDown, tcell.KeyPgUp: keyPageUp, tcell.KeyPgDn: keyPageDown,
		tcell.KeyHome: keyHome, tcell.KeyEnd: keyEnd, tcell.KeyTab: keyTab, tcell.KeyEnter: keyEnter, tcell.KeyEscape: keyEscape,
		tcell.KeyBackspace: keyErase, tcell.KeyDEL: keyErase, tcell.KeyCtrlU: keyEraseAll, tcell.KeyCtrlC: keyInterrupt,
	}
	if key, known := keys[event.Key()]; known {
		return keyPress{key: key}
	}
	return keyPress{text: event.Str()}
}
