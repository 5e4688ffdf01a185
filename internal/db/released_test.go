package db_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/testing/testfile"
)

// frozen returns what is frozen of each operation and view by its release, a line each: parameters and columns with their types
// in order, and the words of the answers.
func frozen(contract []db.Operation, views []db.View) map[string][]string {
	lines := map[string][]string{}
	for _, operation := range contract {
		said := []string{fmt.Sprintf("%s row form %s", operation.Name, operation.RowForm())}
		for _, parameter := range operation.Parameters {
			said = append(said, fmt.Sprintf("%s %s %s %s", operation.Name, parameter.Direction, parameter.Name, parameter.Type))
		}
		for _, column := range operation.Columns {
			said = append(said, fmt.Sprintf("%s column %s %s", operation.Name, column.Name, column.Type))
		}
		for _, answer := range operation.Outcomes() {
			said = append(said, fmt.Sprintf("%s answers %s", operation.Name, operation.Words(answer)))
		}
		lines[operation.Name] = said
	}
	for _, view := range views {
		for _, column := range view.Columns {
			lines[view.Name] = append(lines[view.Name], fmt.Sprintf("%s column %s %s", view.Name, column.Name, column.Type))
		}
	}
	return lines
}

// brokenPromises returns the released operations and views that are not what they were, with what they are now. A view may have
// more columns behind those that it had.
func brokenPromises(released string, contract []db.Operation, views []db.View) []string {
	promised := map[string][]string{}
	for line := range strings.Lines(released) {
		line = strings.TrimSuffix(line, "\n")
		name, _, _ := strings.Cut(line, " ")
		promised[name] = append(promised[name], line)
	}
	now := frozen(contract, views)
	isView := func(name string) bool {
		return slices.ContainsFunc(db.Views(), func(view db.View) bool { return view.Name == name })
	}
	var broken []string
	for name, lines := range promised {
		is := now[name]
		if isView(name) {
			is = is[:min(len(is), len(lines))]
		}
		if !slices.Equal(lines, is) {
			broken = append(broken, fmt.Sprintf("%s was released as\n%s\nand is\n%s", name, strings.Join(lines, "\n"), strings.Join(now[name], "\n")))
		}
	}
	return broken
}

// release returns the contract as testdata/released_contract.txt has it after a release.
func release(contract []db.Operation, views []db.View) string {
	lines := frozen(contract, views)
	var text strings.Builder
	for _, operation := range contract {
		text.WriteString(strings.Join(lines[operation.Name], "\n") + "\n")
	}
	for _, view := range views {
		text.WriteString(strings.Join(lines[view.Name], "\n") + "\n")
	}
	return text.String()
}

// Goal: an operation never changes after its release. Method: the contract against testdata/released_contract.txt; APPLOCK_RELEASE=1
// (make freeze) adds what the contract has now. Before the first release the file may be emptied and recorded again.
func TestReleasedContractStays(t *testing.T) {
	t.Parallel()
	const file = "testdata/released_contract.txt"
	broken := brokenPromises(testfile.Read(t, file), db.Contract(), db.Views())
	for _, promise := range broken {
		t.Errorf("%s\nput it back, and give the new operation another name: docs/evolution.md; before the first release, empty %s and run make freeze", promise, file)
	}
	if os.Getenv("APPLOCK_RELEASE") != "" && broken == nil {
		if err := os.WriteFile(file, []byte(release(db.Contract(), db.Views())), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// Goal: a change to the released contract is noticed, and operations can be added. Method: release the contract, change it in each way, and
// compare.
func TestReleasedContractNoticesChanges(t *testing.T) {
	t.Parallel()
	released := release(db.Contract(), db.Views())
	find := func(contract []db.Operation, name string) *db.Operation {
		return &contract[slices.IndexFunc(contract, func(operation db.Operation) bool { return operation.Name == name })]
	}
	for what, change := range map[string]func(contract []db.Operation) []db.Operation{
		"a parameter more": func(contract []db.Operation) []db.Operation {
			get := find(contract, "get_appl_lock")
			get.Parameters = append(get.Parameters, db.Parameter{Name: "p_new", Direction: db.Out, Type: db.Text})
			return contract
		},
		"a parameter less": func(contract []db.Operation) []db.Operation {
			get := find(contract, "get_appl_lock")
			get.Parameters = get.Parameters[:len(get.Parameters)-1]
			return contract
		},
		"another order": func(contract []db.Operation) []db.Operation {
			get := find(contract, "get_appl_lock")
			get.Parameters[0], get.Parameters[1] = get.Parameters[1], get.Parameters[0]
			return contract
		},
		"another name": func(contract []db.Operation) []db.Operation {
			find(contract, "get_appl_lock").Parameters[0].Name = "p_type"
			return contract
		},
		"another type": func(contract []db.Operation) []db.Operation {
			find(contract, "get_appl_lock").Parameters[4].Type = db.Text
			return contract
		},
		"a column more": func(contract []db.Operation) []db.Operation {
			poll := find(contract, "poll_appl_locks")
			poll.Columns = append(poll.Columns, db.Parameter{Name: "new", Direction: db.Out, Type: db.Text})
			return contract
		},
		"another answer": func(contract []db.Operation) []db.Operation {
			release := find(contract, "release_appl_lock")
			release.Answers = append(release.Answers, db.Answer{Outcome: "LATER", Meaning: "a word that no caller knows"})
			return contract
		},
		"an operation less": func(contract []db.Operation) []db.Operation { return contract[1:] },
	} {
		if broken := brokenPromises(released, change(db.Contract()), db.Views()); len(broken) != 1 {
			t.Errorf("%s: noticed %q, want one", what, broken)
		}
	}
	added := append(db.Contract(), db.Operation{Name: "new_appl_lock", Parameters: []db.Parameter{{Name: "p_new", Direction: db.In, Type: db.Text}}})
	if broken := brokenPromises(released, added, db.Views()); broken != nil {
		t.Errorf("an operation more is refused: %q", broken)
	}
	for what, change := range map[string]func(views []db.View) []db.View{
		"a column less":     func(views []db.View) []db.View { views[0].Columns = views[0].Columns[1:]; return views },
		"the last one less": func(views []db.View) []db.View { views[0].Columns = views[0].Columns[:1]; return views },
		"a view less":       func(views []db.View) []db.View { return views[1:] },
		"another type":      func(views []db.View) []db.View { views[0].Columns[0].Type = db.Number; return views },
	} {
		if broken := brokenPromises(released, db.Contract(), change(db.Views())); len(broken) != 1 {
			t.Errorf("%s of a view: noticed %q, want one", what, broken)
		}
	}
	more := db.Views()
	more[0].Columns = append(more[0].Columns, db.Parameter{Name: "new", Direction: db.Out, Type: db.Text})
	if broken := brokenPromises(released, db.Contract(), more); broken != nil {
		t.Errorf("a column more of a view is refused: %q", broken)
	}
}
