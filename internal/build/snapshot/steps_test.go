package main

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/applock/applock/internal/migrate"
	"github.com/applock/applock/migrations"
)

// installing is what all migrations of procedures of a dialect leave.
func installing(t *testing.T, dialect string) []string {
	t.Helper()
	files, err := procedureMigrations(dialect)
	if err != nil {
		t.Fatal(err)
	}
	texts, err := readAll(migrations.FS, files)
	if err != nil {
		t.Fatal(err)
	}
	return texts
}

func sources(t *testing.T, dialect string) []string {
	t.Helper()
	texts, err := sourcesOf(dialect)
	if err != nil {
		t.Fatal(err)
	}
	return texts
}

// edit replaces a text that occurs in one source only, and there first after a place.
func edit(t *testing.T, texts []string, place, from, to string) []string {
	t.Helper()
	texts = slices.Clone(texts)
	changed := 0
	for i, text := range texts {
		if at := strings.Index(text, place); at >= 0 {
			texts[i] = text[:at] + strings.Replace(text[at:], from, to, 1)
			changed++
		}
	}
	if changed != 1 {
		t.Fatalf("%d sources have %q", changed, place)
	}
	return texts
}

// getters are the routines that decide in get_appl_lock, as a source creates them.
func getters() map[string]string {
	return map[string]string{
		"db2":          "CREATE OR REPLACE PROCEDURE get_appl_lock (",
		mysqlFolder:    "CREATE PROCEDURE get_appl_lock_core(",
		postgresFolder: "CREATE OR REPLACE FUNCTION get_appl_lock_row(",
	}
}

// edition returns the sources of a later version: the getter has another text, entry_appl_lock is new, and
// poll_appl_locks is gone.
func edition(t *testing.T, dialect string) []string {
	t.Helper()
	later := edit(t, sources(t, dialect), getters()[dialect], "BEGIN\n", "BEGIN\n    -- A later version.\n")
	var kept []string
	for _, text := range later {
		if strings.Contains(text, " serialize_appl_lock_row") {
			kept = append(kept, strings.ReplaceAll(text, "serialize_appl_lock", "entry_appl_lock"))
		}
		if !strings.Contains(text, "PROCEDURE poll_appl_locks") && !strings.Contains(text, "FUNCTION poll_appl_locks") {
			kept = append(kept, text)
		}
	}
	return kept
}

// namesIn returns the routines that a text creates, sorted.
func namesIn(text string) []string {
	var names []string
	for _, match := range migrate.CreateRoutine.FindAllStringSubmatch(text, -1) {
		names = append(names, match[2])
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// sorted returns routines with their statements as text, in the order of the names.
func sorted(routines []*routine) []string {
	var texts []string
	for _, routine := range routines {
		statements := slices.Clone(routine.Statements)
		slices.SortFunc(statements, func(a, b statement) int { return cmp.Compare(a.Verb, b.Verb) })
		texts = append(texts, fmt.Sprint(routine.Name, routine.Kind, statements))
	}
	slices.Sort(texts)
	return texts
}

// Goal: an upgrade holds what differs and nothing else, and its two directions lead to exactly what the sources
// say and to exactly what was there. Method: in each dialect one routine changes, an operation comes, and one goes;
// the migrations are played.
func TestUpgradeLeadsThereAndBack(t *testing.T) {
	t.Parallel()
	for _, dialect := range serverDialects() {
		getter := namesIn(getters()[dialect])[0]
		former, later := installing(t, dialect), edition(t, dialect)
		upgrade, err := migration(dialect, later, former)
		if err != nil {
			t.Fatal(err)
		}
		up, down, _ := strings.Cut(upgrade, "-- +goose Down\n")
		there := installedBy(dialect, append(slices.Clone(former), up))
		want, err := routinesOf(dialect, later)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(sorted(there), sorted(want)) {
			t.Errorf("%s: up leads to other texts than the sources'", dialect)
		}
		back := installedBy(dialect, append(slices.Clone(former), up, down))
		if !slices.Equal(sorted(back), sorted(installedBy(dialect, former))) {
			t.Errorf("%s: down leads to other texts than those before", dialect)
		}

		entry, gone := []string{"entry_appl_lock", "entry_appl_lock_row"}, []string{"poll_appl_locks"}
		if dialect == mysqlFolder {
			entry, gone = append(entry, "entry_appl_lock_core"), append(gone, "poll_appl_locks_core")
		}
		for direction, names := range map[string][]string{up: append(entry, getter), down: append(gone, getter)} {
			slices.Sort(names)
			if got := namesIn(direction); !slices.Equal(got, names) {
				t.Errorf("%s: creates %v, want %v\n%s", dialect, got, names, direction)
			}
		}
		created, dropped := entries(migrate.CreateRoutine, up), entries(migrate.DropRoutine, down)
		if slices.Reverse(dropped); len(created) < 2 || !slices.Equal(created, dropped) {
			t.Errorf("%s: creates %v and drops, in the opposite order, %v", dialect, created, dropped)
		}
	}
}

// entries returns the routines of entry_appl_lock as a text names them, in that order.
func entries(statement *regexp.Regexp, text string) []string {
	var names []string
	for _, match := range statement.FindAllStringSubmatch(text, -1) {
		if name := match[len(match)-1]; strings.HasPrefix(name, "entry_") {
			names = append(names, name)
		}
	}
	return names
}

// Goal: replacing changes nothing but the text. Method: what is said of a routine runs again on Db2, where replacing
// forgets it, and does not on PostgreSQL, where it would take back what was granted to PUBLIC since; a comment that
// differs runs alone.
func TestUpgradeSaysAgainOnlyWhatIsForgotten(t *testing.T) {
	t.Parallel()
	for dialect, test := range map[string]struct {
		place, from, to string
		says            []string // in both directions
	}{
		"postgres":         {"FUNCTION get_appl_lock_row(", "BEGIN\n", "BEGIN\n    NULL;\n", []string{"CREATE"}},
		"postgres comment": {"COMMENT ON FUNCTION get_appl_lock_row(", "IS\n    '", "IS\n    'New: ", []string{"COMMENT"}},
		"postgres header":  {"-- get_appl_lock: ", "take", "Take", nil},
		"db2":              {"PROCEDURE get_appl_lock (", "BEGIN\n", "BEGIN\n    -- New.\n", []string{"CREATE", "COMMENT"}},
		"db2 comment":      {"COMMENT ON SPECIFIC PROCEDURE get_appl_lock IS", "IS '", "IS 'New: ", []string{"COMMENT"}},
		"db2 check": {
			"PROCEDURE appl_lock_check_database (", "BEGIN\n", "BEGIN\n    -- New.\n",
			[]string{"CREATE", "COMMENT", "CALL"},
		},
	} {
		dialect, _, _ := strings.Cut(dialect, " ")
		steps, err := stepsOf(dialect, edit(t, sources(t, dialect), test.place, test.from, test.to), installing(t, dialect))
		if err != nil {
			t.Fatal(err)
		}
		for direction, text := range map[string]string{"up": steps.up.String(), "down": steps.down.String()} {
			if got := verbsIn(text); !slices.Equal(got, test.says) {
				t.Errorf("%s: %s: %s says %v, want %v\n%s", dialect, test.place, direction, got, test.says, text)
			}
		}
	}
}

var verb = regexp.MustCompile(`(?m)^(CREATE|COMMENT|REVOKE|CALL|DROP) (?:OR|ON|ALL|ALGORITHM|SQL|FUNCTION|PROCEDURE|VIEW|appl_lock)`)

func verbsIn(text string) []string {
	var verbs []string
	for _, match := range verb.FindAllStringSubmatch(text, -1) {
		verbs = append(verbs, match[1])
	}
	return verbs
}

// Goal: a routine that replacing cannot change is refused and not installed a second time. Method: another parameter.
func TestUpgradeRefusesAnotherSignature(t *testing.T) {
	t.Parallel()
	for dialect, place := range map[string]string{
		"postgres": "PROCEDURE get_appl_lock(", "db2": "PROCEDURE get_appl_lock (",
	} {
		later := edit(t, sources(t, dialect), "CREATE OR REPLACE "+place, "p_operator_id", "p_user_id")
		_, err := migration(dialect, later, installing(t, dialect))
		if err == nil || !strings.Contains(err.Error(), "get_appl_lock is installed with another signature") {
			t.Errorf("%s: %v, want an error", dialect, err)
		}
	}
}

// Goal: no statement of a source is lost. Method: one about a routine of nobody's is an error.
func TestSourceOfNoRoutine(t *testing.T) {
	t.Parallel()
	for dialect, text := range map[string]string{
		"postgres": "GRANT USAGE ON SCHEMA applock TO PUBLIC;\n",
		"db2":      terminatorLine + "\nCOMMENT ON SPECIFIC PROCEDURE nobody IS 'x'\n@\n",
		"mysql":    delimiterBegin + "\nDROP TABLE appl_lock$$\n\n" + delimiterEnd,
	} {
		if _, err := migration(dialect, []string{text}, nil); err == nil || !strings.Contains(err.Error(), "about no routine") {
			t.Errorf("%s: %v, want an error", dialect, err)
		}
	}
}
