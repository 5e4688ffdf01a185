package clients_test

import (
	"regexp"
	"testing"
)

// packageVersion is the version that all packages have: internal/build/version writes it.
func packageVersion(t *testing.T) string {
	t.Helper()
	found := regexp.MustCompile(`VERSION = "(.*)"`).FindStringSubmatch(textOf(t, "ruby/lib/applock/version.rb"))
	if found == nil {
		t.Fatal("the gem has no version")
	}
	return found[1]
}
