package architecture_test

import (
	"bytes"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// weight is how many lines of text a room has, and how many of these are tests.
type weight struct{ lines, tests int }

const (
	weightsBegin = "| room | lines | of these tests |\n|---|---|---|\n"
	// tolerance is the part by which a room may grow or shrink before somebody has to say so in the table.
	tolerance = 10
)

// weigh counts the lines of every room, without what builds leave behind.
func weigh(t *testing.T, rooms []room) map[string]weight {
	t.Helper()
	weights := map[string]weight{}
	eachFile(t, func(file string) {
		if strings.Contains(file, "/target/") || strings.Contains(file, "/__pycache__/") || strings.Contains(file, "/node_modules/") {
			return
		}
		text, err := os.ReadFile(filepath.Join("../..", file))
		if err != nil {
			t.Fatal(err)
		}
		if !utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0 {
			return // a picture, a database
		}
		found := weights[placeOf(rooms, path.Dir(file)).pattern]
		lines := bytes.Count(text, []byte("\n"))
		found.lines += lines
		if strings.HasSuffix(file, "_test.go") {
			found.tests += lines
		}
		weights[placeOf(rooms, path.Dir(file)).pattern] = found
	})
	return weights
}

// writtenWeights reads the table of the page.
func writtenWeights(t *testing.T) map[string]weight {
	t.Helper()
	_, table, found := strings.Cut(page(t), weightsBegin)
	if !found {
		t.Fatal("the page has no table of weights")
	}
	weights := map[string]weight{}
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		if len(cells) != 5 {
			break
		}
		lines, err := strconv.Atoi(strings.TrimSpace(cells[2]))
		if err != nil {
			t.Fatal(err)
		}
		weights[strings.Trim(cells[1], " `")] = weight{lines: lines}
	}
	return weights
}

// Goal: nothing grows unnoticed: the page tells how many lines each room has, to a tenth. Method: count them; APPLOCK_UPDATE_GOLDEN=1
// (make golden) rewrites the table.
func TestGoldenWeights(t *testing.T) {
	t.Parallel()
	rooms := table(t)
	weights := weigh(t, rooms)
	if os.Getenv("APPLOCK_UPDATE_GOLDEN") != "" {
		writeWeights(t, rooms, weights)
		return
	}
	written := writtenWeights(t)
	for _, room := range rooms {
		now, then := weights[room.pattern].lines, written[room.pattern].lines
		if (now-then)*tolerance > then || (then-now)*tolerance > then {
			t.Errorf("%s has %d lines, and docs/architecture.md says %d: can it be less? Else run make golden", room.pattern, now, then)
		}
		delete(written, room.pattern)
	}
	if len(written) > 0 {
		t.Errorf("the table has weights of what is no room: %v", written)
	}
}

func writeWeights(t *testing.T, rooms []room, weights map[string]weight) {
	t.Helper()
	slices.SortStableFunc(rooms, func(a, b room) int { return weights[b.pattern].lines - weights[a.pattern].lines })
	text := weightsBegin
	for _, room := range rooms {
		text += fmt.Sprintf("| `%s` | %d | %d |\n", room.pattern, weights[room.pattern].lines, weights[room.pattern].tests)
	}
	before, behind, found := strings.Cut(page(t), weightsBegin)
	if !found {
		t.Fatal("the page has no table of weights")
	}
	for strings.HasPrefix(behind, "| ") {
		_, behind, _ = strings.Cut(behind, "\n")
	}
	if err := os.WriteFile("../architecture.md", []byte(before+text+behind), 0o600); err != nil {
		t.Fatal(err)
	}
}
