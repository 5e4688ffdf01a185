// Command operation begins a new operation. It makes the files that each operation has, with text that builds and does nothing yet, adds
// the operation to the lists, and prints what is left to do. Run it by `make operation STEM=extend_appl_locks`.
package main

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"go/format"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/template"
)

// templates has the files of an operation at their places, with STEM for its name.
//
//go:embed templates
var templates embed.FS

func main() {
	stem := strings.Join(os.Args[1:], " ")
	if err := run(os.Stdout, ".", stem); err != nil {
		fmt.Fprintln(os.Stderr, "operation:", err)
		os.Exit(1)
	}
}

// run begins an operation in the tree at root. It changes nothing if one of its files exists.
func run(out io.Writer, root, stem string) error {
	operation, err := namesOf(stem)
	if err != nil {
		return err
	}
	made, err := operation.files()
	if err != nil {
		return err
	}
	entered, err := operation.enter(root)
	if err != nil {
		return err
	}
	left, err := leftToDo(root)
	if err != nil {
		return err
	}
	if err := writeAll(root, made, entered); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(made)) {
		fmt.Fprintln(out, "made, with TODOs: "+name)
	}
	for _, name := range slices.Sorted(maps.Keys(entered)) {
		fmt.Fprintln(out, "entered in:       "+name)
	}
	fmt.Fprintln(out, "left to do, as in CONTRIBUTING.md:\n"+strings.Join(left, "\n"))
	return nil
}

// names are the names of the operation in its files.
type names struct {
	// Stem is extend_appl_locks, Go ExtendApplLocks, Private extendApplLocks.
	Stem, Go, Private string
	// Method is the method of applock.Client, such as ExtendAll. Words begin its errors.
	Method, Words string
	// Word is the scenarios' word, Command the command line's.
	Word, Command string
}

// longestStem leaves room for _core in names of 30 bytes.
const longestStem = 25

func namesOf(stem string) (names, error) {
	match := regexp.MustCompile(`^([a-z]+)_appl_lock(s?)((?:_[a-z]+)*)$`).FindStringSubmatch(stem)
	if match == nil || len(stem) > longestStem {
		return names{}, fmt.Errorf("STEM must be VERB_appl_lock or VERB_appl_locks, with _WORD behind it where that is needed, "+
			"in at most %d small letters and underscores, such as extend_appl_locks; it is %q", longestStem, stem)
	}
	verb, behind := match[1], strings.Fields(strings.ReplaceAll(match[3], "_", " "))
	words := append([]string{verb}, behind...)
	command := strings.Join(words, "-")
	if match[2] != "" {
		words = slices.Insert(words, 1, "all")
	}
	goName := capitals(strings.Split(stem, "_"))
	return names{
		Stem: stem, Go: goName, Private: strings.ToLower(goName[:1]) + goName[1:],
		Method: capitals(words), Words: strings.Join(words, " "),
		Word: verb, Command: command,
	}, nil
}

// capitals joins words to a name of Go.
func capitals(words []string) string {
	var name strings.Builder
	for _, word := range words {
		name.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return name.String()
}

// files returns the text of each file of the operation, by its path.
func (n names) files() (map[string]string, error) {
	made := map[string]string{}
	err := fs.WalkDir(templates, "templates", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		place := strings.TrimPrefix(strings.TrimSuffix(name, ".tmpl"), "templates/")
		made[strings.Replace(place, "STEM", n.Stem, 1)], err = n.fill(name)
		return err
	})
	return made, err
}

// fill fills in a template. It formats Go, since the alignment depends on the names' lengths.
func (n names) fill(name string) (string, error) {
	parsed, err := template.ParseFS(templates, name)
	if err != nil {
		return "", err
	}
	var text bytes.Buffer
	if err := parsed.Execute(&text, n); err != nil {
		return "", err
	}
	if !strings.HasSuffix(name, ".go.tmpl") {
		return text.String(), nil
	}
	formatted, err := format.Source(text.Bytes())
	return string(formatted), err
}

// entry is a line of a list, and the beginning of the line that follows it.
type entry struct{ file, line, before string }

// entries are the lines without which the files do not build.
func (n names) entries() []entry {
	method := fmt.Sprintf("\t%[1]s(ctx context.Context, params %[1]sParams) (%[1]sResult, error)\n", n.Go)
	return []entry{
		{"internal/db/contract.go", "\t\t" + n.Private + "(),\n", "\t\tapplLockVersion(),"},
		{"internal/db/db.go", method, "\tApplLockVersion("},
		{"cmd/applockctl/root.go", "\t\ta." + n.Private + "Command(),\n", "\t\ta.migrateCommand(),"},
	}
}

// enter returns the lists with the operation in them, by their paths.
func (n names) enter(root string) (map[string]string, error) {
	entered := map[string]string{}
	for _, e := range n.entries() {
		text, err := os.ReadFile(filepath.Join(root, e.file))
		if err != nil {
			return nil, err
		}
		if strings.Count(string(text), e.before) != 1 {
			return nil, fmt.Errorf("%s has no one line that begins with %q, before which the operation goes", e.file, e.before)
		}
		entered[e.file] = strings.Replace(string(text), e.before, e.line+e.before, 1)
	}
	return entered, nil
}

// leftToDo returns the rows of the checklist that concern other files than the operation's own.
func leftToDo(root string) ([]string, error) {
	text, err := os.ReadFile(filepath.Join(root, "CONTRIBUTING.md"))
	if err != nil {
		return nil, err
	}
	_, part, _ := strings.Cut(string(text), "\n### A new operation\n")
	part, _, _ = strings.Cut(part, "\n#")
	var left []string
	for line := range strings.Lines(part) {
		cells := strings.Split(strings.ReplaceAll(line, "`", ""), " | ")
		if len(cells) == 2 && !strings.Contains(cells[0], "STEM") && !strings.HasPrefix(cells[0], "| place") {
			left = append(left, strings.TrimPrefix(cells[0], "| ")+"\n    "+strings.TrimSuffix(cells[1], " |\n"))
		}
	}
	if left == nil {
		return nil, errors.New("CONTRIBUTING.md has no table below \"A new operation\"")
	}
	return left, nil
}

// writeAll makes the files of an operation, none of which may be there, and changes the lists.
func writeAll(root string, made, entered map[string]string) error {
	for name := range made {
		if _, err := os.Lstat(filepath.Join(root, name)); err == nil {
			return fmt.Errorf("STEM names an operation that is there: %s exists", name)
		}
	}
	for name, text := range made {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	for name, text := range entered {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
