package main

import (
	"bufio"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var passive = regexp.MustCompile(`(?i)\b(?:is|are|was|were|be|been|being)\s+(?:(?:\w+ly|not|never|also|only)\s+)?` +
	`(?:\w+ed|held|told|kept|made|done|given|taken|got|begun|written|read|run|found|lost|left|sent|set|shown|seen|put|cut|known|meant|won|drawn|built)\b`)

// figures are the counts of a page, or of all source files in a folder.
type figures struct {
	name      string
	lines     int
	sentences int
	words     int
	passives  int
	findings  []finding
}

// wordsASentence returns the average outside of tables.
func (f figures) wordsASentence() float64 { return float64(f.words) / float64(max(f.sentences, 1)) }

// passiveShare returns the percentage of passive sentences.
func (f figures) passiveShare() float64 {
	return 100 * float64(f.passives) / float64(max(f.sentences, 1))
}

// add counts one file.
func (f *figures) add(l linter, text string, blocks []block) {
	f.lines += strings.Count(text, "\n")
	for _, b := range blocks {
		f.findings = append(f.findings, l.lint(b)...)
		if b.isCell {
			continue
		}
		for _, sentence := range sentences(b.text) {
			f.sentences++
			f.words += len(strings.Fields(sentence))
			if passive.MatchString(sentence) {
				f.passives++
			}
		}
	}
}

// checkLength adds a finding if a page is too long.
func (f *figures) checkLength() {
	if most := limit(f.name); most > 0 && f.lines > most {
		f.findings = append(f.findings, finding{f.name, f.lines, "page", fmt.Sprintf("at most %d lines: split it, or move what tests show to its end", most), ""})
	}
}

// place returns the place where a file is counted: a page by itself, a source file with its folder. It is empty for other files.
func place(file string) string {
	folder := path.Dir(file)
	isSource := strings.HasSuffix(file, ".go") && !strings.HasSuffix(file, "_test.go") && !strings.HasSuffix(file, ".sql.go")
	switch {
	case strings.HasSuffix(file, "/messages.golden"):
		return file
	case file == "CHANGELOG.md" || strings.Contains(file, "testdata/") && !strings.HasSuffix(file, "/README.md"):
		return ""
	case strings.HasSuffix(file, ".md"):
		return file
	case isSource && (folder == "applock" || strings.HasPrefix(folder, "applock/") || folder == "cmd/applockctl"):
		return folder
	case strings.HasSuffix(file, ".sql") && (strings.HasPrefix(folder, "procedures/") || strings.HasPrefix(folder, "queries/")):
		return folder
	}
	return ""
}

// measure counts all pages and sources below a folder.
func measure(root string) ([]figures, error) {
	found, l := map[string]*figures{}, rules()
	err := filepath.WalkDir(root, func(name string, item fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		file, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		file = filepath.ToSlash(file)
		if item.IsDir() && (file == ".git" || file == "bin" || item.Name() == "node_modules") {
			return fs.SkipDir
		}
		where := place(file)
		if item.IsDir() || where == "" {
			return nil
		}
		text, err := os.ReadFile(name) //nolint:gosec // it is a file of this repository
		if err != nil {
			return err
		}
		blocks, err := blocksOf(file, string(text))
		if found[where] == nil {
			found[where] = &figures{name: where}
		}
		found[where].add(l, string(text), blocks)
		found[where].checkLength()
		return err
	})
	var all []figures
	for _, counted := range found {
		all = append(all, *counted)
	}
	slices.SortFunc(all, func(a, b figures) int { return strings.Compare(a.name, b.name) })
	return all, err
}

// blocksOf reads a file by its kind.
func blocksOf(file, text string) ([]block, error) {
	switch path.Ext(file) {
	case ".go":
		return source(file, text)
	case ".sql":
		return statements(file, text), nil
	case ".golden":
		return messages(file, text), nil
	}
	return page(file, text), nil
}

// table is the figures file: the allowed findings, and the figures before the rule existed.
type table map[string]row

// row is a place's row: the allowed findings, and text for people.
type row struct {
	allowed int
	before  string
}

const heading = "place\tfindings\tlines\twords a sentence\tpassive %\tbefore: findings, lines, words a sentence, passive %"

// readTable reads the table.
func readTable(file string) (table, error) {
	text, err := os.ReadFile(file) //nolint:gosec // it is a file of this repository
	if err != nil {
		return nil, err
	}
	rows := table{}
	lines := bufio.NewScanner(strings.NewReader(string(text)))
	for lines.Scan() {
		fields := strings.Split(lines.Text(), "\t")
		if len(fields) != 6 || lines.Text() == heading {
			continue
		}
		allowed, err := strconv.Atoi(fields[1])
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", file, fields[0], err)
		}
		rows[fields[0]] = row{allowed, fields[5]}
	}
	return rows, nil
}

// format writes the table of these figures. The columns about the time before stay.
func format(all []figures, old table) string {
	var out strings.Builder
	out.WriteString(heading + "\n")
	for _, f := range all {
		before := old[f.name].before
		now := fmt.Sprintf("%d\t%d\t%.1f\t%.0f", len(f.findings), f.lines, f.wordsASentence(), f.passiveShare())
		if before == "" {
			before = strings.ReplaceAll(now, "\t", ", ")
		}
		fmt.Fprintf(&out, "%s\t%s\t%s\n", f.name, now, before)
	}
	return out.String()
}

// grown returns the places with more findings than the table allows. A place without a row may have none.
func grown(all []figures, rows table) []figures {
	var found []figures
	for _, f := range all {
		if len(f.findings) > rows[f.name].allowed {
			found = append(found, f)
		}
	}
	return found
}
