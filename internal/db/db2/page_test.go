package db2_test

import (
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/applock/applock/testdata"
)

// Goal: docs/db2.md tells what was checked as it is: its figures do not grow old. Method: count the interleavings and the rules, and find the
// sentences with these numbers on the page.
func TestFiguresOfThePage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/db2.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := fs.Glob(testdata.Interleavings, "interleavings/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	excluded := notPlayed()
	byLocksOnly := 0
	for _, name := range playedWithLocks() {
		if excluded[name] != "" {
			byLocksOnly++
		}
	}
	for _, want := range []string{
		fmt.Sprintf("| %d of the %d files of `testdata/interleavings` with row versions, %d more with locked tables",
			len(files)-len(excluded), len(files), byLocksOnly),
		fmt.Sprintf("| %d rules over the text, each shown to fail by broken copies (%d in all) |", len(lintRules()), len(lintEdits())),
	} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}
