package main

import (
	"slices"
	"testing"

	"github.com/applock/applock/applock/migrate"
)

// Goal: what many routines have in common is told once to people, and of each to programs. Method: findings of two parts, four of them alike.
func TestFindingsAreGrouped(t *testing.T) {
	t.Parallel()
	alike := func(name string) migrate.Finding {
		return migrate.Finding{Part: migrate.PartRights, Name: name, Problem: "may be executed by PUBLIC", Repairable: true}
	}
	other := migrate.Finding{Part: migrate.PartRoutines, Name: "function a", Problem: "is missing", Repairable: true}
	findings := []migrate.Finding{alike("function a"), other, alike("function b"), alike("function c"), alike("function d")}
	want := []migrate.Finding{alike("function a, function b and 2 others, each"), other}
	if told := (&app{output: formatTable}).grouped(findings); !slices.Equal(told, want) {
		t.Errorf("a table tells %v, want %v", told, want)
	}
	if told := (&app{output: formatTable}).grouped(findings[:3]); !slices.Equal(told, findings[:3]) {
		t.Errorf("a table tells of few %v", told)
	}
	if told := (&app{output: formatJSON}).grouped(findings); !slices.Equal(told, findings) {
		t.Errorf("JSON tells %v", told)
	}
}
