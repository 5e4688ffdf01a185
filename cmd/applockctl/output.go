package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/spf13/pflag"

	"github.com/applock/applock/applock"
)

// format is how results are printed.
type format string

const (
	formatTable format = "table"
	formatJSON  format = "json"
)

var _ pflag.Value = (*format)(nil)

// Set parses text.
func (f *format) Set(text string) error {
	switch parsed := format(text); parsed {
	case formatTable, formatJSON:
		*f = parsed
		return nil
	default:
		return errors.New("write table or json")
	}
}

// String returns the text that Set understands as the same.
func (f *format) String() string { return string(*f) }

// Type is the word for the value in the help.
func (f *format) Type() string { return "format" }

// timestamp is a time of the database; zero is the time of nothing.
type timestamp time.Time

// MarshalJSON returns the time as RFC 3339 with microseconds, and null for nothing.
func (t timestamp) MarshalJSON() ([]byte, error) {
	if time.Time(t).IsZero() {
		return json.Marshal(nil)
	}
	return json.Marshal(time.Time(t).UTC().Format("2006-01-02T15:04:05.000000Z"))
}

// cell is the time for people.
func (t timestamp) cell() string {
	if time.Time(t).IsZero() {
		return ""
	}
	return time.Time(t).UTC().Format("2006-01-02 15:04:05 UTC")
}

// wholeSeconds is a time that is left, as the operations say it.
func wholeSeconds(left time.Duration) int64 { return int64(left / time.Second) }

// fenceCell is the fence for people.
func fenceCell(fence applock.Fence) string {
	if fence == 0 {
		return ""
	}
	return strconv.FormatInt(int64(fence), 10)
}

// record is one result. Its JSON is for programs and must not change; its cells are for people.
type record interface {
	cells() []string
}

// flushEvery is how many rows of a table are aligned with each other: a list may be long, and its
// beginning shall appear, and leave the memory, before its end.
const flushEvery = 1000

// printer prints records as a table or as JSON, one object per line.
type printer struct {
	buffer  *bufio.Writer
	json    *json.Encoder     // nil for a table
	table   *tabwriter.Writer // nil for JSON
	columns []string
	records int
}

func (a *app) newPrinter(columns ...string) *printer {
	p := &printer{buffer: bufio.NewWriterSize(a.stdout, 64*1024), columns: columns}
	if a.output == formatJSON {
		p.json = json.NewEncoder(p.buffer)
		p.json.SetEscapeHTML(false)
		return p
	}
	p.table = tabwriter.NewWriter(p.buffer, 0, 8, 2, ' ', 0)
	return p
}

// print prints one record, the first one below the header of the table.
func (p *printer) print(r record) error {
	p.records++
	if p.json != nil {
		return wrapWrite(p.json.Encode(r))
	}
	if p.records == 1 {
		if err := p.line(p.columns); err != nil {
			return err
		}
	}
	cells := r.cells()
	for i, cell := range cells {
		cells[i] = printable(cell)
	}
	if err := p.line(cells); err != nil || p.records%flushEvery != 0 {
		return err
	}
	return wrapWrite(p.table.Flush())
}

func (p *printer) line(cells []string) error {
	_, err := io.WriteString(p.table, strings.Join(cells, "\t")+"\n")
	return wrapWrite(err)
}

// flush prints what is still kept back.
func (p *printer) flush() error {
	if p.table != nil {
		if err := p.table.Flush(); err != nil {
			return wrapWrite(err)
		}
	}
	return wrapWrite(p.buffer.Flush())
}

// end ends the output of a success: an empty table has a header, too.
func (p *printer) end() error {
	if p.table != nil && p.records == 0 {
		if err := p.line(p.columns); err != nil {
			return err
		}
	}
	return p.flush()
}

// print prints a result of one record.
func (a *app) print(r record, columns ...string) error {
	p := a.newPrinter(columns...)
	if err := p.print(r); err != nil {
		return err
	}
	return p.end()
}

// answer prints the answer of an operation and turns no into errNo.
func (a *app) answer(yes bool, r record, columns ...string) error {
	if err := a.print(r, columns...); err != nil {
		return err
	}
	if !yes {
		return errNo
	}
	return nil
}

func wrapWrite(err error) error {
	if err == nil {
		return nil
	}
	return &writeError{err: err}
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

// isTerminal reports whether somebody watches what is written.
func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
