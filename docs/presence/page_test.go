// Package presence_test runs what docs/presence.md shows to authors of support tools.
package presence_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/applock/applock/internal/testing/testdb"
)

// block returns the page's block of a language.
func block(t *testing.T, language string) string {
	t.Helper()
	page, err := os.ReadFile("../presence.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile("(?s)```" + language + "\n(.*?)```").FindSubmatch(page)
	if found == nil {
		t.Fatalf("the page has no block of %s", language)
	}
	return string(found[1])
}

// Goal: the page's commands do what it says. Method: a shell runs each on a database of its own, and they all answer yes.
func TestCommands(t *testing.T) {
	t.Parallel()
	folder := filepath.Dir(testdb.Applockctl(t))
	commands := append([]string{"applockctl migrate up"}, strings.Split(strings.TrimSpace(block(t, "sh")), "\n")...)
	var answers []string
	for _, command := range commands {
		shell := exec.CommandContext(t.Context(), "sh", "-c", command)
		shell.Env = append(os.Environ(), "PATH="+folder+":"+os.Getenv("PATH"), "APPLOCK_DSN=sqlite:"+filepath.Join(folder, "applock.db"))
		output, err := shell.Output()
		if err != nil {
			t.Fatalf("%s: %v\n%s", command, err, output)
		}
		answers = append(answers, string(output))
	}
	if viewers := answers[2]; !strings.Contains(viewers, "JDOE") || !strings.Contains(viewers, "EDITING") || !strings.Contains(viewers, "tab-7") {
		t.Errorf("the viewers are\n%s", viewers)
	}
	if policy := answers[4]; !strings.Contains(policy, "PRESENCE") {
		t.Errorf("the policy is\n%s", policy)
	}
}
