package clients_test

import (
	"regexp"
	"testing"
)

// namesOfVersion are where the packages of the libraries have their version, each with how it stands there.
func namesOfVersion() map[string]string {
	const parent = `<artifactId>applock-parent</artifactId>\s*<version>(.*)</version>`
	return map[string]string{
		"python/pyproject.toml":       `(?m)^version = "(.*)"$`,
		"node/package.json":           `"version": "(.*)"`,
		"node/package-lock.json":      `"name": "applock",\s*"version": "(.*)"`,
		"java/pom.xml":                parent,
		"java/core/pom.xml":           parent,
		"java/spring/pom.xml":         parent,
		"java/shedlock/pom.xml":       parent,
		"java/tests/pom.xml":          `<applock.version>(.*)</applock.version>`,
		"java/README.md":              `<artifactId>applock-\w+</artifactId>\s*<version>(.*)</version>`,
		"ruby/lib/applock/version.rb": `VERSION = "(.*)"`,
		"php/package":                 `(?m)^version=(.*)$`,
		"perl/lib/Applock.pm":         `\$VERSION = '(.*)';`,
	}
}

// packageVersion is the version that all packages have.
func packageVersion(t *testing.T) string {
	t.Helper()
	found := versionsIn(t, "ruby/lib/applock/version.rb", namesOfVersion()["ruby/lib/applock/version.rb"])
	if len(found) != 1 {
		t.Fatalf("the gem has the versions %q", found)
	}
	return found[0]
}

// versionsIn returns all versions that a file names.
func versionsIn(t *testing.T, file, form string) []string {
	t.Helper()
	var versions []string
	for _, found := range regexp.MustCompile(form).FindAllStringSubmatch(textOf(t, file), -1) {
		versions = append(versions, found[1])
	}
	return versions
}

// Goal: all packages have one version, which the pages name, too. Method: every place that names it.
func TestPackagesHaveOneVersion(t *testing.T) {
	t.Parallel()
	want := packageVersion(t)
	for file, form := range namesOfVersion() {
		found := versionsIn(t, file, form)
		if len(found) == 0 {
			t.Errorf("%s names no version", file)
		}
		for _, version := range found {
			if version != want {
				t.Errorf("%s names the version %s, and the gem %s", file, version, want)
			}
		}
	}
}
