package main

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/applock/applock/internal/db"
)

// steps are the two directions of a migration of procedures.
type steps struct {
	up, down strings.Builder
}

const (
	delimiterBegin = "DELIMITER $$\n"
	delimiterEnd   = "DELIMITER ;\n"
	delimiter      = "$$\n"
)

// stepsOf installs the sources. Where the dialect has CREATE OR REPLACE, all of them run again: a source in one
// step, or, where the client is told of a terminator, each statement. Where it has not, and so delimits its
// routines, only those run whose text differs from what the released migrations have left.
func stepsOf(sources, released []string) (*steps, error) {
	var result steps
	installed := installedBy(released)
	for _, source := range sources {
		if statements, found := terminated(source); found {
			result.replaceEach(statements)
			continue
		}
		if !strings.Contains(source, delimiterBegin) {
			result.replace(source)
			continue
		}
		for _, block := range blocksOf(source) {
			if err := result.change(block, installed); err != nil {
				return nil, err
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(installed)) { // what no source has any more
		drop(&result.up, name)
		writeBlock(&result.down, installed[name])
	}
	return &result, nil
}

var (
	createOrReplace = regexp.MustCompile(`(?m)^CREATE (?:OR REPLACE )?(FUNCTION|PROCEDURE) (\w+)`)
	create          = regexp.MustCompile(`(?m)^CREATE PROCEDURE (\w+)`)
	goosedBlock     = regexp.MustCompile(`(?s)-- \+goose StatementBegin\n(.*?)-- \+goose StatementEnd\n`)
)

// replace runs a whole source.
func (s *steps) replace(source string) {
	writeBlock(&s.up, source)
	for _, match := range createOrReplace.FindAllStringSubmatch(source, -1) {
		fmt.Fprintf(&s.down, "DROP %s %s;\n", match[1], match[2])
	}
}

const terminatorLine = "--#SET TERMINATOR @\n"

// terminated returns the statements of a source for Db2's clients, without the terminator that they are told
// of: it must not reach the server.
func terminated(source string) (statements []string, found bool) {
	_, text, found := strings.Cut(source, terminatorLine)
	for statement := range strings.SplitSeq(strings.TrimSuffix(strings.TrimSpace(text), "@"), "\n@\n") {
		statements = append(statements, strings.TrimSpace(statement)+"\n")
	}
	return statements, found
}

// replaceEach runs statement by statement, and undoes them in the opposite order: what calls goes before what
// is called.
func (s *steps) replaceEach(statements []string) {
	down := s.down.String()
	s.down.Reset()
	for _, statement := range slices.Backward(statements) {
		if match := createOrReplace.FindStringSubmatch(statement); match != nil {
			writeBlock(&s.down, fmt.Sprintf("DROP %s %s\n", match[1], match[2]))
		}
	}
	s.down.WriteString(down)
	for _, statement := range statements {
		writeBlock(&s.up, statement)
	}
}

// change runs one CREATE PROCEDURE, unless it is installed like that. It takes what it has seen out of
// installed.
func (s *steps) change(block string, installed map[string]string) error {
	name, definition := definitionOf(block)
	former, exists := installed[name]
	delete(installed, name)
	if former == definition {
		return nil
	}
	if exists {
		if granted(name) {
			return fmt.Errorf("%s is installed with another text: replacing it would drop the grants on it; change %s_core instead",
				name, strings.TrimSuffix(name, "_row"))
		}
	}
	drop(&s.up, name)
	writeBlock(&s.up, block)
	drop(&s.down, name)
	if exists {
		writeBlock(&s.down, former)
	}
	return nil
}

// drop lets a migration run again that broke off half-way: there are no transactions around CREATE.
func drop(out *strings.Builder, name string) {
	fmt.Fprintf(out, "DROP PROCEDURE IF EXISTS %s;\n", name)
}

func writeBlock(out *strings.Builder, block string) {
	fmt.Fprintf(out, "-- +goose StatementBegin\n%s-- +goose StatementEnd\n\n", block)
}

// granted reports whether users have rights on a routine: on those of the contract, in both forms.
func granted(name string) bool {
	return slices.ContainsFunc(db.Contract(), func(operation db.Operation) bool {
		return name == operation.Name || name == operation.Name+"_row"
	})
}

// blocksOf returns the statements of a source for the mysql client, without its delimiters.
func blocksOf(source string) []string {
	source = strings.ReplaceAll(source, delimiterBegin+"\n", "")
	source = strings.TrimSuffix(source, "\n"+delimiterEnd)
	var blocks []string
	for block := range strings.SplitSeq(strings.TrimSuffix(source, delimiter), delimiter) {
		blocks = append(blocks, strings.TrimPrefix(block, "\n")+";\n")
	}
	return blocks
}

// definitionOf returns the routine that a block creates, and its text without the comments before it.
func definitionOf(block string) (name, definition string) {
	match := create.FindStringSubmatchIndex(block)
	return block[match[2]:match[3]], block[match[0]:]
}

// installedBy returns the routines that migrations have left, by name.
func installedBy(released []string) map[string]string {
	installed := map[string]string{}
	for _, migration := range released {
		up, _, _ := strings.Cut(migration, "-- +goose Down\n")
		for _, match := range goosedBlock.FindAllStringSubmatch(up, -1) {
			if create.MatchString(match[1]) {
				name, definition := definitionOf(match[1])
				installed[name] = definition
			}
		}
	}
	return installed
}
