// Package architecture holds docs/architecture.md to the code.
package architecture_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/applock/applock/applock/open"
	"github.com/applock/applock/internal/testing/testfile"
)

const module = "github.com/applock/applock/"

// ownModules are folders whose code is no part of this module.
func ownModules() []string {
	return []string{"applock/adapters", "applock/lease/etcdlock", "bench", "cmd/applock-mcp", "tools"}
}

var quoted = regexp.MustCompile("`([^`]+)`")

func page(t *testing.T) string {
	t.Helper()
	return testfile.Read(t, "../architecture.md")
}

// room is a line of the table.
type room struct {
	// pattern is the folder, in which DIALECT may stand for each dialect.
	pattern string
	// mayImport are the patterns of other rooms. Where both have DIALECT, it is the same one.
	mayImport []string
}

// table returns the rooms of the page.
func table(t *testing.T) []room {
	t.Helper()
	var rooms []room
	for line := range strings.Lines(page(t)) {
		cells := strings.Split(line, "|")
		if len(cells) != 4 || !strings.HasPrefix(line, "| `") {
			continue
		}
		described := room{pattern: quoted.FindStringSubmatch(cells[1])[1]}
		for _, match := range quoted.FindAllStringSubmatch(cells[2], -1) {
			described.mayImport = append(described.mayImport, match[1])
		}
		rooms = append(rooms, described)
	}
	if len(rooms) == 0 {
		t.Fatal("the page has no table of rooms")
	}
	return rooms
}

// place is where a folder is: in a room, and in one of a dialect if the room has those.
type place struct {
	pattern, dialect string
}

// placeOf returns the innermost room that a folder is in or below, or nothing.
func placeOf(rooms []room, folder string) place {
	for ; folder != "."; folder = path.Dir(folder) {
		for _, candidate := range rooms {
			if candidate.pattern == folder {
				return place{pattern: folder}
			}
		}
		for _, dialect := range open.Dialects() {
			pattern := path.Join(path.Dir(folder), "DIALECT")
			if path.Base(folder) == dialect.Name && slices.ContainsFunc(rooms, func(r room) bool { return r.pattern == pattern }) {
				return place{pattern: pattern, dialect: dialect.Name}
			}
		}
	}
	return place{}
}

// importing returns what a room says that allows an import from one place to another, or nothing.
func importing(rooms []room, from, to place) string {
	i := slices.IndexFunc(rooms, func(r room) bool { return r.pattern == from.pattern })
	for _, allowed := range rooms[i].mayImport {
		if allowed == to.pattern && (from.dialect == "" || to.dialect == "" || from.dialect == to.dialect) {
			return allowed
		}
		if to.dialect != "" && allowed == strings.Replace(to.pattern, "DIALECT", to.dialect, 1) {
			return allowed
		}
	}
	return ""
}

// eachFile calls visit for each file of the repository that is in a folder.
func eachFile(t *testing.T, visit func(file string)) {
	t.Helper()
	err := filepath.WalkDir("../..", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		file := filepath.ToSlash(strings.TrimPrefix(strings.TrimPrefix(name, "../.."), "/"))
		if hidden := strings.HasPrefix(file, ".") || file == "bin"; hidden && entry.IsDir() {
			return fs.SkipDir
		}
		if !entry.IsDir() && strings.Contains(file, "/") {
			visit(file)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Goal: the page has all rooms, and describes each. Method: every file is in a room, every room has a file, and every room
// stands in bold before a paragraph.
func TestArchitectureHasAllRooms(t *testing.T) {
	t.Parallel()
	rooms := table(t)
	used := map[string]bool{}
	eachFile(t, func(file string) {
		found := placeOf(rooms, path.Dir(file))
		if found.pattern == "" {
			t.Errorf("%s is in no room: put its folder into the table of docs/architecture.md", file)
		}
		used[found.pattern] = true
	})
	described := strings.Join(regexp.MustCompile(`(?s)\*\*(.*?)\*\*`).FindAllString(page(t), -1), "")
	for _, room := range rooms {
		if !used[room.pattern] {
			t.Errorf("the room %s is empty", room.pattern)
		}
		if !strings.Contains(described, "`"+room.pattern+"`") {
			t.Errorf("no paragraph has `%s` in bold", room.pattern)
		}
	}
}

// Goal: the table is true: nobody imports what it does not say, and what it says is needed. Method: the imports of all Go
// files but tests, in every build.
func TestArchitectureImports(t *testing.T) {
	t.Parallel()
	rooms := table(t)
	needed := map[string]bool{}
	eachFile(t, func(file string) {
		from := placeOf(rooms, path.Dir(file))
		if path.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go") || slices.Contains(ownModules(), from.pattern) {
			return
		}
		for _, imported := range ownImports(t, file) {
			to := placeOf(rooms, imported)
			if to == from {
				continue
			}
			said := importing(rooms, from, to)
			if said == "" {
				t.Errorf("%s imports %s, which docs/architecture.md does not allow", file, imported)
			}
			needed[from.pattern+" "+said] = true
		}
	})
	for _, room := range rooms {
		for _, allowed := range room.mayImport {
			if !needed[room.pattern+" "+allowed] {
				t.Errorf("%s may import %s and does not: take it out of the table", room.pattern, allowed)
			}
		}
	}
}

// ownImports returns the folders of this module that a file imports.
func ownImports(t *testing.T, file string) []string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), "../../"+file, nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	var folders []string
	for _, spec := range parsed.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		if folder, own := strings.CutPrefix(imported, module); own {
			folders = append(folders, folder)
		}
	}
	return folders
}

// Goal: the walk of one call leads through files and names that there are. Method: each step names a file; what it has in
// backquotes behind that is in the file, or is a file.
func TestArchitectureWalk(t *testing.T) {
	t.Parallel()
	_, walk, _ := strings.Cut(page(t), "\n## The walk of one get\n")
	step := regexp.MustCompile("^[0-9]+\\. `([^`]+)`:(.*)")
	steps := 0
	file := ""
	for line := range strings.Lines(walk) {
		said := line
		if match := step.FindStringSubmatch(line); match != nil {
			steps++
			file, said = match[1], match[2]
		} else if !strings.HasPrefix(line, "    ") { // no step goes on here
			continue
		}
		text := testfile.Read(t, "../../"+file)
		for _, match := range quoted.FindAllStringSubmatch(said, -1) {
			_, err := os.Stat("../../" + match[1])
			if err != nil && !strings.Contains(text, match[1]) {
				t.Errorf("%s has no %s", file, match[1])
			}
		}
	}
	if steps < 10 {
		t.Errorf("the walk has %d steps", steps)
	}
}
