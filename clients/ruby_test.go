package clients_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Goal: the gem's answers cannot be misread, no setting of a connection changes them, and a lease excludes, renews, tells of a loss and
// survives crashes. Method: its own tests, with each driver on each product.
func TestRubyLibrary(t *testing.T) {
	t.Parallel()
	runOwnTests(t, "ruby", "test_applock", " 0 failures, 0 errors, 0 skips")
}

// Goal: what is tested is the gem as it was built, with nothing in it but the library and its page. Method: which file a program
// loads, and the list of the gem's files.
func TestRubyGem(t *testing.T) {
	t.Parallel()
	withLanguage(t, "ruby", checkGem)
}

func checkGem(t *testing.T, tools string) {
	t.Helper()
	gems := filepath.Join(tools, "ruby/gems")
	script := `require "applock"; spec = Gem.loaded_specs["applock"]; puts $LOADED_FEATURES.grep(/applock/), (spec.files - Dir.glob("lib/**/*.rb"))`
	command := exec.CommandContext(t.Context(), "ruby", "-e", script)
	command.Dir, command.Env = "ruby", environment("GEM_HOME="+gems)
	output, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	for line := range strings.Lines(string(output)) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, gems+"/gems/applock-") && line != "LICENSE" && filepath.Ext(line) != ".md" {
			t.Errorf("%s does not belong here", line)
		}
	}
}
