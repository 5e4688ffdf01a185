// Command prose checks and measures the prose of this repository by the rule in CONTRIBUTING.md, "Plain words".
//
//	prose check             fail if a page or a folder has more findings than testdata/figures.tsv allows (make lint)
//	prose update            write the figures of now into that file, which lowers what is allowed
//	prose list [PLACE...]   print the findings of these pages and folders, or of all
//
// It takes no linter of others: vale needs cgo and the C grammars of a dozen languages, which take minutes to compile.
package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"text/tabwriter"
)

// figuresFile is the file of the figures, relative to the top of the repository.
const figuresFile = "internal/build/prose/testdata/figures.tsv"

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "prose:", err)
		os.Exit(1)
	}
}

// run runs the command line at the top of the repository.
func run(arguments []string, out io.Writer) error {
	if len(arguments) == 0 {
		arguments = []string{"check"}
	}
	all, err := measure(".")
	if err != nil {
		return err
	}
	rows, err := readTable(figuresFile)
	if err != nil && arguments[0] != "update" {
		return err
	}
	switch arguments[0] {
	case "update":
		return os.WriteFile(figuresFile, []byte(format(all, rows)), 0o644) //nolint:gosec // it is a file of the repository
	case "check":
		return check(all, rows, out)
	case "list":
		for _, f := range all {
			if len(arguments) == 1 || slices.Contains(arguments[1:], f.name) {
				list(f, out)
			}
		}
		return nil
	}
	return fmt.Errorf("%q is none of check, update, list", arguments[0])
}

// check lists the findings of places that exceed their allowance.
func check(all []figures, rows table, out io.Writer) error {
	bad := grown(all, rows)
	for _, f := range bad {
		fmt.Fprintf(out, "%s has %d findings, and %d are allowed\n", f.name, len(f.findings), rows[f.name].allowed)
		list(f, out)
	}
	if len(bad) > 0 {
		return fmt.Errorf("%d places are harder to read than before: rewrite the sentences above, as CONTRIBUTING.md says under Plain words", len(bad))
	}
	return nil
}

// list prints the findings of a place.
func list(f figures, out io.Writer) {
	columns := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, found := range f.findings {
		fmt.Fprintf(columns, "%s:%d\t%s\t%s\t%s\n", found.file, found.line, found.rule, found.advice, found.sentence)
	}
	_ = columns.Flush()
}
