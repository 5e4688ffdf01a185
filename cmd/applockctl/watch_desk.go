package main

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/gdamore/tcell/v3"
	"github.com/gdamore/tcell/v3/color"

	"github.com/applock/applock/applock"
)

// desk owns the screen. It reads keys, calls the database and waits, so that the model need not.
type desk struct {
	app     *app
	session session
	screen  tcell.Screen
	every   time.Duration
	model   model
	// answers receives the results of looks and changes.
	answers chan any
	// next fires when the next look is due.
	next *time.Timer
	// ahead is a key that was pressed, but not handled yet.
	ahead *keyPress
	// counted is the time of the last count; counting is true while one runs.
	counted  time.Time
	counting bool
	// stopLook cancels the running look when its result is no longer wanted.
	stopLook context.CancelFunc
}

func newScreen() (tcell.Screen, error) {
	tty, err := tcell.NewStdIoTty()
	if err != nil {
		return nil, err
	}
	return tcell.NewTerminfoScreenFromTty(tty)
}

func (a *app) newDesk(s session, screen tcell.Screen, flags watchFlags) *desk {
	return &desk{
		app: a, session: s, screen: screen, every: time.Duration(flags.every),
		model:    model{style: a.style(), look: flags.look, verbs: verbs(flags.by), reports: reports(), by: flags.by},
		answers:  make(chan any),
		stopLook: func() {},
	}
}

// run shows the table until the user leaves or ctx ends. It restores the terminal, even after a panic.
func (d *desk) run(ctx context.Context) error {
	if err := d.screen.Init(); err != nil {
		return fmt.Errorf("watch: open the terminal: %w", err)
	}
	defer d.screen.Fini()
	working, stop := context.WithCancel(ctx)
	defer stop()
	d.next = time.NewTimer(d.every)
	defer d.next.Stop()
	var event any = d.size()
	for {
		var deed deed
		d.model, deed = d.model.update(event)
		switch {
		case deed.leave:
			return d.left(nil)
		case deed.interrupted:
			return d.left(errInterrupted)
		}
		if deed.change {
			d.change(working)
		}
		if deed.report {
			d.report(working)
		}
		if deed.look {
			d.look(working)
			d.count(working)
		}
		d.draw()
		var err error
		if event, err = d.event(ctx); err != nil {
			return d.left(err)
		}
	}
}

// left returns the error for leaving the table. The outcome of a change that still runs is unknown.
func (d *desk) left(reason error) error {
	switch {
	case d.model.changing && reason == nil:
		return fmt.Errorf("watch: %s %s: %w", d.model.verb.name, d.model.wish.what(), applock.ErrOutcomeUnknown)
	case d.model.changing:
		return fmt.Errorf("watch: %s %s: %w: %w", d.model.verb.name, d.model.wish.what(), applock.ErrOutcomeUnknown, reason)
	case reason == nil:
		return nil
	default:
		return fmt.Errorf("watch: %w", reason)
	}
}

// size returns the size that the terminal's driver reports. Each draw reads it again.
func (d *desk) size() windowSize {
	width, height := d.screen.Size()
	return windowSize{width: width, height: height}
}

// event waits for the next event.
func (d *desk) event(ctx context.Context) (any, error) {
	if key := d.ahead; key != nil {
		d.ahead = nil
		return *key, nil
	}
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-d.next.C:
			return timeToLook{}, nil
		case answer := <-d.answers:
			if fault, crashed := answer.(fault); crashed {
				panic(fault.text) // in this goroutine, which restores the terminal
			}
			switch answer := answer.(type) {
			case looked:
				if answer.turn == d.model.turn {
					d.next.Reset(d.every)
				}
			case counted:
				d.counting = false
			}
			return answer, nil
		case event := <-d.screen.EventQ():
			switch event := event.(type) {
			case *tcell.EventResize:
				return d.size(), nil // not the event's size: tmux before 3.4 swaps columns and lines
			case *tcell.EventKey:
				key := keyOfTerminal(event)
				if event.Modifiers()&tcell.ModAlt == 0 {
					return key, nil
				}
				d.ahead = &key // Escape with a key right after it arrives as one key with Alt
				return keyPress{key: keyEscape}, nil
			case *tcell.EventError:
				return nil, fmt.Errorf("read the terminal: %w", event)
			}
		}
	}
}

// look reads the database, and cancels the look before.
func (d *desk) look(ctx context.Context) {
	d.stopLook()
	d.next.Stop() // a due timer could cancel this look; its answer restarts the timer
	ctx, d.stopLook = context.WithCancel(ctx)
	turn, wanted := d.model.turn, d.model.look
	d.beside(ctx, func() any {
		began := time.Now()
		found, err := d.app.lookOnce(ctx, d.session, wanted)
		return looked{turn: turn, at: began, found: found, err: err}
	})
}

// countEvery is how often a large table is counted, which reads all its rows. A small one is counted with each look.
const countEvery = time.Minute

// count counts the locks if a count is due. Without the right, or on a slow database, the table shows no number.
func (d *desk) count(ctx context.Context) {
	isDue := time.Since(d.counted) >= countEvery || !d.model.isOld
	if !isDue || d.counting || d.model.look.request.Operator != "" { // statistics cannot filter by operator
		return
	}
	d.counted, d.counting = time.Now(), true
	wanted := d.model.look
	d.beside(ctx, func() any {
		var found counted
		err := d.app.limited(ctx, d.session, "watch", func(ctx context.Context, s session) error {
			var err error
			found, err = wanted.count(ctx, s)
			return err
		})
		found.err = err
		return found
	})
}

// report reads the text of the page.
func (d *desk) report(ctx context.Context) {
	wanted, style := d.model.page, d.model.style
	d.beside(ctx, func() any {
		found := reported{title: wanted.title}
		found.err = d.app.limited(ctx, d.session, wanted.report.name, func(ctx context.Context, s session) error {
			var err error
			found.texts, err = wanted.report.read(ctx, s, style, wanted.lock)
			return err
		})
		return found
	})
}

// change makes the confirmed change, lock by lock. Leaving the table cancels it. A refusal concerns its own lock only; a call without an
// answer stops the rest.
func (d *desk) change(ctx context.Context) {
	verb, wish := d.model.verb, d.model.wish
	d.beside(ctx, func() any {
		var done changed
		for _, lock := range wish.locks {
			err := d.app.limited(ctx, d.session, verb.name, func(ctx context.Context, s session) error {
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
	var late *timeoutError
	return errors.As(err, &late) || errors.Is(err, applock.ErrOutcomeUnknown) || errors.Is(err, applock.ErrUnreachable)
}

// fault is a panic in a goroutine of beside.
type fault struct{ text string }

// beside runs work in a goroutine and sends its result as an event, until ctx ends.
func (d *desk) beside(ctx context.Context, work func() any) {
	send := func(answer any) {
		select {
		case d.answers <- answer:
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

func (d *desk) draw() {
	d.screen.Clear()
	for y, line := range d.model.view() {
		d.screen.PutStrStyled(0, y, line.text, styleOf(line))
	}
	d.screen.Show()
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
