//go:build mutants

package applock_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// mutant is a mistake in the lease engine: one text of a file for another.
type mutant struct{ file, is, becomes string }

// Goal: TestSchedules would notice a lease engine that breaks its promises. Method: each of these mistakes is made in a copy, which go test compiles
// in the place of the file, and some of the schedules must fail.
func TestSchedulesCatchMutants(t *testing.T) {
	t.Parallel()
	for name, mutant := range map[string]mutant{
		"GrantByTheServersClock":   {"lease.go", "\th.trust(started, term)\n", "\th.trust(grant.ExpiresAt.Add(-term), term)\n"},
		"RenewalByTheServersClock": {"lease.go", "\th.trust(asked, term)\n", "\th.trust(answer.ExpiresAt.Add(-term), term)\n"},
		"TrustFromTheAnswerOn":     {"lease.go", "\th.trust(started, term)\n", "\th.trust(h.began, term)\n"},
		"TrustForTooLong":          {"lease.go", "return term - min(term/10, maxMargin)", "return term + min(term/10, maxMargin)"},
		"LostIsRenewed":            {"renewal.go", "\tcase answer.Lost != nil:\n", "\tcase answer.Lost != nil && l == nil:\n"},
		"UnknownTakeIsForgotten":   {"acquire.go", "\t\tif errors.Is(got.err, ErrOutcomeUnknown) {\n", "\t\tif errors.Is(got.err, ErrOutcomeUnknown) && l == nil {\n"},
		"UnknownRenewalIsRenewed": {
			"renewal.go", "\tif err != nil {\n\t\treturn err\n\t}\n\tterms := make",
			"\tif err != nil {\n\t\tfor _, renewal := range batch.renewals {\n\t\t\tanswers = append(answers, Renewed{Object: renewal.Grant.Object})\n\t\t}\n\t}\n\tterms := make",
		},
	} {
		t.Run(name, func(t *testing.T) {
			command := exec.CommandContext(t.Context(), "go", "test", "-overlay="+overlay(t, mutant), "-count=1", "-run=^TestSchedules$", ".")
			command.Env = append(os.Environ(), schedulesVariable+"=0:1000")
			output, err := command.CombinedOutput()
			if err == nil {
				t.Fatal("a thousand schedules pass")
			}
			first := strings.Index(string(output), "--- FAIL: TestSchedules/seed=")
			if first < 0 {
				t.Fatalf("no schedule has failed, but something else: %v\n%s", err, output)
			}
			lines := strings.SplitN(string(output[first:]), "\n", 3)
			t.Log(strings.Join(lines[:2], "\n"))
		})
	}
}

// overlay returns a file that has go put the mutant's file in the place of ours.
func overlay(t *testing.T, mutant mutant) string {
	t.Helper()
	original, err := filepath.Abs(mutant.file)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(original)
	if err != nil {
		t.Fatal(err)
	}
	if count := strings.Count(string(text), mutant.is); count != 1 {
		t.Fatalf("%s has %q %d times, want it once", mutant.file, mutant.is, count)
	}
	folder := t.TempDir()
	changed := filepath.Join(folder, mutant.file)
	if err := os.WriteFile(changed, []byte(strings.Replace(string(text), mutant.is, mutant.becomes, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	replaced, err := json.Marshal(map[string]map[string]string{"Replace": {original: changed}})
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(folder, "overlay.json")
	if err := os.WriteFile(list, replaced, 0o600); err != nil {
		t.Fatal(err)
	}
	return list
}
