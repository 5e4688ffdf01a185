package main

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/applock/applock/applock"
)

// shade is how a line looks.
type shade int

const (
	plain shade = iota
	strong
	faint
	marked
)

// shadedLine is a line of the screen.
type shadedLine struct {
	text  string
	shade shade
}

// watchedLock is a line of the table.
type watchedLock struct {
	lock    applock.Lock
	waiting int
}

func (w watchedLock) fields() []field {
	return []field{
		{title: "OBJECT", value: w.lock.Object.String()},
		{title: "OPERATOR", value: w.lock.Owner.Operator},
		{title: "DEPARTMENT", value: w.lock.Owner.Department},
		{title: "SINCE", value: timestamp(w.lock.AcquiredAt)},
		{title: "EXPIRES-IN", value: lasting(wholeSeconds(w.lock.Left))},
		{title: "NOTE", value: w.lock.Note},
		{title: "WAITERS", value: int64(w.waiting)},
	}
}

// view returns the screen: two lines above the table, then the table, then what belongs to the selected line and what is
// to be said.
func (m model) view() []shadedLine {
	below := m.below()
	lines := []shadedLine{{m.headline(), faint}}
	lines = append(lines, m.table()...)
	room := max(0, m.height-len(below))
	lines = lines[:min(len(lines), room)]
	for len(lines) < room {
		lines = append(lines, shadedLine{})
	}
	lines = append(lines, below...)
	for i := range lines {
		lines[i].text = shorten(harmless(lines[i].text), max(1, m.style.width))
	}
	return lines
}

// harmless replaces what a terminal would obey: names, and answers about them, may contain it.
func harmless(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, text)
}

func (m model) headline() string {
	parts := []string{"locks by " + string(m.look.order)}
	request := m.look.request
	for _, selection := range []struct{ name, value string }{
		{"type", request.ObjectType}, {"operator", request.Operator}, {"department", request.Department}, {"with", m.look.filter},
	} {
		if selection.value != "" {
			parts = append(parts, selection.name+" "+printable(selection.value))
		}
	}
	switch {
	case !m.look.byKey():
		parts = append(parts, count(len(m.found.locks), "lock"))
	case m.found.more || len(m.starts) > 0:
		parts = append(parts, fmt.Sprintf("page %d", len(m.starts)+1))
	}
	return strings.Join(parts, " | ")
}

// table returns the titles and the locks of the window.
func (m model) table() []shadedLine {
	waiting := map[applock.Object]int{}
	for _, waiter := range m.found.waiters {
		waiting[waiter.Object]++
	}
	table := newTable(m.style, watchedLock{}.fields())
	end := min(len(m.found.locks), m.top+m.rows())
	for _, lock := range m.found.locks[m.top:end] {
		table.add(watchedLock{lock: lock, waiting: waiting[lock.Object]}.fields())
	}
	var lines []shadedLine
	for i, text := range strings.Split(strings.TrimSuffix(table.align(), "\n"), "\n") {
		line := shadedLine{text: text}
		switch i {
		case 0:
			line.shade = strong
		case m.index - m.top + 1:
			line = shadedLine{text: fmt.Sprintf("%-*s", m.style.width, text), shade: marked}
		}
		lines = append(lines, line)
	}
	return lines
}

// below returns the lines below the table. A plan has as many as it needs.
func (m model) below() []shadedLine {
	switch m.mode {
	case filtering:
		return []shadedLine{{}, {text: "only what has this text: " + m.text + "_", shade: strong}, {text: "enter  esc"}}
	case asking:
		object := m.verb.name + " " + m.wish.lock.Object.String()
		return []shadedLine{{}, {text: object + ": " + m.verb.asks[m.step].text + " " + m.text + "_", shade: strong}, {text: "enter  esc"}}
	case confirming:
		var lines []shadedLine
		for _, text := range wrap(m.verb.plan(m.wish), m.style.width) {
			lines = append(lines, shadedLine{text: text, shade: strong})
		}
		return append(lines, shadedLine{text: "y  does it; any other key leaves it"})
	default:
		return append(m.aboutChosen(), m.status(), shadedLine{text: m.keys(), shade: faint})
	}
}

// aboutChosen tells the selected lock in full, and who waits for it.
func (m model) aboutChosen() []shadedLine {
	lock, there := m.chosen()
	if !there {
		return []shadedLine{{}, {text: "no locks"}}
	}
	style := m.style
	style.wide = true
	about := fmt.Sprintf("%s  %s  fence %d  until %s", lock.Object, lock.Owner, lock.Fence,
		style.time(lock.ExpiresAt))
	if lock.Note != "" {
		about += "  " + lock.Note
	}
	var waiting []string
	for _, waiter := range m.found.waiters {
		if waiter.Object == lock.Object {
			waiting = append(waiting, waiter.Owner.String()+" since "+m.style.time(waiter.Since))
		}
	}
	text := "nobody waits"
	if len(waiting) > 0 {
		text = "waiting: " + strings.Join(waiting, ", ")
	}
	return []shadedLine{{text: about}, {text: text}}
}

// status is the answer to the last change, unless the table itself is not of now.
func (m model) status() shadedLine {
	if m.trouble != "" {
		return shadedLine{text: "not up to date: " + m.trouble, shade: strong}
	}
	return shadedLine{text: m.said, shade: strong}
}

func (m model) keys() string {
	keys := "/ filter  s sort  "
	for _, verb := range m.verbs {
		keys += verb.key + " " + verb.name + "  "
	}
	return keys + "space look  q leave"
}

// wrap breaks a text into lines of at most width characters, at blanks where there are any.
func wrap(text string, width int) []string {
	width = max(1, width)
	var lines []string
	line := []rune{}
	for _, word := range strings.Fields(text) {
		runes := []rune(word)
		if len(line) > 0 && len(line)+1+len(runes) > width {
			lines = append(lines, string(line))
			line = nil
		}
		if len(line) > 0 {
			line = append(line, ' ')
		}
		line = append(line, runes...)
		for len(line) > width {
			lines = append(lines, string(line[:width]))
			line = line[width:]
		}
	}
	return append(lines, string(line))
}
