package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/secret"
)

// What the table of watch knows, and what an event makes of it. Nothing here waits, reads or prints: the desk does.

// mode is what the keys are for.
type mode int

const (
	browsing mode = iota
	filtering
	asking
	confirming
	reading
)

// model is the table at one time.
type model struct {
	style style
	look  look
	// height is that of the terminal, in lines. Its width is the style's.
	height int

	found sight
	// index is the selected line of found.locks, and selected its object, by which it is found again.
	index    int
	selected applock.Object
	// picked are the grants that are marked, on whatever page. A verb concerns them, or the selected one where there are none.
	picked []applock.Lock
	// top is the first line of found.locks in the window; always zero in the order of objects.
	top int
	// starts are where the pages before this one begin, in the order of objects, and before how many locks they have.
	starts []pageStart
	before int
	// total is how many locks there were when they were counted, zero if that is not known. isOld is true if that may be long ago.
	total int
	isOld bool
	// turn numbers what is looked for: an answer to an earlier question is of no use. shown is that of the found ones.
	turn, shown int

	mode mode
	// text is what has been typed.
	text    string
	verbs   []verb
	reports []report
	// by is who sits at the table, empty if that is not known.
	by   string
	verb verb
	wish wish
	step int
	page page
	// changing is true while the database has not answered the last change.
	changing bool

	// said is the answer to the last change, and trouble why there is no new sight since seen.
	said, trouble string
	seen          time.Time
}

// The events of the table: the keys that are pressed, the window that has another size, what a look, a change, a
// report and a count came to, and the time for the next look.
type (
	keyPress struct {
		key pressed
		// text is what a key types, if it is no other.
		text string
	}
	windowSize struct{ width, height int }
	looked     struct {
		turn int
		// at is when the look began.
		at    time.Time
		found sight
		err   error
	}
	// changed has the locks that it was done with and their answers, and the errors of others. What is in neither was not begun.
	changed struct {
		done    []applock.Lock
		answers []string
		errs    []error
	}
	reported struct {
		title string
		texts []string
		err   error
	}
	// counted has how many locks there are, and how many rows were read for it.
	counted struct {
		locks, rows int64
		err         error
	}
	timeToLook struct{}
)

// pageStart is where a page of the list begins: behind an object, before which there are some more locks.
type pageStart struct {
	after  applock.Object
	before int
}

// pressed is a key that types nothing.
type pressed int

const (
	typed pressed = iota
	keyUp
	keyDown
	keyPageUp
	keyPageDown
	keyHome
	keyEnd
	keyEnter
	keyEscape
	keyTab
	keyErase
	keyEraseAll
	keyInterrupt
)

// deed is what the desk is to do after an event.
type deed struct {
	look bool
	// change is a wish to be done by verb.
	change bool
	// report is that of the page.
	report bool
	leave  bool
	// interrupted is the end by Ctrl-C.
	interrupted bool
}

// aroundRows is how many lines of the window are no locks as a rule: two above them, three on the selected one, and two below.
const (
	aboveRows  = 2
	aroundRows = aboveRows + 5
)

func (m model) rows() int { return max(1, m.height-aroundRows) }

// update returns the table after an event.
func (m model) update(event any) (model, deed) {
	switch event := event.(type) {
	case windowSize:
		if m.height == event.height && m.style.width == event.width {
			return m, deed{}
		}
		m.height, m.style.width = event.height, event.width
		m.look.rows = m.rows()
		return m.scrolled().again()
	case looked:
		return m.arrived(event)
	case changed:
		m.changing, m.said = false, m.outcome(event)
		for _, lock := range event.done {
			m = m.unpicked(lock)
		}
		return m.again()
	case reported:
		return m.filled(event), deed{}
	case counted:
		m.total, m.isOld = int(event.locks), !event.isCheap()
		return m, deed{}
	case timeToLook:
		return m, deed{look: true}
	case keyPress:
		if event.key == keyInterrupt {
			return m, deed{interrupted: true}
		}
		return m.keyed(event)
	default:
		return m, deed{}
	}
}

// isCheap reports whether the locks can be counted with each look.
func (c counted) isCheap() bool {
	if c.err != nil {
		return errors.Is(c.err, applock.ErrUnreachable) // nothing was read
	}
	return c.rows <= 10_000
}

// again asks for a new sight, in place of one that is under way.
func (m model) again() (model, deed) {
	m.turn++
	return m, deed{look: true}
}

// problem is the text of an error, for one line.
func problem(err error) string { return oneLine(secret.Redact(inFlags(err))) }

// outcome tells what has become of a change.
func (m model) outcome(event changed) string {
	texts := event.answers
	if all := len(m.wish.locks); all > 1 {
		texts = []string{fmt.Sprintf("%s: %d of %d locks", m.verb.name, len(event.answers), all)}
	}
	for _, err := range event.errs {
		texts = append(slices.Clip(texts), problem(err))
	}
	return strings.Join(texts, "; ")
}

// arrived takes what a look has found.
func (m model) arrived(event looked) (model, deed) {
	if event.turn != m.turn {
		return m, deed{}
	}
	if event.err != nil {
		m.trouble, m.look.last = problem(event.err), false
		return m, deed{}
	}
	if m.look.last {
		m = m.atTheEnd(event.found)
	}
	m.found, m.shown, m.trouble, m.seen = event.found, event.turn, "", event.at
	m.picked = slices.DeleteFunc(slices.Clone(m.picked), m.hasEnded)
	if len(m.found.locks) == 0 && len(m.starts) > 0 {
		return m.pageBefore() // the last page has become empty
	}
	at := slices.IndexFunc(m.found.locks, func(lock applock.Lock) bool { return lock.Object == m.selected })
	if at < 0 {
		at = m.index // the next one moves up
	}
	return m.selecting(at), deed{}
}

// hasEnded reports whether the table shows that a grant is over: another one is in its place, or nothing is between its neighbours.
func (m model) hasEnded(lock applock.Lock) bool {
	locks := m.found.locks
	if at := slices.IndexFunc(locks, func(found applock.Lock) bool { return found.Object == lock.Object }); at >= 0 {
		return locks[at].Fence != lock.Fence
	}
	behind := m.found.more && before(locks[len(locks)-1].Object, lock.Object)
	return m.look.byKey() && m.look.filter == "" && before(m.look.request.After, lock.Object) && !behind
}

// selecting selects a line that there is.
func (m model) selecting(index int) model {
	m.index = max(0, min(index, len(m.found.locks)-1))
	m.selected = applock.Object{}
	if m.index < len(m.found.locks) {
		m.selected = m.found.locks[m.index].Object
	}
	return m.scrolled()
}

// scrolled has the selected line in the window.
func (m model) scrolled() model {
	m.top = max(0, min(m.top, m.index), m.index-m.rows()+1)
	return m
}

// chosen returns the selected lock.
func (m model) chosen() (lock applock.Lock, there bool) {
	if m.index < len(m.found.locks) {
		return m.found.locks[m.index], true
	}
	return lock, false
}

func (m model) keyed(key keyPress) (model, deed) {
	switch m.mode {
	case filtering, asking:
		return m.typing(key)
	case confirming:
		m.mode = browsing
		if key.text == "y" {
			m.changing, m.said = true, m.verb.name+" "+m.wish.what()+" ..."
			return m, deed{change: true}
		}
		m.said = "nothing was done"
		return m, deed{}
	case reading:
		return m.leaf(key), deed{}
	default:
		return m.browse(key)
	}
}

// noSuchKey is said where a key does nothing.
const noSuchKey = "There is no such key: ? shows the keys."

// browse moves the selection, or begins something.
func (m model) browse(key keyPress) (model, deed) {
	if m.said == noSuchKey {
		m.said = ""
	}
	switch key.key {
	case keyUp:
		return m.move(-1)
	case keyDown:
		return m.move(1)
	case keyPageUp:
		return m.move(-m.rows())
	case keyPageDown:
		return m.move(m.rows())
	case keyHome:
		return m.first()
	case keyEnd:
		return m.end()
	case keyEscape:
		if m.look.filter == "" {
			m.picked = nil
		}
		m.look.filter, m.said = "", ""
		return m.first()
	}
	switch key.text {
	case "q":
		return m, deed{leave: true}
	case "?":
		return m.read("The keys of applockctl watch", append(strings.Split(watchKeys, "\n"), "", watchColour)...), deed{}
	case " ":
		return m.again()
	case "/":
		m.mode, m.text = filtering, m.look.filter
		return m, deed{}
	case "m":
		return m.pick()
	case "s":
		all := orders()
		m.look.order = order(all[(slices.Index(all, string(m.look.order))+1)%len(all)])
		return m.first()
	}
	if at := slices.IndexFunc(m.reports, func(r report) bool { return r.key == key.text }); at >= 0 {
		lock, there := m.chosen()
		if !there {
			return m, deed{}
		}
		return m.ask(m.reports[at], lock)
	}
	return m.begin(key.text)
}

// isPicked reports whether a grant is marked.
func (m model) isPicked(lock applock.Lock) bool {
	return slices.ContainsFunc(m.picked, func(picked applock.Lock) bool { return picked.Key() == lock.Key() })
}

func (m model) unpicked(lock applock.Lock) model {
	m.picked = slices.DeleteFunc(slices.Clone(m.picked), func(picked applock.Lock) bool { return picked.Key() == lock.Key() })
	return m
}

// pick marks the selected lock, or takes its mark away, and goes on to the next.
func (m model) pick() (model, deed) {
	lock, there := m.chosen()
	switch {
	case !there:
		return m, deed{}
	case m.isPicked(lock):
		m = m.unpicked(lock)
	default:
		m.picked = append(slices.Clone(m.picked), lock)
	}
	return m.move(1)
}

// begin begins what is done by a key with the marked locks, or with the selected one.
func (m model) begin(key string) (model, deed) {
	locks := m.picked
	if lock, there := m.chosen(); there && len(locks) == 0 {
		locks = []applock.Lock{lock}
	}
	at := slices.IndexFunc(m.verbs, func(v verb) bool { return v.key == key })
	switch {
	case m.changing:
		return m, deed{}
	case at < 0:
		m.said = noSuchKey
		return m, deed{}
	case len(locks) == 0:
		return m, deed{}
	}
	m.verb, m.wish, m.said = m.verbs[at], wish{locks: locks, by: m.by}, ""
	m.mode, m.step, m.text = asking, 0, ""
	if len(m.verb.asks) == 0 {
		m.mode = confirming
	}
	return m, deed{}
}

// typing takes a text, which Enter ends and Escape drops.
func (m model) typing(key keyPress) (model, deed) {
	switch key.key {
	case keyEscape:
		m.mode = browsing
	case keyErase:
		runes := []rune(m.text)
		m.text = string(runes[:max(0, len(runes)-1)])
	case keyEraseAll:
		m.text = ""
	case keyTab:
		if names := m.offered(); len(names) > 0 {
			m.text = names[0]
		}
	case keyEnter:
		return m.entered()
	case typed:
		m.text += strings.Map(func(r rune) rune {
			if unicode.IsPrint(r) {
				return r
			}
			return -1
		}, key.text)
	}
	return m, deed{}
}

// offered returns the names on the screen that answer the question and begin with what has been typed, in any case of letters.
func (m model) offered() []string {
	if m.mode != asking || m.verb.asks[m.step].name == nil {
		return nil
	}
	var owners []applock.Owner
	for _, lock := range m.found.locks {
		owners = append(owners, lock.Owner)
	}
	for _, waiter := range m.found.waiters {
		owners = append(owners, waiter.Owner)
	}
	var names []string
	for _, owner := range owners {
		name := m.verb.asks[m.step].name(owner)
		if name != "" && strings.HasPrefix(strings.ToLower(name), strings.ToLower(m.text)) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// entered takes the text that has been typed.
func (m model) entered() (model, deed) {
	if m.mode == filtering {
		m.mode, m.look.filter = browsing, m.text
		return m.fromTheTop()
	}
	ask := m.verb.asks[m.step]
	answer := strings.TrimSpace(m.text)
	if answer == "" && !ask.optional {
		return m, deed{}
	}
	*ask.answer(&m.wish) = answer
	m.by = m.wish.by // who has said it once need not type it again
	m.step, m.text = m.step+1, ""
	if m.step == len(m.verb.asks) {
		m.mode = confirming
		return m, deed{}
	}
	m.text = *m.verb.asks[m.step].answer(&m.wish)
	return m, deed{}
}

// move moves the selection by some lines, also to the page before or behind.
func (m model) move(lines int) (model, deed) {
	target := m.index + lines
	switch last := len(m.found.locks) - 1; {
	case (target > last || target < 0) && m.shown != m.turn:
		return m, deed{} // another page is on its way, and behind that one nothing is known yet
	case target > last && m.found.more && m.look.byKey():
		return m.pageBehind()
	case target < 0 && len(m.starts) > 0:
		return m.pageBefore()
	}
	return m.selecting(target), deed{}
}

// pageBehind goes on behind the last lock of the page.
func (m model) pageBehind() (model, deed) {
	m.starts = append(slices.Clone(m.starts), pageStart{m.look.request.After, m.before})
	m.before += len(m.found.locks)
	m.look.request.After = m.found.locks[len(m.found.locks)-1].Object
	m.index, m.selected = 0, applock.Object{}
	return m.again()
}

// pageBefore goes back, with the last line selected.
func (m model) pageBefore() (model, deed) {
	last := len(m.starts) - 1
	start := m.starts[last]
	m.look.request.After, m.before, m.starts = start.after, start.before, m.starts[:last]
	m.index, m.selected = m.rows()-1, applock.Object{}
	return m.again()
}

// fromTheTop looks for something else, in which the selected lock stays selected if it is there.
func (m model) fromTheTop() (model, deed) {
	m.starts, m.look.request.After, m.look.last = nil, applock.Object{}, false
	m.before, m.index, m.top = 0, 0, 0
	return m.again()
}

// end selects the last lock, which may be on another page.
func (m model) end() (model, deed) {
	if m.found.more && m.look.byKey() {
		m.look.last = true
		return m.again()
	}
	return m.selecting(len(m.found.locks) - 1), deed{}
}

// atTheEnd goes on to the last page, which was found with the way back.
func (m model) atTheEnd(found sight) model {
	for _, start := range found.skipped {
		m.starts = append(slices.Clip(m.starts), pageStart{start.after, m.before + start.before})
	}
	if skipped := len(found.skipped); skipped > 0 {
		m.before += skipped * m.look.rows
	}
	m.look.last, m.look.request.After = false, found.after
	m.index, m.selected = len(found.locks)-1, applock.Object{}
	return m
}

// first selects the first lock.
func (m model) first() (model, deed) {
	m.selected = applock.Object{}
	return m.fromTheTop()
}
