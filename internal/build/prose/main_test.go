package main

import (
	"slices"
	"strings"
	"testing"
)

// rulesOf returns the names of the rules that blocks break.
func rulesOf(blocks ...block) []string {
	var names []string
	for _, b := range blocks {
		for _, found := range rules().lint(b) {
			names = append(names, found.rule)
		}
	}
	return names
}

// Goal: each rule finds what it is for, and leaves plain words alone. Method: its two examples.
func TestRules(t *testing.T) {
	t.Parallel()
	for _, rule := range rules() {
		b := block{text: rule.bad, isComment: rule.isForComments}
		if got := rulesOf(b); !slices.Contains(got, rule.name) {
			t.Errorf("%s does not find %q: %v", rule.name, rule.bad, got)
		}
		if got := rulesOf(block{text: rule.good, isComment: true}); len(got) > 0 {
			t.Errorf("%q breaks %v", rule.good, got)
		}
		if rule.isForComments && len(rulesOf(block{text: rule.bad})) > 0 {
			t.Errorf("%s is found in a page", rule.name)
		}
	}
	long := block{text: strings.Repeat("word ", longest) + "word."}
	if got := rulesOf(long); !slices.Equal(got, []string{"long"}) {
		t.Errorf("a sentence of %d words breaks %v", longest+1, got)
	}
}

// Goal: prose is found where people read it, and code is not. Method: a page, a Go file and a header, each with the same fault.
func TestBlocks(t *testing.T) {
	t.Parallel()
	found := page("p.md", "# Who asks.\n\n- Who asks is refused,\n  by name.\n- One.\n\n```sh\n# Who asks is refused.\n```\n\n"+
		"| a | Who asks is refused. |\n|---|---|\n\n<!-- Who asks. -->\n`Who asks`.\n")
	if got := rulesOf(found...); !slices.Equal(got, []string{"subject", "subject"}) {
		t.Errorf("the page breaks %v", got)
	}
	if lines := []int{found[0].line, found[1].line}; !slices.Equal(lines, []int{3, 5}) {
		t.Errorf("its blocks begin in %v", lines)
	}
	found, err := source("p.go", "package p\n\n// Who asks is refused. So\n// many.\nconst a = \"Who asks is refused.\"\n\nconst b = \"Who asks\"\n")
	if got := rulesOf(found...); err != nil || !slices.Equal(got, []string{"subject", "so many", "subject"}) {
		t.Errorf("the source breaks %v, %v", got, err)
	}
	if got := rulesOf(statements("p.sql", "-- Purpose: one.\n-- So many.\nSELECT 'so many'\n")...); !slices.Equal(got, []string{"so many"}) {
		t.Errorf("the header breaks %v", got)
	}
	if got := rulesOf(messages("m.golden", "# a.go\n\nlabel\tWho asks\nhint\tWho asks is refused.\nso many\n")...); !slices.Equal(got, []string{"subject", "so many"}) {
		t.Errorf("the messages break %v", got)
	}
	parts := statements("p.sql", "-- p: one.\n--\n-- In         p_a 1..64; p_b,\n--            NULL = none.\n-- Out        None.\nSELECT 1 -- S1\n")
	if want := []block{{"p.sql", 1, "p: one.", true, false}, {"p.sql", 3, "p_a 1..64", true, false},
		{"p.sql", 3, "p_b, NULL = none.", true, false}, {"p.sql", 5, "None.", true, false}}; !slices.Equal(parts, want) {
		t.Errorf("the header's parts are %v", parts)
	}
}

// Goal: figures are those of the sentences, and a table's cells are none. Method: a page by hand.
func TestFigures(t *testing.T) {
	t.Parallel()
	text := "The row is kept. The caller `waits for a turn` here.\n\n| it is held by one |\n"
	f := figures{name: "p.md"}
	f.add(rules(), text, page("p.md", text))
	if f.lines != 3 || f.sentences != 2 || f.words != 8 || f.passives != 1 || f.wordsASentence() != 4 || f.passiveShare() != 50 {
		t.Errorf("%+v", f)
	}
}

// Goal: a page that is too long has a finding. Method: pages of as many lines as they may have, and of one more.
func TestLength(t *testing.T) {
	t.Parallel()
	for name, lines := range map[string]int{"README.md": 140, "docs/p.md": 300, "clients/l/p.md": 300, "docs/reference.md": 1000, "bench/README.md": 1000} {
		for more := range 2 {
			f := figures{name: name, lines: lines + more}
			f.checkLength()
			if want := min(more, limit(name)); len(f.findings) != want {
				t.Errorf("%s with %d lines has %d findings, want %d", name, f.lines, len(f.findings), want)
			}
		}
	}
}

// Goal: a place may get better, and neither worse nor begin badly. Method: the table of one place, and the same with a finding more.
func TestGrown(t *testing.T) {
	t.Parallel()
	of := func(name string, findings int) figures {
		return figures{name: name, findings: make([]finding, findings)}
	}
	rows := table{"old.md": {allowed: 2}}
	for findings, want := range []int{0, 0, 0, 1} {
		if got := grown([]figures{of("old.md", findings)}, rows); len(got) != want {
			t.Errorf("%d findings: %d places have grown, want %d", findings, len(got), want)
		}
	}
	if got := grown([]figures{of("new.md", 1)}, rows); len(got) != 1 {
		t.Error("a new page may have a finding")
	}
	if got := format([]figures{of("old.md", 1)}, table{"old.md": {2, "9, 1, 2, 3"}}); !strings.HasSuffix(got, "old.md\t1\t0\t0.0\t0\t9, 1, 2, 3\n") {
		t.Errorf("what was before is lost:\n%s", got)
	}
}
