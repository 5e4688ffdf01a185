package main

import (
	"regexp"
	"strings"
)

// longest is the maximum of words in a sentence.
const longest = 35

// limit returns the maximum of lines in a page, 0 for no limit. A reader looks up single entries of the reference.
func limit(page string) int {
	switch {
	case page == "README.md":
		return 140
	case page == "docs/reference.md":
		return 0
	case strings.HasPrefix(page, "docs/"), strings.HasPrefix(page, "clients/"):
		return 300
	}
	return 0
}

// rule finds one pattern of CONTRIBUTING.md's rule in a sentence.
type rule struct {
	name   string
	advice string
	// bad and good are examples for a test.
	bad, good string
	pattern   *regexp.Regexp
	// isForComments is true for a pattern that is allowed in pages.
	isForComments bool
}

// linter has all rules, compiled once.
type linter []rule

// rules returns all rules. They expect a sentence with its full stop.
func rules() linter {
	return linter{
		{
			name: "subject", advice: "name the subject: the caller, the holder, the row",
			bad: "Who asks is refused.", good: "Who has it?",
			pattern: regexp.MustCompile(`^(?:Who|Whoever|What|Whatever|Whose|That which|Those who)\b.*[^?:]$`),
		},
		{
			name: "whoever", advice: "name the subject: the caller, the holder, the row",
			bad: "It is left to whoever comes.", good: "It is left to the next caller.",
			pattern: regexp.MustCompile(`(?i)\bwhoever\b|[^.!?]\b(?:of|for|to|by|from|with|at) who\b|^[^.!?]*[^?]\bthat one's\b`),
		},
		{
			name: "told", advice: "say what happens: the error reports, the command prints, the table shows",
			bad: "The caller is told so.", good: "The call reports it.",
			pattern: regexp.MustCompile(`(?i)\b(?:is|are|was|were|be|been|being)\s+(?:\w+\s+)?told\b`),
		},
		{
			name: "so many", advice: "give the number its name: N, the limit, the ttl",
			bad: "There are so many slots.", good: "There are N slots.",
			pattern: regexp.MustCompile(`(?i)\bso many\b|\bfor so long\b|\bso long(?:er)? and\b`),
		},
		{
			name: "has it do", advice: "make the one who acts the subject",
			bad: "The page has the browser send a cookie.", good: "The browser sends a cookie.",
			pattern: regexp.MustCompile(`(?i)\b(?:has|have|had|having) (?:it|them|him|one|others|each|(?:a|an|the|its|all|each|two|no) \w+|\w+s) ` +
				`(?:do|call|run|go|lead|work|use|wait|see|find|write|take|read|fail|keep|begin|start|send|look|say|tell|ask|make|mean|carry|watch|come|alarm)\b`),
		},
		{
			name: "double negation", advice: "say it positively",
			bad: "Nothing is written that was not committed.", good: "Only committed rows are read.",
			pattern: regexp.MustCompile(`(?i)\b(?:nobody|nothing|never|none|no one|no \w+)\b[^,.;:()]{0,60}\b(?:not|no|nobody|nothing|never|unless|cannot)\b|\bnot un\w+`),
		},
		{
			name: "chain of of", advice: "break the chain: use a verb or a possessive",
			bad: "The end of the lock of the holder of the row is kept.", good: "The holder's lock keeps its end.",
			pattern: regexp.MustCompile(`(?i)\bof [^,.;:()]{1,25} of [^,.;:()]{1,25} of\b`),
		},
		{
			name: "beside", advice: "compared with, as well as, at the same time as",
			bad: "Measured beside plain SQL.", good: "Compared with plain SQL.",
			pattern: regexp.MustCompile(`(?i)\bbeside\b`),
		},
		{
			name: "commit", advice: "a commit belongs to the log or to a table of runs",
			bad: "It was so until commit 0d3c652.", good: "The commit failed.",
			pattern: regexp.MustCompile(`(?i)\bcommit [0-9a-f]{7,}\b`),
		},
		{
			name: "measurement", advice: "a measurement belongs to a page or to the log", isForComments: true,
			bad: "That took 38 µs before.", good: "The timeout is 10 ms.",
			pattern: regexp.MustCompile(`(?i)\b[\d.,]+ (?:µs|us|ns)\b|\b(?:a (?:third|quarter|fifth|sixth|tenth)|half) (?:less|more|faster|slower)\b|\bmeasured\b|\b[\d.]+ times (?:as|faster|slower)\b`),
		},
	}
}

// finding is one sentence that breaks a rule.
type finding struct {
	file     string
	line     int
	rule     string
	advice   string
	sentence string
}

// lint returns the findings of a block.
func (l linter) lint(b block) []finding {
	var found []finding
	for _, sentence := range sentences(b.text) {
		note := func(rule, advice string) {
			found = append(found, finding{b.file, b.line, rule, advice, sentence})
		}
		for _, rule := range l {
			if (b.isComment || !rule.isForComments) && rule.pattern.MatchString(sentence) {
				note(rule.name, rule.advice)
			}
		}
		if len(strings.Fields(sentence)) > longest {
			note("long", "one thought a sentence")
		}
	}
	return found
}
