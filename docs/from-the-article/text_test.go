package fromthearticle_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/applock/applock/internal/testing/testfile"
)

// signature is the parameters of a procedure.
type signature struct{ in, out []string }

// article returns the parameters that the article gives its four procedures.
func article() map[string]signature {
	return map[string]signature{
		"get": {
			[]string{"P_CUSTOMER_ID BIGINT", "P_OPERATOR_ID CHAR(8)", "P_DEPARTMENT_ID CHAR(8)"},
			[]string{"P_LOCK_FL CHAR(1)", "P_OLD_OPERATOR_ID CHAR(8)", "P_OLD_DEPARTMENT_ID CHAR(8)"},
		},
		"release": {
			[]string{"P_CUSTOMER_ID BIGINT", "P_OPERATOR_ID CHAR(8)"},
			[]string{"P_RETURN_CD CHAR(1)", "P_OLD_OPERATOR_ID CHAR(8)", "P_OLD_DEPARTMENT_ID CHAR(8)"},
		},
		"inquire": {
			[]string{"P_CUSTOMER_ID BIGINT"},
			[]string{"P_RETURN_CD CHAR(1)", "P_OPERATOR_ID CHAR(8)", "P_DEPARTMENT_ID CHAR(8)", "P_LOCK_TS TIMESTAMP"},
		},
		"transfer": {
			[]string{"P_CUSTOMER_ID BIGINT", "P_FROM_OPERATOR_ID CHAR(8)", "P_TO_OPERATOR_ID CHAR(8)", "P_TO_DEPARTMENT_ID CHAR(8)"},
			[]string{"P_RETURN_CD CHAR(1)", "P_OLD_OPERATOR_ID CHAR(8)", "P_OLD_DEPARTMENT_ID CHAR(8)"},
		},
	}
}

var (
	header     = regexp.MustCompile(`(?s)\nCREATE (?:OR REPLACE )?PROCEDURE (\w+)_customer_lock ?\(\n(.*?)\n\)\n`)
	message    = regexp.MustCompile(`MESSAGE_TEXT =\s+'([^']*)'`)
	terminator = regexp.MustCompile(`(?m)^@$`)
)

// parametersOf returns the parameters of each procedure in a file, in the article's words for types.
func parametersOf(script string) map[string][]string {
	inWords := strings.NewReplacer(
		" CHARACTER SET UTF8MB4 COLLATE UTF8MB4_BIN", "", "CHARACTER(", "CHAR(", "DATETIME(6)", "TIMESTAMP",
	)
	found := map[string][]string{}
	for _, match := range header.FindAllStringSubmatch(script, -1) {
		for line := range strings.SplitSeq(match[2], "\n") {
			parameter := strings.TrimSuffix(strings.TrimSpace(line), ",")
			found[match[1]] = append(found[match[1]], inWords.Replace(strings.ToUpper(parameter)))
		}
	}
	return found
}

// Goal: every dialect has the article's signature: parameters, directions, order and types. Method: compare the
// files with the article.
func TestSignature(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"postgres.sql", "mysql.sql", "db2.sql", "zos.sql"} {
		found := parametersOf(testfile.Read(t, file))
		for verb, signature := range article() {
			var want []string
			for _, parameter := range signature.in {
				want = append(want, "IN "+parameter)
			}
			for _, parameter := range signature.out {
				want = append(want, "OUT "+parameter)
			}
			if got := found[verb]; !slices.Equal(got, want) {
				t.Errorf("%s: %s_customer_lock has the parameters\n%q, want\n%q", file, verb, got, want)
			}
		}
		if len(found) != len(article()) {
			t.Errorf("%s has %d procedures, want %d", file, len(found), len(article()))
		}
	}
}

// db2Procedures returns the statements of a file for Db2, each without its terminator.
func db2Procedures(t *testing.T, file string) []string {
	t.Helper()
	_, body, _ := strings.Cut(testfile.Read(t, file), "\n--#SET TERMINATOR @\n")
	statements := terminator.Split(body, -1)
	if last := statements[len(statements)-1]; last != "\n" || len(statements) != len(article())+1 {
		t.Fatalf("%s: %d terminators, want %d, the last one at the end", file, len(statements)-1, len(article()))
	}
	return statements[:len(statements)-1]
}

// Goal: what HSQLDB cannot check in the text for Db2. Method: look for what the linter of internal/db/db2 keeps out of
// applock's own procedures.
func TestDb2Text(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"db2.sql", "zos.sql"} {
		for i, line := range strings.Split(testfile.Read(t, file), "\n") {
			if odd.MatchString(line) {
				t.Errorf("%s:%d: %q", file, i+1, line)
			}
			const spufiColumns = 72
			if file == "zos.sql" && len(line) > spufiColumns {
				t.Errorf("%s:%d has %d columns, at most %d", file, i+1, len(line), spufiColumns)
			}
		}
		for _, procedure := range db2Procedures(t, file) {
			for _, text := range message.FindAllStringSubmatch(procedure, -1) {
				if limit := 70; len(text[1]) > limit {
					t.Errorf("%s: the message %q has more than the %d bytes that Db2 keeps", file, text[1], limit)
				}
			}
			if found := notInWrappers.FindString(procedure); found != "" {
				t.Errorf("%s: a wrapper has %s", file, found)
			}
		}
	}
}

var (
	// odd is what no line may have: characters that are not ASCII or not visible, and blanks at the end.
	odd = regexp.MustCompile(`[^ -~]| $`)
	// notInWrappers is what has no place in a wrapper: it decides nothing, handles nothing and reads no clock. An
	// empty string is NULL for some databases.
	notInWrappers = regexp.MustCompile(`\b(?:HANDLER|ATOMIC|COMMIT|ROLLBACK|CURRENT|SELECT|INSERT|UPDATE|DELETE|appl_lock)\b|''|"|--`)
)

// zosOptions returns a text for LUW with the options of applock's procedures for z/OS, which internal/build/snapshot gives them.
func zosOptions(luw string) string {
	withoutSpecific := regexp.MustCompile(`(?m)^SPECIFIC \w+\n`).ReplaceAllString(luw, "")
	return strings.ReplaceAll(withoutSpecific, " SQL DATA\nBEGIN\n", " SQL DATA\n"+
		"PARAMETER CCSID UNICODE\n"+
		"ISOLATION LEVEL CS\n"+
		"CONCURRENT ACCESS RESOLUTION USE CURRENTLY COMMITTED\n"+
		"VALIDATE BIND\n"+
		"DISALLOW DEBUG MODE\n"+
		"BEGIN\n")
}

// Goal: the texts for LUW and for z/OS do the same. Method: they differ in options and comments alone.
func TestDb2TextsAgree(t *testing.T) {
	t.Parallel()
	luw, zos := db2Procedures(t, "db2.sql"), db2Procedures(t, "zos.sql")
	for i := range luw {
		if want := zosOptions(luw[i]); zos[i] != want {
			t.Errorf("zos.sql has\n%s\nwant\n%s", zos[i], want)
		}
	}
}
