package clients_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/applock/applock/internal/testing/testdb"
)

// Goal: the answers of PHP's package cannot be misread, no attribute of a PDO changes them, a lease excludes, renews, tells of a loss
// and survives crashes, and symfony/lock works on it. Method: its own tests, with each driver on each product.
func TestPHPLibrary(t *testing.T) {
	t.Parallel()
	inPHP := func(d driver) bool { return d.language.folder == "php" }
	eachDriver(t, inPHP, func(t *testing.T, d driver, at place) {
		t.Helper()
		output, err := d.program(t, at, "php", "test_applock", d.name).CombinedOutput()
		if err != nil || !strings.HasSuffix(string(output), " passed, 0 failed\n") {
			t.Errorf("%v\n%s", err, output)
		}
	})
}

// Goal: composer installs the library, its page and its license, and no tests. Method: what is in the project that the tests run from.
func TestPHPPackage(t *testing.T) {
	t.Parallel()
	onPostgreSQL := func(d driver) bool { return d.name == "pdo_pgsql" }
	eachDriver(t, onPostgreSQL, func(t *testing.T, _ driver, _ place) {
		t.Helper()
		checkComposerPackage(t)
	})
}

func checkComposerPackage(t *testing.T) {
	t.Helper()
	installed := filepath.Join(testdb.Clients(t), "php/project/vendor/applock/applock")
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
