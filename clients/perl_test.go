package clients_test

import "testing"

// Goal: no attribute and no setting of a caller's connection makes an answer of the Perl library another one, and none is left changed.
// Method: test_connection.pl sets what it can, with each driver.
func TestPerlConnectionChangesNoAnswer(t *testing.T) {
	t.Parallel()
	runOwnTests(t, "perl", "test_connection", "")
}
