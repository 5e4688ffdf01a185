package watch

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/cmd/applockctl/internal/table"
	"github.com/applock/applock/internal/visible"
)

// A page is a text in place of the table, until a key closes it.

// Keys lists the keys, for the help page of the table and of the command. It fits into 80 columns.
const Keys = `  j k, up down pgup pgdn   select a lock
  home end                 select the first lock, or the last
  /                        show only locks with this text in any part of the
                           object, operator, department or note
  s                        sort by object, left, age, waiters
  x                        mark the lock; t, o, r, e and a act on all marked ones
  esc                      show all locks again; then unmark them
  t                        transfer the lock to another operator
  o                        take over the lock, which needs a reason
  r                        release the lock
  e                        extend the lock, which stays with its holder
  a                        ask the holder for the object
  h                        show the history of the object, newest first
  i                        show the inbox of the lock's holder, newest first
  w                        show who waits for the object and who asks for it
  space                    refresh at once
  ?                        show these keys
  q                        quit`

// Colour explains the colour of a line.
const Colour = `A red lock ends within the hour, and is in the last quarter of its time.`

// report is a page that is read from the database. Each entry of reports is one.
type report struct {
	key, name string
	// about is the title, with the object or, if ofHolder, with its holder.
	about    string
	ofHolder bool
	none     string
	// read returns the paragraphs of the report, the newest first.
	read func(context.Context, Session, table.Style, applock.Lock) ([]string, error)
}

// reports returns the pages. inbox reads a page of an inbox, with the locks that end soon.
func reports(inbox readInbox) []report {
	return []report{
		{key: "h", name: "history", about: "The history of %s", none: noHistory, read: readHistory},
		{key: "i", name: "inbox", about: "The inbox of %s", ofHolder: true, none: noInbox, read: inbox.read},
		{key: "w", name: "waiters", about: "Who wants %s", none: "Nobody waits, and nobody asks.", read: readWantsOf},
	}
}

// mostInReport is the maximum of paragraphs in a report.
const mostInReport = 200

// The texts of empty pages.
const (
	noHistory = "There are no events. A get, renewal or release by the holder leaves one only if the policy of the type has --history all."
	noInbox   = "There is no news. No lock of this operator was taken, handed over, released or awaited, or ends within the hour."
)

func (r report) title(lock applock.Lock) string {
	if r.ofHolder {
		return fmt.Sprintf(r.about, lock.Owner.Operator)
	}
	return fmt.Sprintf(r.about, lock.Object)
}

func readHistory(ctx context.Context, s Session, style table.Style, lock applock.Lock) ([]string, error) {
	request := applock.HistoryRequest{ObjectType: lock.Object.Type, ObjectID: lock.Object.ID, NewestFirst: true, PageSize: mostInReport}
	var texts []string
	for event, err := range s.History(ctx, request) {
		if err != nil {
			return nil, err
		}
		if len(texts) == mostInReport {
			return append(texts, "... and older events"), nil
		}
		texts = append(texts, eventText(style, event))
	}
	return texts, nil
}

func eventText(style table.Style, event applock.Event) string {
	text := fmt.Sprintf("%s  %s", style.Time(event.At), event.Kind)
	if event.From.Operator != "" {
		text += "  from " + event.From.String()
	}
	if event.To.Operator != "" {
		text += "  to " + event.To.String()
	}
	if event.Actor != "" {
		text += "  by " + event.Actor
	}
	if event.Reason != "" {
		text += "  why: " + event.Reason
	}
	return text
}

// readInbox reads a page of an inbox, with the locks that end soon.
type readInbox func(context.Context, *applock.Client, applock.InboxRequest) ([]applock.Notice, applock.InboxPosition, error)

// read reads the whole inbox, since the newest notices are at its end.
func (inbox readInbox) read(ctx context.Context, s Session, style table.Style, lock applock.Lock) ([]string, error) {
	request := applock.InboxRequest{Operator: lock.Owner.Operator, PageSize: applock.DefaultPageSize}
	isEvent := func(notice applock.Notice) bool { return notice.Event != 0 }
	var notices []applock.Notice
	for full := true; full; {
		page, next, err := inbox(ctx, s.Client, request)
		if err != nil {
			return nil, err
		}
		s.Restart()
		notices = slices.DeleteFunc(notices, func(notice applock.Notice) bool { return !isEvent(notice) }) // each page repeats these
		notices = append(notices, page...)
		request.Position, full = next, len(page) == request.PageSize && slices.ContainsFunc(page, isEvent)
	}
	slices.Reverse(notices)
	var texts []string
	for _, notice := range notices[:min(len(notices), mostInReport)] {
		texts = append(texts, noticeText(style, notice))
	}
	return texts, nil
}

func noticeText(style table.Style, notice applock.Notice) string {
	text := fmt.Sprintf("%s  %s  %s", style.Time(notice.At), notice.Kind, notice.Object)
	switch {
	case notice.Kind == applock.NoticeHanded:
		text += "  from " + notice.Other.String()
	case notice.Other.Operator != "":
		text += "  by " + notice.Other.String()
	}
	if notice.Reason != "" {
		text += "  why: " + notice.Reason
	}
	if notice.Message != "" {
		text += "  asks: " + notice.Message
	}
	return text
}

func readWantsOf(ctx context.Context, s Session, style table.Style, lock applock.Lock) ([]string, error) {
	request := applock.WaitersRequest{ObjectType: lock.Object.Type, ObjectID: lock.Object.ID}
	waiting, err := readWants(s, s.Waiters(ctx, request), wantOfWaiter, func(waiter applock.Waiter) string {
		return fmt.Sprintf("%s  %s  waits for %s", style.Time(waiter.Since), waiter.Owner, waited(waiter.Waited))
	})
	if err != nil {
		return nil, err
	}
	asking, err := readWants(s, s.Asking(ctx, applock.AskingRequest(request)), wantOfAsker, func(asker applock.Asker) string {
		return style.Time(asker.Since) + "  asks: " + askerText(asker)
	})
	return append(waiting, asking...), err
}

// readWants reads a whole list, since it is not sorted by time, and returns the texts of the oldest.
func readWants[T any](s Session, list iter.Seq2[T, error], want func(T) (applock.Object, time.Time), text func(T) string) ([]string, error) {
	var all []T
	for one, err := range list {
		if err != nil {
			return nil, err
		}
		s.Restart()
		all = append(all, one)
	}
	oldestFirst(all, want)
	var texts []string
	for _, one := range all[:min(len(all), mostInReport)] {
		texts = append(texts, text(one))
	}
	if more := len(all) - mostInReport; more > 0 {
		texts = append(texts, fmt.Sprintf("... and %d more", more))
	}
	return texts, nil
}

func askerText(asker applock.Asker) string {
	text := asker.Owner.String() + " for " + waited(asker.Waited)
	if asker.Message != "" {
		text += fmt.Sprintf(": %q", asker.Message)
	}
	if asker.Answer != "" {
		text += fmt.Sprintf(", answered %s", asker.Answer)
	}
	if asker.AnswerReason != "" {
		text += fmt.Sprintf(": %q", asker.AnswerReason)
	}
	return text
}

type page struct {
	title string
	texts []string
	// report fills the page; empty if the page needs no database.
	report report
	lock   applock.Lock
	// top is the first line in the window.
	top int
}

// pageRows is the number of lines between the title and the keys.
func (m model) pageRows() int { return max(1, m.height-3) }

// pageLines returns the whole page in lines. Each paragraph's further lines are indented.
func (m model) pageLines() []string {
	const indent = "  "
	var lines []string
	for _, text := range m.page.texts {
		wrapped := wrap(visible.Text(text), m.style.Width-len(indent))
		lines = append(lines, wrapped[0])
		for _, line := range wrapped[1:] {
			lines = append(lines, indent+line)
		}
	}
	return lines
}

func (m model) read(title string, texts ...string) model {
	m.mode, m.page = reading, page{title: title, texts: texts}
	return m
}

// ask opens the page of a report and starts reading it.
func (m model) ask(report report, lock applock.Lock) (model, effect) {
	m = m.read(report.title(lock), "reading ...")
	m.page.report, m.page.lock = report, lock
	return m, effect{report: true}
}

// filled shows the text of a report, unless another page is open by now.
func (m model) filled(event reported) model {
	if m.mode != reading || m.page.title != event.title {
		return m
	}
	m.page.texts = event.texts
	switch {
	case event.err != nil:
		m.page.texts = []string{m.problem(event.err)}
	case len(event.texts) == 0:
		m.page.texts = []string{m.page.report.none}
	}
	return m
}

// leaf scrolls the page. Any other key closes it.
func (m model) leaf(key keyPress) model {
	moves := map[pressed]int{
		keyUp: -1, keyDown: 1, keyPageUp: -m.pageRows(), keyPageDown: m.pageRows(), keyHome: -m.page.top, keyEnd: len(m.pageLines()),
	}
	lines, moved := moves[key.key]
	if !moved {
		m.mode = browsing
		return m
	}
	m.page.top = max(0, min(m.page.top+lines, len(m.pageLines())-m.pageRows()))
	return m
}

func (m model) pageView() []shadedLine {
	lines := []shadedLine{{text: m.page.title, shade: strong}, {}}
	all := m.pageLines()
	top := min(m.page.top, len(all)-1)
	for _, line := range all[top:min(len(all), top+m.pageRows())] {
		lines = append(lines, shadedLine{text: line})
	}
	for len(lines) < m.height-1 {
		lines = append(lines, shadedLine{})
	}
	keys := "any key goes back"
	if len(all) > m.pageRows() {
		keys = "up down pgup pgdn home end  any other key goes back"
	}
	return append(lines, shadedLine{text: keys, shade: faint})
}
