package main

import (
	"fmt"

	"github.com/applock/applock/applock/migrate"
)

// mostAlike is the largest number of findings with the same problem that a table lists one by one.
const mostAlike = 3

// grouped merges like findings for a table. JSON keeps each, for programs.
func (a *app) grouped(findings []migrate.Finding) []migrate.Finding {
	if a.output != formatTable {
		return findings
	}
	return alike(findings)
}

// alike merges the findings of one part that have the same problem, if there are more than mostAlike.
func alike(findings []migrate.Finding) []migrate.Finding {
	names := map[migrate.Finding][]string{}
	kindOf := func(finding migrate.Finding) migrate.Finding {
		finding.Name = ""
		return finding
	}
	for _, finding := range findings {
		names[kindOf(finding)] = append(names[kindOf(finding)], finding.Name)
	}
	var merged []migrate.Finding
	for _, finding := range findings {
		those := names[kindOf(finding)]
		switch {
		case len(those) <= mostAlike:
		case those[0] == finding.Name:
			finding.Name = fmt.Sprintf("%s, %s and %d others, each", those[0], those[1], len(those)-2)
		default:
			continue
		}
		merged = append(merged, finding)
	}
	return merged
}
