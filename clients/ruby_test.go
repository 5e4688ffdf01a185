package clients_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/applock/applock/internal/testing/testdb"
)

// Goal: the gem's answers cannot be misread, no setting of a connection changes them, and a lease excludes, renews, tells of a loss and
// survives crashes. Method: its own tests, with each driver on each product.
func TestRubyLibrary(t *testing.T) {
	t.Parallel()
	inRuby := func(d driver) bool { return d.language.folder == "ruby" }
	eachDriver(t, inRuby, func(t *testing.T, d driver, at place) {
		t.Helper()
		output, err := d.program(t, at, "ruby", "test_applock", d.name).CombinedOutput()
		if err != nil || !strings.Contains(string(output), " 0 failures, 0 errors, 0 skips") {
			t.Errorf("%v\n%s", err, output)
		}
	})
}

// Goal: what is tested is the gem as it was built, with nothing in it but the library and its page. Method: which file a program
// loads, and the list of the gem's files.
func TestRubyGem(t *testing.T) {
	t.Parallel()
	onPG := func(d driver) bool { return d.language.folder == "ruby" && d.name == "pg" }
	eachDriver(t, onPG, func(t *testing.T, _ driver, _ place) {
		t.Helper()
		checkGem(t, filepath.Join(testdb.Clients(t), "ruby/gems"))
	})
}

func checkGem(t *testing.T, gems string) {
	t.Helper()
	script := `require "applock"; spec = Gem.loaded_specs["applock"]; puts $LOADED_FEATURES.grep(/applock/), (spec.files - Dir.glob("lib/**/*.rb"))`
	command := exec.CommandContext(t.Context(), "ruby", "-e", script)
	command.Dir, command.Env = "ruby", environment("GEM_HOME="+gems)
	output, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	for line := range strings.Lines(string(output)) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, gems+"/gems/applock-") && line != "LICENSE" && line != "README.md" {
			t.Errorf("%s does not belong here", line)
		}
	}
}
