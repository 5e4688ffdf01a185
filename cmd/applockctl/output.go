package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/applock/applock/cmd/applockctl/internal/table"
)

type format string

const (
	formatTable format = "table"
	formatJSON  format = "json"
)

// choice is a flag that takes one of a few values, in lower case.
type choice[T ~string] struct {
	value  *T
	values []T
	// kind is the word for the value in the help, and mistake the error of another text.
	kind, mistake string
}

// Set parses text.
func (c choice[T]) Set(text string) error {
	for _, value := range c.values {
		if text == strings.ToLower(string(value)) {
			*c.value = value
			return nil
		}
	}
	return errors.New(c.mistake)
}

// String returns the text that Set parses to the same value.
func (c choice[T]) String() string {
	if c.value == nil {
		return ""
	}
	return strings.ToLower(string(*c.value))
}

// Type is the word for the value in the help.
func (c choice[T]) Type() string { return c.kind }

// names are the texts that Set accepts.
func (c choice[T]) names() []string {
	var names []string
	for _, value := range c.values {
		names = append(names, strings.ToLower(string(value)))
	}
	return names
}

func (a *app) addOutputFlags(root *cobra.Command) {
	a.output = formatTable
	flags := root.PersistentFlags()
	output := choice[format]{&a.output, []format{formatTable, formatJSON}, "format", "write table or json"}
	flags.Var(output, "output", "how results are printed: table or json")
	flags.BoolVar(&a.wide, "wide", false, "show all columns of a table, at full length")
	flags.BoolVar(&a.utc, "utc", false, "show the times of a table in UTC, not in local time")
	flags.BoolVar(&a.quiet, "quiet", false, "print nothing on success, and no remarks")
	complete(root, "output", output.names()...)
}

// record is one result: JSON keys for programs, which must not change, and fields for people.
type record interface {
	fields() []table.Field
}

// flushEvery is how many rows of a table are aligned together, so that a long list appears and leaves the memory piece by piece.
const flushEvery = 1000

// printer prints records as a table or as JSON, one object per line.
type printer struct {
	buffer *bufio.Writer
	json   *json.Encoder // nil for a table
	table  *table.Table  // nil for JSON
	// quiet suppresses the titles of an empty table.
	quiet   bool
	records int
	// more is true if a limit has left out records.
	more bool
	// printed has the first records in words, for the error of an output that fails.
	printed []string
}

// mostInError is how many records such an error shows.
const mostInError = 3

// newPrinter returns a printer for records like this one.
func (a *app) newPrinter(like record) *printer {
	p := &printer{buffer: bufio.NewWriterSize(a.stdout, 64*1024), quiet: a.quiet}
	if a.output == formatJSON {
		p.json = json.NewEncoder(p.buffer)
		p.json.SetEscapeHTML(false)
		return p
	}
	p.table = table.New(a.style(), like.fields())
	return p
}

// print prints one record, after the titles if it is the first.
func (p *printer) print(r record) error {
	p.records++
	if len(p.printed) < mostInError {
		p.printed = append(p.printed, inWords(r))
	}
	if p.json != nil {
		return p.wrapWrite(p.json.Encode(r))
	}
	p.table.Add(r.fields())
	if p.records%flushEvery == 0 {
		return p.align()
	}
	return nil
}

func (p *printer) align() error {
	_, err := p.buffer.WriteString(p.table.Align())
	return p.wrapWrite(err)
}

// flush prints the rows that are still being aligned.
func (p *printer) flush() error {
	if p.table != nil && p.records > 0 {
		if err := p.align(); err != nil {
			return err
		}
	}
	return p.wrapWrite(p.buffer.Flush())
}

// end finishes the output of a success: an empty table still gets its titles, unless --quiet is set.
func (p *printer) end() error {
	if p.table != nil && p.records == 0 && !p.quiet {
		if err := p.align(); err != nil {
			return err
		}
	}
	return p.flush()
}

func (a *app) print(r record) error {
	p := a.newPrinter(r)
	if err := p.print(r); err != nil {
		return err
	}
	return p.end()
}

func printEach[T any](a *app, like record, rows []T, recordOf func(T) record) error {
	p := a.newPrinter(like)
	for _, row := range rows {
		if err := p.print(recordOf(row)); err != nil {
			return err
		}
	}
	return p.end()
}

// printScript prints the SQL of script, for the dialect of the flag or else of the DSN.
func (a *app) printScript(operation string, dialect *string, script func() (string, error)) error {
	var err error
	if *dialect, err = a.dialectName(*dialect); err != nil {
		return fmt.Errorf("%s: %w", operation, err)
	}
	text, err := script()
	if err != nil {
		return fmt.Errorf("%s: %w", operation, err)
	}
	_, err = io.WriteString(a.stdout, text)
	return wrapWrite(err)
}

// answer prints the answer of an operation, and returns errNo if it is no.
func (a *app) answer(yes bool, r record) error {
	if yes && a.quiet {
		return nil
	}
	err := a.print(r)
	switch {
	case !yes && err != nil:
		return withoutEffect(err)
	case !yes:
		return errNo
	}
	return err
}

func wrapWrite(err error) error {
	if err == nil {
		return nil
	}
	return &writeError{err: err}
}

// wrapWrite adds the records to an error of the output.
func (p *printer) wrapWrite(err error) error {
	if err == nil {
		return nil
	}
	results := strings.Join(p.printed, "; ")
	if more := p.records - len(p.printed); more > 0 {
		results += fmt.Sprintf("; and %d more", more)
	}
	return &writeError{err: err, results: results}
}

// inWords returns a record in one line, without what is empty.
func inWords(r record) string {
	var words []string
	for _, field := range r.fields() {
		cell := table.Style{Wide: true, Zone: time.UTC}.Cell(field.Value)
		switch {
		case cell == "":
		case field.Title == "OUTCOME":
			words = append(words, cell)
		default:
			words = append(words, strings.ToLower(field.Title)+" "+table.Printable(cell))
		}
	}
	return strings.Join(words, ", ")
}

// watchedWriter keeps the error of a write, which cobra drops or takes for a mistake in the command line.
type watchedWriter struct {
	io.Writer
	err error
}

func (w *watchedWriter) Write(text []byte) (int, error) {
	written, err := w.Writer.Write(text)
	w.err = cmp.Or(w.err, err)
	return written, err
}

// style returns the style of tables that the flags and the environment set.
func (a *app) style() table.Style {
	s := table.Style{Wide: a.wide, Zone: time.Local, Width: a.width}
	if a.utc {
		s.Zone = time.UTC
	}
	if a.wide {
		s.Width = 0
	}
	return s
}

// widthOf returns the cells in a line of the terminal; COLUMNS overrides it. It is zero for a file or pipe, whose reader wants names in
// full.
func widthOf(w io.Writer, getenv func(string) string) int {
	if !isTerminal(w) {
		return 0
	}
	if columns, err := strconv.Atoi(getenv("COLUMNS")); err == nil && columns > 0 {
		return columns
	}
	file, _ := w.(*os.File)
	columns, _, err := term.GetSize(int(file.Fd()))
	if err != nil {
		return 0
	}
	return columns
}

func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}
