package clients_test

import (
	"os"
	"regexp"
	"testing"
)

// Goal: all packages have one version. Method: what names it in each.
func TestPackagesHaveOneVersion(t *testing.T) {
	t.Parallel()
	versions := map[string][]string{}
	for file, form := range map[string]string{
		"python/pyproject.toml":       `(?m)^version = "(.*)"$`,
		"node/package.json":           `"version": "(.*)"`,
		"java/pom.xml":                `<artifactId>applock-parent</artifactId>\s*<version>(.*)</version>`,
		"java/core/pom.xml":           `<artifactId>applock-parent</artifactId>\s*<version>(.*)</version>`,
		"java/spring/pom.xml":         `<artifactId>applock-parent</artifactId>\s*<version>(.*)</version>`,
		"java/shedlock/pom.xml":       `<artifactId>applock-parent</artifactId>\s*<version>(.*)</version>`,
		"java/tests/pom.xml":          `<applock.version>(.*)</applock.version>`,
		"ruby/lib/applock/version.rb": `VERSION = "(.*)"`,
		"php/package":                 `(?m)^version=(.*)$`,
		"perl/lib/Applock.pm":         `\$VERSION = '(.*)';`,
	} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile(form).FindSubmatch(text)
		if found == nil {
			t.Errorf("%s names no version", file)
			continue
		}
		versions[string(found[1])] = append(versions[string(found[1])], file)
	}
	if len(versions) != 1 {
		t.Errorf("there are several versions: %q", versions)
	}
}
