package main

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/clipperhouse/displaywidth"

	"github.com/applock/applock/applock"
)

// field is one cell of a table, below its title.
type field struct {
	title string
	// value is a text, which a narrow terminal may shorten, or one of the types that style.cell knows.
	value any
	// wide fields are shown with --wide only.
	wide bool
}

// word is one of a few, which no terminal shortens.
type word string

// lasting is a time that is left, in seconds; zero is that of nothing.
type lasting int64

// style is how tables are shown to people. JSON knows nothing of it.
type style struct {
	// wide shows all fields, and times to the second with their zone.
	wide bool
	// zone is where the reader is.
	zone *time.Location
	// width is how many cells of the terminal a line may have, zero for any number.
	width int
}

// cell returns a value for people.
func (s style) cell(value any) string {
	switch value := value.(type) {
	case timestamp:
		return s.time(time.Time(value))
	case lasting:
		return value.short()
	case applock.Fence:
		return positive(int64(value))
	case applock.Outcome:
		return string(value)
	case word:
		return string(value)
	case int64:
		return strconv.FormatInt(value, 10)
	default:
		text, _ := value.(string)
		return text
	}
}

// time leaves out the zone of people who look at their own clock.
func (s style) time(moment time.Time) string {
	layout := "2006-01-02 15:04"
	switch {
	case moment.IsZero():
		return ""
	case s.wide:
		layout = "2006-01-02 15:04:05 MST"
	case s.zone == time.UTC:
		layout = "2006-01-02 15:04 MST"
	}
	return moment.In(s.zone).Format(layout)
}

// short returns days and hours, or hours and minutes, or minutes, or seconds.
func (l lasting) short() string {
	left := time.Duration(l) * time.Second
	if left == 0 {
		return ""
	}
	for _, precision := range []struct{ from, unit time.Duration }{
		{24 * time.Hour, time.Hour}, {time.Minute, time.Minute}, {0, time.Second},
	} {
		if left >= precision.from {
			left = left.Truncate(precision.unit)
			break
		}
	}
	text := duration(left)
	return text.String()
}

// positive returns nothing for the number of nothing.
func positive(number int64) string {
	if number == 0 {
		return ""
	}
	return strconv.FormatInt(number, 10)
}

// printable makes a cell visible and harmless: names may contain what would break the line or command
// the terminal.
func printable(cell string) string {
	if cell == "" {
		return "-"
	}
	if strings.ContainsFunc(cell, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(cell)
	}
	return cell
}

// table aligns cells in columns.
type table struct {
	style  style
	titles []string
	// texts are the columns that may be shortened.
	texts  []bool
	widths []int
	// lines are those that have not been aligned yet.
	lines [][]string
}

// newTable returns an empty table with the titles of these fields.
func newTable(style style, fields []field) *table {
	t := &table{style: style}
	for _, field := range fields {
		if field.wide && !style.wide {
			continue
		}
		_, text := field.value.(string)
		t.titles = append(t.titles, field.title)
		t.texts = append(t.texts, text)
	}
	t.widths = make([]int, len(t.titles))
	t.lines = [][]string{t.titles}
	return t
}

// add adds a line.
func (t *table) add(fields []field) {
	var line []string
	for _, field := range fields {
		if !field.wide || t.style.wide {
			line = append(line, printable(t.style.cell(field.value)))
		}
	}
	t.lines = append(t.lines, line)
}

// align returns the lines that have been added since the last time, below each other and below those before.
func (t *table) align() string {
	for _, line := range t.lines {
		for i, cell := range line {
			t.widths[i] = max(t.widths[i], displaywidth.String(cell))
		}
	}
	t.fit()
	var text strings.Builder
	for _, line := range t.lines {
		for i, cell := range line {
			cell = shorten(cell, t.widths[i])
			if i < len(line)-1 {
				cell = padded(cell, t.widths[i]) + gap
			}
			text.WriteString(cell)
		}
		text.WriteString("\n")
	}
	t.lines = nil
	return text.String()
}

// gap is between two columns.
const gap = "  "

// fit takes from the widest column of texts until a line fits, of two from the right one. It leaves each enough to
// recognise something, and most to the left one, which is what the line is about.
func (t *table) fit() {
	const enough, enoughForLeft = 8, 20
	if t.style.width == 0 {
		return
	}
	excess := -t.style.width - len(gap)
	for _, width := range t.widths {
		excess += width + len(gap)
	}
	left := slices.Index(t.texts, true)
	for ; excess > 0; excess-- {
		widest := -1
		for i, width := range t.widths {
			least := max(enough, len(t.titles[i]))
			if i == left {
				least = enoughForLeft
			}
			if t.texts[i] && width > least && (widest < 0 || width >= t.widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return
		}
		t.widths[widest]--
	}
}

// shorten cuts a text that is wider than width cells, visibly.
func shorten(text string, width int) string {
	return displaywidth.TruncateString(text, width, "…")
}

// padded fills a text with blanks up to width cells.
func padded(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-displaywidth.String(text)))
}
