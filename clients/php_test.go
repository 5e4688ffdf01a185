package clients_test

import (
	"path/filepath"
	"strings"
	"testing"
)

// Goal: the answers of PHP's package cannot be misread, no attribute of a PDO changes them, a lease excludes, renews, tells of a loss
// and survives crashes, and symfony/lock works on it. Method: its own tests, with each driver on each product.
func TestPHPLibrary(t *testing.T) {
	t.Parallel()
	runOwnTests(t, "php", "test_applock", ` passed, 0 failed\n\z`)
}

// Goal: composer installs the library, its page and its license, and no tests. Method: what is in the project that the tests run from.
func TestPHPPackage(t *testing.T) {
	t.Parallel()
	withLanguage(t, "php", checkComposerPackage)
}

func checkComposerPackage(t *testing.T, tools string) {
	t.Helper()
	installed := filepath.Join(tools, "php/project/vendor/applock/applock")
	files, err := filepath.Glob(filepath.Join(installed, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for i, file := range files {
		files[i] = filepath.Base(file)
	}
	if got, want := strings.Join(files, " "), "LICENSE README.md composer.json src"; got != want {
		t.Errorf("the package has %s, want %s", got, want)
	}
}
