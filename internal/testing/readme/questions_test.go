package readme

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// questions is the page with what readers ask, seen from the top of the repository.
const questions = "tools/site/questions.md"

// question is one row: the page, the question, the page and heading that answer it, and how a fresh reader found the answer at first.
var question = regexp.MustCompile(
	`(?m)^\| (\S+\.md) \| ([^|]+\?[^|]*) \| \[[^\]]+\]\(\.\./\.\./([^)#]+)#([^)]*)\) \| (?:at once|second|missing) \|$`)

// answering is a page that must have questions. A page in a folder of docs belongs to its test.
var answering = regexp.MustCompile(`^(README|SECURITY|docs/[^/]+|procedures/README|bench/README|clients/(?:[^/]+/)?[^/]+)\.md$`)

// Goal: every question has its answer in the page that it is asked of. Method: read the table, and look for each heading there. A row that
// cannot be read is an error, and so is a page without exactly five questions.
func TestQuestionsHaveAnAnswer(t *testing.T) {
	t.Parallel()
	all := pages(t)
	asked := map[string]int{}
	for _, row := range question.FindAllStringSubmatch(all[questions], -1) {
		page, text, target, anchor := row[1], row[2], row[3], row[4]
		asked[page]++
		if target != page {
			t.Errorf("%q is asked of %s and answered in %s", text, page, target)
		}
		if !slices.Contains(anchors(all[page]), anchor) {
			t.Errorf("%q: %s has no heading %s", text, page, anchor)
		}
	}
	rows := 0
	for _, count := range asked {
		rows += count
	}
	if lines := strings.Count(all[questions], "\n| ") - 1; rows != lines {
		t.Errorf("%s has %d rows, and %d can be read", questions, lines, rows)
	}
	for page := range all {
		if answering.MatchString(page) && asked[page] != 5 {
			t.Errorf("%s has %d questions, want 5", page, asked[page])
		}
	}
}
