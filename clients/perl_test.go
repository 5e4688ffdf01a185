package clients_test

import "testing"

// Goal: no attribute and no setting of a caller's connection makes an answer of the Perl library another one, and none is left changed.
// Method: test_connection.pl sets what it can, with each driver.
func TestPerlConnectionChangesNoAnswer(t *testing.T) {
	t.Parallel()
	isPerl := func(d driver) bool { return d.language.folder == "perl" }
	eachDriver(t, isPerl, func(t *testing.T, d driver, at place) {
		t.Helper()
		if output, err := d.program(t, at, "perl", "test_connection", d.name).CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, output)
		}
	})
}
