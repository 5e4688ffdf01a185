// Command version writes the version of the next release, the first number of CHANGELOG.md, into the packages of the libraries, into
// docker-compose.yml, and into the Go modules that need the main one. It runs in the root of the repository.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
)

func main() {
	if err := writeAll("."); err != nil {
		fmt.Fprintln(os.Stderr, "version:", err)
		os.Exit(1)
	}
}

// place is a file with the version between the texts before and after.
type place struct{ file, before, after string }

// places returns all files with the version. tools/release/build reads CHANGELOG.md itself.
func places() []place {
	const parent = `<artifactId>applock-parent</artifactId>\s*<version>`
	const module = `github.com/applock/applock v`
	return []place{
		{"docker-compose.yml", `\$\{APPLOCK_VERSION:-`, `\}`},
		{"clients/python/pyproject.toml", `(?m:^)version = "`, `"`},
		{"clients/node/package.json", `"version": "`, `"`},
		{"clients/node/package-lock.json", `"name": "applock",\s*"version": "`, `"`},
		{"clients/java/pom.xml", parent, `<`},
		{"clients/java/core/pom.xml", parent, `<`},
		{"clients/java/spring/pom.xml", parent, `<`},
		{"clients/java/shedlock/pom.xml", parent, `<`},
		{"clients/java/tests/pom.xml", `<applock.version>`, `<`},
		{"clients/java/README.md", `<artifactId>applock-\w+</artifactId>\s*<version>`, `<`},
		{"clients/ruby/lib/applock/version.rb", `VERSION = "`, `"`},
		{"clients/php/package", `(?m:^)version=`, `(?m:$)`},
		{"applock/adapters/gocronlock/go.mod", module, ""},
		{"applock/adapters/gooselock/go.mod", module, ""},
		{"applock/adapters/otelapplock/go.mod", module, ""},
		{"applock/lease/etcdlock/go.mod", module, ""},
		{"cmd/applock-mcp/go.mod", module, ""},
	}
}

var newest = regexp.MustCompile(`(?m)^## \[([0-9]+\.[0-9]+\.[0-9]+)\]`)

// writeAll writes the version into all places in a folder.
func writeAll(root string) error {
	return eachPlace(root, func(path, old, written string) error {
		if written == old {
			return nil
		}
		return os.WriteFile(path, []byte(written), 0o644) //nolint:gosec // it is source code, whose mode stays
	})
}

// eachPlace calls do with each file in a folder, its text, and the text with the version of CHANGELOG.md.
func eachPlace(root string, do func(path, old, written string) error) error {
	changelog, err := os.ReadFile(filepath.Join(root, "CHANGELOG.md")) //nolint:gosec // of this repository
	if err != nil {
		return err
	}
	version := newest.FindSubmatch(changelog)
	if version == nil {
		return errors.New("CHANGELOG.md has no section such as ## [1.2.3]")
	}
	for _, where := range places() {
		path := filepath.Join(root, where.file)
		text, err := os.ReadFile(path) //nolint:gosec // of this repository
		if err != nil {
			return err
		}
		named := regexp.MustCompile(`(` + where.before + `)[0-9][^"'<}\s]*(` + where.after + `)`)
		if !named.Match(text) {
			return fmt.Errorf("%s names no version after %s", where.file, where.before)
		}
		if err := do(path, string(text), string(named.ReplaceAll(text, []byte("${1}"+string(version[1])+"${2}")))); err != nil {
			return err
		}
	}
	return nil
}
