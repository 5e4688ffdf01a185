//go:build mutants

package lease_test

import (
	"cmp"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/applock/applock/internal/testing/testfile"
)

// mutant is a mistake in the lease engine: one text of a file for another. by is the test that notices it, TestSchedules if it is empty.
type mutant struct{ file, is, becomes, by string }

// Goal: the tests notice a lease engine that breaks its promises. Method: each of these mistakes is made in a copy, which go test compiles in
// the place of the file, and some of the first schedules, or the test that is named, must fail.
func TestSchedulesCatchMutants(t *testing.T) {
	t.Parallel()
	for name, mutant := range map[string]mutant{
		"GrantByTheServersClock":    {file: "keeper.go", is: "\tt.trust(started, term)\n", becomes: "\tt.trust(grant.ExpiresAt.Add(-term), term)\n"},
		"RenewalByTheServersClock":  {file: "changes.go", is: "\tt.trust(asked, term)\n", becomes: "\tt.trust(answer.ExpiresAt.Add(-term), term)\n"},
		"TrustFromTheAnswerOn":      {file: "keeper.go", is: "\tt.trust(started, term)\n", becomes: "\tt.trust(h.began, term)\n"},
		"TrustForTooLong":           {file: "hold.go", is: "return term - min(term/10, maxMargin)", becomes: "return term + min(term/10, maxMargin)"},
		"LostIsRenewed":             {file: "renewal.go", is: "\tcase answer.Lost != nil:\n", becomes: "\tcase answer.Lost != nil && l == nil:\n"},
		"UnknownTakeIsForgotten":    {file: "acquire.go", is: "\tcase errors.Is(got.err, applock.ErrOutcomeUnknown):\n", becomes: "\tcase errors.Is(got.err, applock.ErrOutcomeUnknown) && l == nil:\n"},
		"UnknownTakeIsReleasedOnce": {file: "acquire.go", is: "\tl.late.add(taken)\n", becomes: ""},
		"UnknownPassIsForgotten":    {file: "pass.go", is: "\t\treturn l.undoPass(ctx, h, next, claim, err)\n", becomes: "", by: "TestAPassWithoutAnAnswer"},
		"PassToWhoHasGone":          {file: "pass.go", is: "\t\tl.abandon(leases[0])\n", becomes: "", by: "TestWhoHasGoneIsPassedOver"},
		"PassBySpentName":           {file: "pass.go", is: "\tnext.rename(outcome.err)\n", becomes: "", by: "TestAPassWithoutAnAnswer"},
		"RetractionIsForgotten":     {file: "lister.go", is: "\t\t\tl.again(gone, err)\n", becomes: "", by: "TestRetractionIsRepeated"},
		"CloseTriesOnce":            {file: "late.go", is: "\t\tif l.isEmpty() {\n", becomes: "\t\tif l.isEmpty() || stopped == nil {\n", by: "TestCloseTriesAllLateTakes"},
		"LateTakeWakesNobody":       {file: "late.go", is: "\t\tl.leases.queue.offer(take.grant.Object, Unranked, time.Now())\n", becomes: "", by: "TestLateTakeIsReleasedAgain"},
		"OutageEndsAWait":           {file: "wait.go", is: " || isBusy(err) || isOutage(err) }\n", becomes: " || isBusy(err) }\n", by: "TestGetWaitsThroughAnOutage"},
		"UnknownRenewalIsRenewed": {
			file: "renewal.go", is: "\tif err != nil {\n\t\treturn err\n\t}\n\tterms := make",
			becomes: "\tif err != nil {\n\t\tfor _, renewal := range batch.renewals {\n\t\t\tanswers = append(answers, Renewed{Object: renewal.Grant.Object})\n\t\t}\n\t}\n\tterms := make",
		},
	} {
		t.Run(name, func(t *testing.T) {
			by := cmp.Or(mutant.by, "TestSchedules")
			command := exec.CommandContext(t.Context(), "go", "test", "-vet=off", "-overlay="+overlay(t, mutant), "-count=1", "-run=^"+by+"$", ".")
			command.Env = append(os.Environ(), schedulesVariable+"=0:500")
			output, err := command.CombinedOutput()
			if err == nil {
				t.Fatalf("%s passes", by)
			}
			first := strings.Index(string(output), "--- FAIL: "+by)
			if first < 0 {
				t.Fatalf("%s has not failed, but something else: %v\n%s", by, err, output)
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
	text := testfile.Read(t, original)
	if count := strings.Count(text, mutant.is); count != 1 {
		t.Fatalf("%s has %q %d times, want it once", mutant.file, mutant.is, count)
	}
	folder := t.TempDir()
	changed := filepath.Join(folder, mutant.file)
	if err := os.WriteFile(changed, []byte(strings.Replace(text, mutant.is, mutant.becomes, 1)), 0o600); err != nil {
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
