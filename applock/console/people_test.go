package console

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/console/internal/pages"
)

// Goal: a hand-over goes to somebody who is known, or to whom it was confirmed to go, and a name has no character that cannot be seen.
// Method: names in the form of a hand-over, as a browser or a hand sends them.
func TestTargets(t *testing.T) {
	t.Parallel()
	d := newDesk(t, supervisor())
	grant := d.get(t, "customer:42", "JDOE", time.Hour)
	d.get(t, "customer:43", "ASMITH", time.Hour)
	d.wait(t, "customer:42", "PKING")
	if _, err := d.client.Take(t.Context(), applock.TakeRequest{
		Object: d.get(t, "customer:44", "FORMER", time.Hour).Object, Owner: applock.Owner{Operator: "BJONES", Department: "legal"}, Reason: "x",
	}); err != nil {
		t.Fatal(err)
	}
	d.release(t, "customer:44", "BJONES")
	check(t, d.see(t, "/transfer?name=customer%3A42", http.StatusOK), `<option value="ASMITH" label="ASMITH (CS)">`, `<option value="PKING"`,
		`<option value="BJONES" label="BJONES (legal)">`, `list="people"`)
	for _, test := range []struct{ to, department, unknown, plan, problem string }{
		{to: "ASMITH", plan: "to ASMITH (CS)"},
		{to: "ASMITH", department: "sales", plan: "to ASMITH (sales)"},
		{to: "BJONES", plan: "to BJONES (legal)"},
		{to: "FORMER", plan: "to FORMER (CS)"},
		{to: "PKING", plan: "to PKING (CS)"}, // who has none: the lock's
		{to: "asmihtth", problem: "No operator asmihtth is known"},
		{to: "asmihtth", unknown: "asmith", problem: "No operator asmihtth is known"},
		{to: "asmihtth", unknown: "asmihtth", plan: "to asmihtth (CS)"},
		{to: "ASMITH\u200b", problem: `“To which operator” has a character that cannot be seen, which is written as an escape here: ASMITH\u200b.`},
		{to: "ASM\nITH", problem: `ASM\nITH`},
		{to: "\u202eASMITH", problem: `\u202eASMITH`},
		{to: "ASMITH\u3164", problem: "cannot be seen"},
		{to: "ASMITH", department: "C\u00adS", problem: `“Department of that operator” has a character that cannot be seen`},
		{to: "Müller-Lüdenscheidt 山田", unknown: "Müller-Lüdenscheidt 山田", plan: "to Müller-Lüdenscheidt 山田 (CS)"},
	} {
		form := confirmedForm(grant, "JDOE is ill")
		form.Set("to", test.to)
		form.Set("department", test.department)
		form.Set("unknown", test.unknown)
		if test.problem != "" { // also where a hand goes past the plan
			w := d.submit("/transfer", form)
			check(t, w.Body.String(), test.problem)
			if ask := strings.Contains(w.Body.String(), `name="unknown" value="asmihtth"`); w.Code != http.StatusBadRequest || ask != (test.to == "asmihtth") {
				t.Errorf("%q has status %d, and asks whether it is meant: %t", test.to, w.Code, ask)
			}
			continue
		}
		form.Del("confirmed")
		_, plan := d.follow(t, d.submit("/transfer", form))
		check(t, plan, "<button>Hand over customer:42 "+test.plan+"</button>")
	}
	if lock := d.holder(t, "customer:42"); lock.Fence != grant.Fence {
		t.Errorf("%+v", lock)
	}
}

// Goal: to take a lock over does not take it out of the lists of departments. Method: somebody who is known by a department, and
// somebody who is not.
func TestTakeKeepsADepartment(t *testing.T) {
	t.Parallel()
	for _, known := range []bool{false, true} {
		d, want := newDesk(t, supervisor()), "CS"
		if known {
			want = "legal"
			if _, err := d.client.Get(t.Context(), applock.GetRequest{
				Object: applock.Object{Type: "case", ID: "1"}, Owner: applock.Owner{Operator: "MLEE", Department: want},
			}); err != nil {
				t.Fatal(err)
			}
		}
		d.get(t, "customer:42", "JDOE", time.Hour)
		page := d.see(t, "/take?name=customer%3A42", http.StatusOK)
		if strings.Contains(page, `value="legal"`) != known {
			t.Errorf("known: %t; the form has another department:\n%s", known, page)
		}
		form := formOf(page)
		form.Set("reason", "the auditor waits")
		_, plan := d.follow(t, d.submit("/take", form))
		_, _ = d.follow(t, d.submit("/take", formOf(plan)))
		if lock := d.holder(t, "customer:42"); lock.Owner != (applock.Owner{Operator: "MLEE", Department: want}) {
			t.Errorf("held by %s, want the department %s", lock.Owner, want)
		}
	}
}

// Goal: the answer to a hand-over offers the way back to each who has lost locks, as a plan with all that a plan has. Method: locks of two
// operators, taken over and handed back; and a release, which has no way back.
func TestHandBack(t *testing.T) {
	t.Parallel()
	d := newDesk(t, supervisor())
	first := d.get(t, "a:1", "JDOE", time.Hour)
	d.note(t, first, "a note")
	form := confirmedForm(first, "by mistake")
	for _, object := range []string{"a:2", "a:3"} {
		operator := "JDOE"
		if object == "a:3" {
			operator = "BJONES"
		}
		form.Add("lock", pages.FormatGrant(d.get(t, object, operator, time.Hour).Key()))
	}
	form.Set("carry", "yes")
	_, answer := d.follow(t, d.submit("/take", form))
	check(t, answer, "TAKEN</strong> Taken over. You have it now. 3 of 3.", "<button>Hand back 2 locks to JDOE (CS)</button>", "<button>Hand back a:3 to BJONES (CS)</button>")
	_, back, _ := strings.Cut(answer, `action="transfer">`)
	back, _, _ = strings.Cut(back, "</form>")
	_, plan := d.follow(t, d.submit("/transfer", formOf(back)))
	check(t, plan, "<button>Hand over 2 locks of MLEE to JDOE (CS)</button>", "Handed back", "a note")
	confirmed := formOf(plan)
	confirmed.Set("carry", "yes")
	_, answer = d.follow(t, d.submit("/transfer", confirmed))
	check(t, answer, "TRANSFERRED</strong> Handed over. 2 of 2.")
	for object, want := range map[string]string{"a:1": "JDOE (CS) a note", "a:2": "JDOE (CS) ", "a:3": "MLEE (CS) "} {
		if lock := d.holder(t, object); lock.Owner.String()+" "+lock.Note != want {
			t.Errorf("%s is held by %s, with the note %q", object, lock.Owner, lock.Note)
		}
	}
	_, answer = d.follow(t, d.submit("/release", confirmedForm(d.get(t, "a:4", "JDOE", time.Hour), "gone")))
	if strings.Contains(answer, "Hand back") {
		t.Error("a release can be handed back")
	}
}
