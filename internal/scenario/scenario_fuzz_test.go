package scenario_test

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/applock/applock/internal/scenario"
	"github.com/applock/applock/testdata"
)

// Goal: a scenario is read as it stands there or refused with its line. Method: each line of ours, and what is made of them: a step stands in its
// line, and nothing is passed backwards by an advance that is too long for a time.
func FuzzParse(f *testing.F) {
	names, err := fs.Glob(testdata.Scenarios, "*/*.txt")
	if err != nil || len(names) == 0 {
		f.Fatalf("no files: %v", err)
	}
	for _, name := range names {
		text, err := fs.ReadFile(testdata.Scenarios, name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	for _, text := range []string{"advance 106752d", "advance 9999999999999999999d", "get a=x*1000000000", "get a=\"\xff\" -> Y", "get a=\"\\u0000NULL\" -> Y", "via"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		parsed, err := scenario.Parse(text)
		if err != nil {
			return
		}
		lines := strings.Split(text, "\n")
		for _, step := range parsed.Steps {
			if strings.TrimSpace(lines[step.Line-1]) != step.Text || !strings.HasPrefix(step.Text, step.Operation) {
				t.Fatalf("line %d is %q: %+v", step.Line, lines[step.Line-1], step)
			}
			if step.Operation == "advance" && (step.Advance < 0) != strings.Contains(step.Text, "-") {
				t.Fatalf("%q advances %s", step.Text, step.Advance)
			}
		}
	})
}
