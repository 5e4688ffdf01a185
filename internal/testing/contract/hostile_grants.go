package contract

import (
	"fmt"
	"strings"
	"testing"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/scenario"
)

// Goal: a bad list of grants, from a caller who may renew, can neither stop the server nor change other callers' locks. The answer is
// LK001 naming p_grants, or the engine's own error if it does not accept the value as text. Method: lists that are far too long, too
// deep, too large, of other types, duplicated, or no text, each after a good grant, by SQL; then the good grant is unchanged, and another
// call, with as many grants as there may be, is answered.
func hostileGrants(t *testing.T, backend Backend) {
	t.Parallel()
	if !backend.JSONGrants {
		return // SQLite has no list, and Db2's has another form with tests of its own
	}
	place := backend.New(t)
	object := applock.Object{Type: "hostile", ID: "1"}
	mustGet(t, place.Client, object, "JDOE")
	before := inquired(t, place, object)
	good := fmt.Sprintf(`{"object_type":"hostile","object_id":"1","operator_id":"JDOE","fence":%d,"ttl_seconds":315360000}`, before.Fence)
	among := func(grants int) string { // the good one and those of free objects
		all := good
		for i := range grants - 1 {
			all += "," + strings.Replace(good, `"1"`, fmt.Sprintf(`"free %d"`, i), 1)
		}
		return "[" + all + "]"
	}
	documents := hostileDocuments(good)
	documents["a grant too many"] = among(db.MaxGrants + 1)
	for name, document := range documents {
		answer, err := place.Executor("row")(t.Context(), "renew", scenario.Args{"grants": document})
		switch {
		case err != nil && !isText(document):
		case err != nil:
			t.Errorf("%s: %.300v, want LK001", name, err)
		case strings.Join(answer.Words, " ") != refusal+"grants":
			t.Errorf("%s: %.300v, want LK001 of grants", name, answer)
		}
		after := inquired(t, place, object)
		if after.Fence != before.Fence || !after.LockedAt.Equal(before.LockedAt) || !after.ExpiresAt.Equal(before.ExpiresAt) {
			t.Fatalf("%s: the lock was %+v and is %+v", name, before, after)
		}
	}
	for value, document := range otherTypes(good) {
		answer, err := place.Executor("row")(t.Context(), "renew", scenario.Args{"grants": document})
		words := strings.Join(answer.Words, " ")
		if err != nil || words != refusal+"grants" && (!backend.ConvertsJSON || words != "FREE") {
			t.Errorf("%s: %.300v, %.300v, want LK001 of grants, or FREE where types are converted", value, answer, err)
		}
	}
	answer, err := place.Executor("row")(t.Context(), "renew", scenario.Args{"grants": among(db.MaxGrants)})
	if err != nil || len(answer.Words) > 0 && answer.Words[0] == "LK001" {
		t.Errorf("as many grants as a call may have: %.300v, %v", answer, err)
	}
	if after := inquired(t, place, object); !after.ExpiresAt.After(before.ExpiresAt) {
		t.Errorf("the good grant was not renewed: %+v", after)
	}
}

// inquired returns a lock, and fails the test if it is not there.
func inquired(t *testing.T, place Place, object applock.Object) applock.Lock {
	t.Helper()
	lock, err := place.Client.Inquire(t.Context(), object)
	if err != nil {
		t.Fatal(err)
	}
	return lock
}

// hostileDocuments are, by name, documents that begin with a good grant and are not lists of grants.
func hostileDocuments(good string) map[string]string {
	const many, deep = 100_000, 100_000
	other := strings.Replace(good, `"object_id":"1"`, `"object_id":"2"`, 1)
	fence := good[strings.Index(good, `"fence"`):strings.Index(good, `,"ttl_seconds"`)]
	documents := map[string]string{
		"hundred thousand grants":  "[" + strings.Repeat(good+",", many-1) + other + "]",
		"hundred thousand numbers": "[" + good + strings.Repeat(",1", many) + "]",
		"ten thousand times one":   "[" + good + strings.Repeat(","+good, 9_999) + "]",
		"deep lists":               "[" + good + "," + strings.Repeat("[", deep) + strings.Repeat("]", deep) + "]",
		"deep lists without end":   "[" + good + "," + strings.Repeat("[", deep),
		"deep objects":             "[" + good + "," + strings.Repeat(`{"a":`, deep) + "1" + strings.Repeat("}", deep) + "]",
		"deep object_id":           "[" + good + "," + strings.Replace(other, `"2"`, strings.Repeat("[", deep)+strings.Repeat("]", deep), 1) + "]",
		"an object":                good,
		"nothing":                  "",
		"half":                     "[" + good + "," + other[:len(other)/2],
		"two lists":                "[" + good + "][" + other + "]",
		"a NUL":                    "[" + good + ",\x00" + other + "]",
		"no UTF-8":                 "[" + good + "," + strings.Replace(other, `"2"`, "\"\xff\"", 1) + "]",
	}
	for field, values := range map[string][]string{
		`"object_id":"2"`: {
			`null`, `""`, `"   "`, `"` + strings.Repeat("x", 256) + `"`, `"` + strings.Repeat("x", 5_000_000) + `"`,
			`"` + strings.Repeat("😀", 256) + `"`,
		},
		`"object_type":"hostile"`: {`"a:b"`, `":"`, `null`, `"` + strings.Repeat("x", 65) + `"`},
		`"operator_id":"JDOE"`:    {`""`, `null`, `"` + strings.Repeat("日", 256) + `"`},
		`"ttl_seconds":315360000`: {
			`0`, `-1`, `315360001`, `1.5`, `1e400`, `-1e400`, `9223372036854775808`, strings.Repeat("9", 100_000), `null`, `[]`, `""`,
		},
		fence: {`0`, `-1`, `1.5`, `true`, `null`, `9223372036854775808`, `1e400`, strings.Repeat("9", 100_000)},
	} {
		name, _, _ := strings.Cut(field, ":")
		for _, value := range values {
			documents[fmt.Sprintf("%s %.40s of %d", name, value, len(value))] = "[" + good + "," + strings.Replace(other, field, name+":"+value, 1) + "]"
		}
	}
	return documents
}

// otherTypes are lists of one grant of a free object, with one value of the wrong JSON type.
func otherTypes(good string) map[string]string {
	free := strings.Replace(good, `"object_id":"1"`, `"object_id":"2"`, 1)
	documents := map[string]string{}
	for _, pair := range [][2]string{
		{`"object_id":"2"`, `"object_id":2`}, {`"object_id":"2"`, `"object_id":true`}, {`"object_id":"2"`, `"object_id":["2"]`},
		{`"object_id":"2"`, `"object_id":{"2":2}`}, {`"object_type":"hostile"`, `"object_type":1`}, {`"operator_id":"JDOE"`, `"operator_id":[]`},
		{`"operator_id":"JDOE"`, `"operator_id":1`}, {`"ttl_seconds":315360000`, `"ttl_seconds":"60"`},
	} {
		documents[pair[1]] = "[" + strings.Replace(free, pair[0], pair[1], 1) + "]"
	}
	return documents
}
