// Package table prints rows in columns that fit a terminal, with the words for times and numbers that all commands use.
package table

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/clipperhouse/displaywidth"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/span"
)

// Field is one cell of a table, with the title of its column.
type Field struct {
	Title string
	// Value is a text, which a narrow terminal may shorten, or a type that Style.Cell formats.
	Value any
	// Wide fields appear with --wide only.
	Wide bool
}

// Word is one of a few fixed words, which are never shortened.
type Word string

// Lasting is a time left, in seconds; zero means none.
type Lasting int64

// Style sets how tables look. It has no effect on JSON.
type Style struct {
	// Wide shows all fields, and times to the second with their zone.
	Wide bool
	// Zone is the reader's time zone.
	Zone *time.Location
	// Width is the number of cells in a line of the terminal, zero for no limit.
	Width int
}

// Cell formats a value for people.
func (s Style) Cell(value any) string {
	switch value := value.(type) {
	case Timestamp:
		return s.Time(time.Time(value))
	case Lasting:
		return value.Short()
	case applock.Fence:
		if value == 0 {
			return ""
		}
		return strconv.FormatInt(int64(value), 10)
	case applock.Outcome:
		return string(value)
	case Word:
		return string(value)
	case int64:
		return strconv.FormatInt(value, 10)
	default:
		text, _ := value.(string)
		return text
	}
}

// Time formats a time; it leaves out the zone if it is the reader's own.
func (s Style) Time(moment time.Time) string {
	layout := "2006-01-02 15:04"
	switch {
	case moment.IsZero():
		return ""
	case s.Wide:
		layout = "2006-01-02 15:04:05 MST"
	case s.Zone == time.UTC:
		layout = "2006-01-02 15:04 MST"
	}
	return moment.In(s.Zone).Format(layout)
}

// Short formats the two largest units: days and hours, hours and minutes, minutes, or seconds.
func (l Lasting) Short() string {
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
	return span.Format(left)
}

// Printable escapes the characters of a name that would break the line or control the terminal.
func Printable(cell string) string {
	if cell == "" {
		return "-"
	}
	if strings.ContainsFunc(cell, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(cell)
	}
	return cell
}

// Table aligns cells in columns.
type Table struct {
	style  Style
	titles []string
	// texts marks the columns that may be shortened.
	texts  []bool
	widths []int
	// lines are not aligned yet.
	lines [][]string
}

// New returns an empty table with the titles of these fields.
func New(style Style, fields []Field) *Table {
	t := &Table{style: style}
	for _, field := range fields {
		if field.Wide && !style.Wide {
			continue
		}
		_, text := field.Value.(string)
		t.titles = append(t.titles, field.Title)
		t.texts = append(t.texts, text)
	}
	t.widths = make([]int, len(t.titles))
	t.lines = [][]string{t.titles}
	return t
}

// Add adds a line.
func (t *Table) Add(fields []Field) {
	var line []string
	for _, field := range fields {
		if !field.Wide || t.style.Wide {
			line = append(line, Printable(t.style.Cell(field.Value)))
		}
	}
	t.lines = append(t.lines, line)
}

// Align returns the lines that were added since the last call, aligned with each other and with the earlier ones.
func (t *Table) Align() string {
	for _, line := range t.lines {
		for i, cell := range line {
			t.widths[i] = max(t.widths[i], displaywidth.String(cell))
		}
	}
	t.fit()
	left := slices.Index(t.texts, true)
	var text strings.Builder
	for _, line := range t.lines {
		for i, cell := range line {
			if i == left {
				cell = cutInside(cell, t.widths[i])
			}
			cell = Shorten(cell, t.widths[i])
			if i < len(line)-1 {
				cell = Pad(cell, t.widths[i]) + Gap
			}
			text.WriteString(cell)
		}
		text.WriteString("\n")
	}
	t.lines = nil
	return text.String()
}

// Gap separates two columns.
const Gap = "  "

// fit shortens the widest text column until a line fits; of two equal ones, the right one. Each column keeps a readable minimum. The left
// column keeps the most, since it names the object.
func (t *Table) fit() {
	const enough, enoughForLeft = 8, 20
	if t.style.Width == 0 {
		return
	}
	excess := -t.style.Width - len(Gap)
	for _, width := range t.widths {
		excess += width + len(Gap)
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

// Shorten cuts a text to width cells and marks the cut.
func Shorten(text string, width int) string {
	return displaywidth.TruncateString(text, width, "…")
}

// cutInside cuts the middle out of a name, since names differ at their ends.
func cutInside(name string, width int) string {
	if displaywidth.String(name) <= width {
		return name
	}
	end := name
	for parts := displaywidth.StringGraphemes(name); displaywidth.String(end) > width/2 && parts.Next(); {
		end = strings.TrimPrefix(end, parts.Value())
	}
	return displaywidth.TruncateString(name, width-displaywidth.String(end), "…") + end
}

// Pad pads a text with blanks to width cells.
func Pad(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-displaywidth.String(text)))
}

// Timestamp is a time by the database's clock; zero means none.
type Timestamp time.Time

// MarshalJSON returns the time as RFC 3339 with microseconds, and null for zero.
func (t Timestamp) MarshalJSON() ([]byte, error) {
	if time.Time(t).IsZero() {
		return json.Marshal(nil)
	}
	return json.Marshal(time.Time(t).UTC().Format("2006-01-02T15:04:05.000000Z"))
}

// WholeSeconds returns the seconds left, rounded as the operations do.
func WholeSeconds(left time.Duration) int64 { return int64(left / time.Second) }

// Count returns a number with its noun.
func Count(number int, noun string) string {
	if number == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", number, noun)
}
