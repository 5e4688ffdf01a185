package clients_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/applock/applock/internal/db"
)

// The tests of this file read the text of libraries. They are red without a compiler, where the compiler would be.

const javaSources = "java/core/src/main/java/io/github/applock/"

func textOf(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// quoted returns the words that the meaning of a parameter or column has between backticks.
func quoted(parameters []db.Parameter, name string) []string {
	var words []string
	for _, parameter := range parameters {
		if parameter.Name == name {
			for _, found := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(parameter.Meaning, -1) {
				words = append(words, found[1])
			}
		}
	}
	slices.Sort(words)
	return slices.Compact(words)
}

func operationNamed(t *testing.T, name string) db.Operation {
	t.Helper()
	all := operations()
	i := slices.IndexFunc(all, func(operation db.Operation) bool { return operation.Name == name })
	if i < 0 {
		t.Fatalf("there is no operation %s", name)
	}
	return all[i]
}

// allOutcomes are the words of all answers of the contract.
func allOutcomes() []string {
	var words []string
	for _, operation := range operations() {
		for _, answer := range operation.Outcomes() {
			words = append(words, answer.Outcome)
		}
	}
	slices.Sort(words)
	return slices.Compact(words)
}

// noticeKinds are what a row of the inbox may be.
func noticeKinds(t *testing.T) []string {
	t.Helper()
	return quoted(operationNamed(t, "inbox_appl_locks").Columns, "kind")
}

// Goal: a library reads every view, and its page or its comments name every kind of notice, with what an answer needs of a request.
// Method: their names in its text.
func TestLibrariesKnowEveryViewAndNotice(t *testing.T) {
	t.Parallel()
	kinds := noticeKinds(t)
	if len(kinds) != 8 {
		t.Errorf("the contract has the kinds %q", kinds)
	}
	for _, library := range libraries(t) {
		aside := regexp.MustCompile(`/(player|test)`)
		text := textBelow(t, library, func(name string) bool { return !aside.MatchString(name) })
		wanted := append([]string{"message"}, kinds...)
		for _, view := range db.Views() {
			wanted = append(wanted, view.Name)
		}
		for _, word := range wanted {
			if !regexp.MustCompile(`(?i)\b` + word + `\b`).MatchString(text) {
				t.Errorf("%s does not name %s", library, word)
			}
		}
	}
}

// constants are those of the last enum of a file of Java that has this name.
func constants(text, name string) []string {
	_, body, _ := strings.Cut(text, "enum "+name+" {")
	body, _, _ = strings.Cut(body, "}")
	body, _, _ = strings.Cut(body, ";")
	body = regexp.MustCompile(`(?s)/\*.*?\*/`).ReplaceAllString(body, "")
	words := regexp.MustCompile(`\w+`).FindAllString(body, -1)
	slices.Sort(words)
	return words
}

// Goal: the enums of Java have what the contract has, no less and no more: a table with a word that they lack does not compile. Method: the
// constants in the text.
func TestJavaEnumsAreThoseOfTheContract(t *testing.T) {
	t.Parallel()
	for _, enum := range []struct {
		file, name string
		want       []string
	}{
		{"Outcome.java", "Outcome", allOutcomes()},
		{"Asker.java", "Reply", quoted(operationNamed(t, "answer_appl_lock").Parameters, "p_answer")},
		{"Presence.java", "State", quoted(operationNamed(t, "see_appl_lock").Parameters, "p_state")},
	} {
		if got := constants(textOf(t, javaSources+enum.file), enum.name); !slices.Equal(got, enum.want) {
			t.Errorf("%s has %q, want %q", enum.file, got, enum.want)
		}
	}
}

// answeredColumns are all columns and OUT parameters that an operation or a view answers with, but the flag, which the outcome tells.
func answeredColumns() map[string]string {
	columns := map[string]string{}
	for _, operation := range operations() {
		for _, column := range answered(operation) {
			if column.Name != "p_ok_fl" {
				columns[column.Name] = operation.Name
			}
		}
	}
	for _, view := range db.Views() {
		for _, column := range view.Columns {
			columns[column.Name] = view.Name
		}
	}
	return columns
}

// Goal: Java, which reads column by column, leaves none out. Method: the names of all columns in its text.
func TestEveryColumnIsReadByJava(t *testing.T) {
	t.Parallel()
	java := textOf(t, javaSources+"ApplLocks.java") + textOf(t, javaSources+"Rows.java")
	for column, of := range answeredColumns() {
		// What an answer and a lock have in common Java reads behind a prefix.
		bare := strings.TrimPrefix(column, "p_")
		if !strings.Contains(java, `"`+column+`"`) && (bare == column || !strings.Contains(java, `"`+bare+`"`)) {
			t.Errorf("Java does not read %s of %s", column, of)
		}
	}
}

// Goal: Node's list of the columns of a view is that of the contract. Method: the list in the text.
func TestNodeListsTheColumnsOfTheContract(t *testing.T) {
	t.Parallel()
	node := textOf(t, "node/applock.cjs")
	for _, view := range db.Views() {
		var want []string
		for _, column := range view.Columns {
			want = append(want, column.Name)
		}
		slices.Sort(want)
		list := regexp.MustCompile(`(?s)\b` + view.Name + `: (".*?"),\n`).FindStringSubmatch(node)
		if list == nil {
			t.Errorf("Node has no columns of %s", view.Name)
			continue
		}
		got := regexp.MustCompile(`\w+`).FindAllString(list[1], -1)
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("Node has the columns %q of %s, want %q", got, view.Name, want)
		}
	}
}
