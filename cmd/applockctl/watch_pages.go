package main

// A page is text over the whole window, in the place of the table, until a key closes it.

// watchKeys are the keys of the table, for its page and for the help of the command.
const watchKeys = `  up down pgup pgdn home   select a lock
  /                        show only locks with this text in any part of their object,
                           operator, department or note; esc shows all again
  s                        sort by object, left, age, waiters
  m                        mark the lock, or unmark it; t, k and r then act on all
                           marked locks, also on other pages; esc unmarks all
  t                        transfer the lock to another operator
  k                        take the lock, which needs a reason
  r                        release the lock
  space                    look at once
  ?                        show these keys
  q                        leave`

// watchColour says what the colour of a line means.
const watchColour = `A red line is a lock that ends soon: within the hour, and in the last quarter of its time.`

// page is what somebody reads.
type page struct {
	title string
	texts []string
	// top is the first line in the window.
	top int
}

// pageRows is how many lines of a page the window has, between its title and the keys.
func (m model) pageRows() int { return max(1, m.height-3) }

// pageLines returns the whole page in lines.
func (m model) pageLines() []string {
	var lines []string
	for _, text := range m.page.texts {
		lines = append(lines, wrap(harmless(text), m.style.width)...)
	}
	return lines
}

// read shows a page.
func (m model) read(title string, texts ...string) model {
	m.mode, m.page = reading, page{title: title, texts: texts}
	return m
}

// leaf moves through the page. Any key that does not closes it.
func (m model) leaf(key keyPress) model {
	moves := map[pressed]int{keyUp: -1, keyDown: 1, keyPageUp: -m.pageRows(), keyPageDown: m.pageRows(), keyHome: -m.page.top}
	lines, moved := moves[key.key]
	if !moved {
		m.mode = browsing
		return m
	}
	m.page.top = max(0, min(m.page.top+lines, len(m.pageLines())-m.pageRows()))
	return m
}

// pageView returns the screen with the page.
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
		keys = "up down pgup pgdn home  any other key goes back"
	}
	return append(lines, shadedLine{text: keys, shade: faint})
}
