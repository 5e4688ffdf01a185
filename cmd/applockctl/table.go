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

// field is one cell of a table, with the title of its column.
type field struct {
	title string
	// value is a text, which a narrow terminal may shorten, or a type that style.cell formats.
	value any
	// wide fields appear with --wide only.
	wide bool
}

// word is one of a few fixed words, which are never shortened.
type word string

// lasting is a time left, in seconds; zero means none.
type lasting int64

// style sets how tables look. It has no effect on JSON.
type style struct {
	// wide shows all fields, and times to the second with their zone.
	wide bool
	// zone is the reader's time zone.
	zone *time.Location
	// width is the number of cells in a line of the terminal, zero for no limit.
	width int
}

// cell formats a value for people.
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

// time leaves out the zone if it is the reader's own.
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

// short formats the two largest units: days and hours, hours and minutes, minutes, or seconds.
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

// positive returns an empty text for zero or less.
func positive(number int64) string {
	if number == 0 {
		return ""
	}
	return strconv.FormatInt(number, 10)
}

// printable escapes the characters of a name that would break the line or control the terminal.
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
	// texts marks the columns that may be shortened.
	texts  []bool
	widths []int
	// lines are not aligned yet.
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

func (t *table) add(fields []field) {
	var line []string
	for _, field := range fields {
		if !field.wide || t.style.wide {
			line = append(line, printable(t.style.cell(field.value)))
		}
	}
	t.lines = append(t.lines, line)
}

// align returns the lines that were added since the last call, aligned with each other and with the earlier ones.
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

// gap separates two columns.
const gap = "  "

// fit shortens the widest text column until a line fits; of two equal ones, the right one. Each column keeps a readable minimum. The left
// column keeps the most, since it names the object.
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

// shorten cuts a text to width cells and marks the cut.
func shorten(text string, width int) string {
	return displaywidth.TruncateString(text, width, "…")
}

// padded pads a text with blanks to width cells.
func padded(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-displaywidth.String(text)))
}
