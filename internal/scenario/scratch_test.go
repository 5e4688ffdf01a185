package scenario_test

import (
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/scenario"
	"github.com/applock/applock/testdata"
)

const prefix = "verify_prefix_"

// scratches returns what of each file is played where others have their locks.
func scratches(t *testing.T) map[string][]scenario.Step {
	t.Helper()
	files, err := fs.Glob(testdata.Scenarios, "scenarios/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	played := map[string][]scenario.Step{}
	for _, file := range files {
		text, err := testdata.Scenarios.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := scenario.Parse(string(text))
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		name := strings.TrimSuffix(strings.TrimPrefix(file, "scenarios/"), ".txt")
		played[name] = parsed.Scratch(prefix)
		t.Logf("%s: %d of %d steps", name, len(played[name]), len(parsed.Steps))
	}
	return played
}

// Goal: no step that is played on a live database can meet the rows of others. Method: every step that would be played, by what it
// names; a list that would answer everybody's locks asks for a type of its own.
func TestScratchMeetsNobody(t *testing.T) {
	t.Parallel()
	for name, steps := range scratches(t) {
		for _, step := range steps {
			if step.Operation == "purge" || step.Operation == "advance" {
				t.Errorf("%s, line %d is played: %s", name, step.Line, step.Text)
			}
			if step.Args["object_type"] == "" && step.Args["client_id"] == "" {
				t.Errorf("%s, line %d names nothing of its own: %s", name, step.Line, step.Text)
			}
			for argument, value := range step.Args {
				named := strings.Contains(argument, "_type") || strings.Contains(argument, "client_id")
				if named && !strings.HasPrefix(value, prefix) {
					t.Errorf("%s, line %d names %s %q: %s", name, step.Line, argument, value, step.Text)
				}
			}
		}
	}
}

// Goal: verify plays what there is. Method: the files of which it plays nothing, by name, which are those for other ways of calling,
// and those that begin with a list of everything or a purge; and the operations that it plays.
func TestScratchPlaysEachOperation(t *testing.T) {
	t.Parallel()
	var none []string
	// A purge and the inbox of an operator would meet everybody's rows, and the version has no answer to play.
	operations := map[string]bool{"purge": true, "purge_history": true, "inbox": true, "version": true}
	for name, steps := range scratches(t) {
		if len(steps) == 0 {
			none = append(none, name)
		}
		for _, step := range steps {
			operations[step.Operation] = true
		}
	}
	slices.Sort(none)
	want := []string{
		"appl_lock_asking_pages", "appl_lock_live_pages", "appl_lock_stats_waiters", "appl_lock_waiting_pages", "get_appl_lock_blank",
		"invalid_null", "invalid_sets_flag", "invalid_take_null", "invalid_waiters",
	}
	if !slices.Equal(none, want) {
		t.Errorf("nothing is played of %q, want %q", none, want)
	}
	for _, operation := range db.Contract() {
		if word := scenario.Word(operation); !operation.Version && !operations[word] {
			t.Errorf("%s is not played", word)
		}
	}
	for _, view := range db.Views() {
		if word := scenario.ViewWord(view); !operations[word] {
			t.Errorf("%s is not played", word)
		}
	}
}

// Goal: a scratch name keeps its length where the length matters, and the order of names. Method: names of one character and of the
// longest length, and one too long.
func TestScratchNames(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		"a*64": prefix + strings.Repeat("a", 64-len(prefix)),
		"a*65": prefix + strings.Repeat("a", 65-len(prefix)),
		"é*64": prefix + strings.Repeat("é", 64-len(prefix)),
		"a":    prefix + "a",
		"a:b":  prefix + "a:b",
	} {
		parsed, err := scenario.Parse("waiters object_type=" + value + " client_id=p1 -> customer:42/a/JDOE/p1 object=x:1\n")
		if err != nil {
			t.Fatal(err)
		}
		step := parsed.Scratch(prefix)[0]
		if step.Args["object_type"] != want || step.Args["client_id"] != prefix+"p1" ||
			step.Words[0] != prefix+"customer:42/a/JDOE/"+prefix+"p1" || step.Terms[0].Value != prefix+"x:1" {
			t.Errorf("%s: %v", value, step)
		}
	}
}
