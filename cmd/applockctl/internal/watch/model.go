package watch

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/cmd/applockctl/internal/table"
)

// The state of watch's table, and its next state after an event. Nothing here waits, reads or prints: that is the terminal's part.

// mode selects the meaning of the keys.
type mode int

const (
	browsing mode = iota
	filtering
	asking
	confirming
	reading
)

type model struct {
	style table.Style
	query Query
	// height is the terminal's height in lines. The style has its width.
	height int

	found Snapshot
	// index is the selected line of found.Locks. selected is its object, by which the next Snapshot finds it again.
	index    int
	selected applock.Object
	// picked are the marked grants of all pages. A verb acts on them, or on the selected grant if there are none.
	picked []applock.Lock
	// top is the first line of found.Locks in the window; always zero if sorted by object.
	top int
	// starts are the pages before this one, if sorted by object.
	starts []pageStart
	before int
	// total is the number of locks at the last count, zero if unknown. isOld is true if the count may be out of date.
	total int
	isOld bool
	// turn numbers the refreshes, so that the result of an earlier one is ignored. shown is the turn on the screen.
	turn, shown int

	mode    mode
	text    string
	verbs   []verb
	reports []report
	// problem returns an error as one line.
	problem  func(error) string
	by       string
	verb     verb
	wish     wish
	step     int
	page     page
	changing bool

	// message is the answer to the last change. trouble is the reason why no refresh has succeeded since seen.
	message, trouble string
	seen             time.Time
}

// The events: a key, a new size of the window, the result of a refresh, a change, a report or a count, and the time for the next refresh.
type (
	keyPress struct {
		key pressed
		// text is the character of an ordinary key.
		text string
	}
	windowSize struct{ width, height int }
	refreshed  struct {
		turn int
		// at is when the refresh began.
		at    time.Time
		found Snapshot
		err   error
	}
	// changed has the changed locks with their answers, and the errors of others. Locks in neither list were not attempted.
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
	// counted has the number of locks, and of the rows that were read to count them.
	counted struct {
		locks, rows int64
		err         error
	}
	refreshDue struct{}
)

// pageStart is the start of a page: behind an object, with the number of locks before it.
type pageStart struct {
	after  applock.Object
	before int
}

// pressed is a key that is no character.
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

// effect is the terminal's task after an event.
type effect struct {
	refresh bool
	change  bool
	report  bool
	leave   bool
	// interrupted means that Ctrl-C ends the program.
	interrupted bool
}

// aroundRows is the usual number of lines that show no locks: two above the table, three about the selected lock, two below.
const (
	aboveRows  = 2
	aroundRows = aboveRows + 5
)

func (m model) rows() int { return max(1, m.height-aroundRows) }

func (m model) update(event any) (model, effect) {
	switch event := event.(type) {
	case windowSize:
		if m.height == event.height && m.style.Width == event.width {
			return m, effect{}
		}
		m.height, m.style.Width = event.height, event.width
		m.query.rows = m.rows()
		return m.scrolled().again()
	case refreshed:
		return m.arrived(event)
	case changed:
		m.changing, m.message = false, m.outcome(event)
		for _, lock := range event.done {
			m = m.unpicked(lock)
		}
		return m.again()
	case reported:
		return m.filled(event), effect{}
	case counted:
		m.total, m.isOld = int(event.locks), !event.isCheap()
		return m, effect{}
	case refreshDue:
		return m, effect{refresh: true}
	case keyPress:
		if event.key == keyInterrupt {
			return m, effect{interrupted: true}
		}
		return m.keyed(event)
	default:
		return m, effect{}
	}
}

// isCheap reports whether each refresh can count the locks.
func (c counted) isCheap() bool {
	if c.err != nil {
		return errors.Is(c.err, applock.ErrUnreachable) // nothing was read
	}
	return c.rows <= 10_000
}

// again starts a new refresh, in place of a running one.
func (m model) again() (model, effect) {
	m.turn++
	return m, effect{refresh: true}
}

func (m model) outcome(event changed) string {
	texts := event.answers
	if all := len(m.wish.locks); all > 1 {
		texts = []string{fmt.Sprintf("%s: %d of %d locks", m.verb.name, len(event.answers), all)}
	}
	for _, err := range event.errs {
		texts = append(slices.Clip(texts), m.problem(err))
	}
	return strings.Join(texts, "; ")
}

func (m model) arrived(event refreshed) (model, effect) {
	if event.turn != m.turn {
		return m, effect{}
	}
	if event.err != nil {
		m.trouble, m.query.last = m.problem(event.err), false
		return m, effect{}
	}
	if m.query.last {
		m = m.atTheEnd(event.found)
	}
	m.found, m.shown, m.trouble, m.seen = event.found, event.turn, "", event.at
	m.picked = slices.DeleteFunc(slices.Clone(m.picked), m.hasEnded)
	if len(m.found.Locks) == 0 && len(m.starts) > 0 {
		return m.pageBefore() // the last page has become empty
	}
	at := slices.IndexFunc(m.found.Locks, func(lock applock.Lock) bool { return lock.Object == m.selected })
	if at < 0 {
		at = m.index // the next lock has moved up
	}
	return m.selecting(at), effect{}
}

// hasEnded reports whether the table proves that a grant is over: its object has another grant, or is missing between its neighbours.
func (m model) hasEnded(lock applock.Lock) bool {
	locks := m.found.Locks
	if at := slices.IndexFunc(locks, func(found applock.Lock) bool { return found.Object == lock.Object }); at >= 0 {
		return locks[at].Fence != lock.Fence
	}
	behind := m.found.more && before(locks[len(locks)-1].Object, lock.Object)
	return m.query.byKey() && m.query.filter == "" && before(m.query.Request.After, lock.Object) && !behind
}

// selecting selects the line at index, or the nearest one.
func (m model) selecting(index int) model {
	m.index = max(0, min(index, len(m.found.Locks)-1))
	m.selected = applock.Object{}
	if m.index < len(m.found.Locks) {
		m.selected = m.found.Locks[m.index].Object
	}
	return m.scrolled()
}

// scrolled moves the window to the selected line.
func (m model) scrolled() model {
	m.top = max(0, min(m.top, m.index), m.index-m.rows()+1)
	return m
}

func (m model) chosen() (lock applock.Lock, there bool) {
	if m.index < len(m.found.Locks) {
		return m.found.Locks[m.index], true
	}
	return lock, false
}

func (m model) keyed(key keyPress) (model, effect) {
	switch m.mode {
	case filtering, asking:
		return m.typing(key)
	case confirming:
		m.mode = browsing
		if key.text == "y" {
			m.changing, m.message = true, m.verb.name+" "+m.wish.what()+" ..."
			return m, effect{change: true}
		}
		m.message = "nothing was done"
		return m, effect{}
	case reading:
		return m.leaf(key.moving()), effect{}
	default:
		return m.browse(key.moving())
	}
}

// moving returns the arrow that a letter stands for.
func (k keyPress) moving() keyPress {
	switch k.text {
	case "j":
		return keyPress{key: keyDown}
	case "k":
		return keyPress{key: keyUp}
	}
	return k
}

// noSuchKey is the answer to a key without a meaning.
const noSuchKey = "There is no such key: ? shows the keys."

// browse handles a key of the table: it moves the selection or begins an action.
func (m model) browse(key keyPress) (model, effect) {
	if m.message == noSuchKey {
		m.message = ""
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
		if m.query.filter == "" {
			m.picked = nil
		}
		m.query.filter, m.message = "", ""
		return m.first()
	}
	switch key.text {
	case "q":
		return m, effect{leave: true}
	case "?":
		return m.read("The keys of applockctl watch", append(strings.Split(Keys, "\n"), "", Colour)...), effect{}
	case " ":
		return m.again()
	case "/":
		m.mode, m.text = filtering, m.query.filter
		return m, effect{}
	case "x":
		return m.pick(), effect{}
	case "s":
		all := Orders()
		m.query.Order = all[(slices.Index(all, m.query.Order)+1)%len(all)]
		return m.first()
	}
	if at := slices.IndexFunc(m.reports, func(r report) bool { return r.key == key.text }); at >= 0 {
		lock, there := m.chosen()
		if !there {
			return m, effect{}
		}
		return m.ask(m.reports[at], lock)
	}
	return m.begin(key.text)
}

func (m model) isPicked(lock applock.Lock) bool {
	return slices.ContainsFunc(m.picked, func(picked applock.Lock) bool { return picked.Key() == lock.Key() })
}

func (m model) unpicked(lock applock.Lock) model {
	m.picked = slices.DeleteFunc(slices.Clone(m.picked), func(picked applock.Lock) bool { return picked.Key() == lock.Key() })
	return m
}

// pick marks or unmarks the selected lock.
func (m model) pick() model {
	lock, there := m.chosen()
	switch {
	case m.isPicked(lock):
		return m.unpicked(lock)
	case there:
		m.picked = append(slices.Clone(m.picked), lock)
	}
	return m
}

// begin begins the verb of a key, on the marked locks or the selected one.
func (m model) begin(key string) (model, effect) {
	locks := m.picked
	if lock, there := m.chosen(); there && len(locks) == 0 {
		locks = []applock.Lock{lock}
	}
	at := slices.IndexFunc(m.verbs, func(v verb) bool { return v.key == key })
	switch {
	case m.changing:
		return m, effect{}
	case at < 0:
		m.message = noSuchKey
		return m, effect{}
	case len(locks) == 0:
		return m, effect{}
	}
	m.verb, m.wish, m.message = m.verbs[at], wish{locks: locks, by: m.by}, ""
	m.mode, m.step, m.text = asking, 0, ""
	if len(m.verb.asks) == 0 {
		m.mode = confirming
	}
	return m, effect{}
}

// typing reads a text, which Enter ends and Escape drops.
func (m model) typing(key keyPress) (model, effect) {
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
	return m, effect{}
}

// offered returns the names on the screen that fit the question and begin with the typed text, in any case.
func (m model) offered() []string {
	if m.mode != asking || m.verb.asks[m.step].name == nil {
		return nil
	}
	var owners []applock.Owner
	for _, lock := range m.found.Locks {
		owners = append(owners, lock.Owner)
	}
	for _, waiter := range m.found.Waiters {
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

func (m model) entered() (model, effect) {
	if m.mode == filtering {
		m.mode, m.query.filter = browsing, m.text
		return m.fromTheTop()
	}
	ask := m.verb.asks[m.step]
	answer := strings.TrimSpace(m.text)
	if answer == "" && !ask.optional || ask.valid != nil && !ask.valid(answer) {
		return m, effect{}
	}
	*ask.answer(&m.wish) = answer
	m.by = m.wish.by // remembered for the next change
	m.step, m.text = m.step+1, ""
	if m.step == len(m.verb.asks) {
		m.mode = confirming
		return m, effect{}
	}
	m.text = *m.verb.asks[m.step].answer(&m.wish)
	return m, effect{}
}

// move moves the selection, also to the previous or next page.
func (m model) move(lines int) (model, effect) {
	target := m.index + lines
	switch last := len(m.found.Locks) - 1; {
	case (target > last || target < 0) && m.shown != m.turn:
		return m, effect{} // the next page is being read; where it ends is still unknown
	case target > last && m.found.more && m.query.byKey():
		return m.pageBehind()
	case target < 0 && len(m.starts) > 0:
		return m.pageBefore()
	}
	return m.selecting(target), effect{}
}

// pageBehind reads the page behind the last lock.
func (m model) pageBehind() (model, effect) {
	m.starts = append(slices.Clone(m.starts), pageStart{m.query.Request.After, m.before})
	m.before += len(m.found.Locks)
	m.query.Request.After = m.found.Locks[len(m.found.Locks)-1].Object
	m.index, m.selected = 0, applock.Object{}
	return m.again()
}

// pageBefore reads the previous page and selects its last line.
func (m model) pageBefore() (model, effect) {
	last := len(m.starts) - 1
	start := m.starts[last]
	m.query.Request.After, m.before, m.starts = start.after, start.before, m.starts[:last]
	m.index, m.selected = m.rows()-1, applock.Object{}
	return m.again()
}

// fromTheTop starts at the first page. The selected lock stays selected if it is there.
func (m model) fromTheTop() (model, effect) {
	m.starts, m.query.Request.After, m.query.last = nil, applock.Object{}, false
	m.before, m.index, m.top = 0, 0, 0
	return m.again()
}

// end selects the last lock, which may be on another page.
func (m model) end() (model, effect) {
	if m.found.more && m.query.byKey() {
		m.query.last = true
		return m.again()
	}
	return m.selecting(len(m.found.Locks) - 1), effect{}
}

// atTheEnd shows the last page and remembers the starts of the pages before it.
func (m model) atTheEnd(found Snapshot) model {
	for _, start := range found.skipped {
		m.starts = append(slices.Clip(m.starts), pageStart{start.after, m.before + start.before})
	}
	if skipped := len(found.skipped); skipped > 0 {
		m.before += skipped * m.query.rows
	}
	m.query.last, m.query.Request.After = false, found.after
	m.index, m.selected = len(found.Locks)-1, applock.Object{}
	return m
}

func (m model) first() (model, effect) {
	m.selected = applock.Object{}
	return m.fromTheTop()
}
