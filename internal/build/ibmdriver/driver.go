//go:build unix

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	homeVariable = "IBM_DB_HOME"

	// bundledLibraries is the folder next to the Python package with the libraries that the driver needs.
	bundledLibraries = "ibm_db.libs"

	defaultCFlags = "-O2 -g" // cgo's default, which CGO_CFLAGS replaces
)

// driver is a directory with IBM's driver.
type driver struct{ home string }

// findDriver returns the driver that the environment names, or the cached one, or fetches it.
func findDriver(ctx context.Context, h host) (driver, error) {
	d := driver{home: h.getenv(homeVariable)}
	if d.home == "" {
		fetched, err := provide(ctx, h)
		if err != nil {
			return driver{}, err
		}
		d = fetched
	}
	home, err := filepath.Abs(d.home)
	if err != nil {
		return driver{}, err
	}
	d.home = home
	if err := d.check(); err != nil {
		return driver{}, err
	}
	return d, d.checkLibraries(ctx, h)
}

// check verifies that a build will find what it needs. Some of IBM's packages have no include.
func (d driver) check() error {
	library := d.library()
	for _, name := range []string{filepath.Join("include", "sqlcli1.h"), library} {
		if !isFile(filepath.Join(d.home, name)) {
			return fmt.Errorf("%s has no %s: set %s to a directory with IBM's Data Server Driver for ODBC and CLI, "+
				"with include and lib, or unset it to have one fetched", d.home, name, homeVariable)
		}
	}
	return nil
}

func (d driver) library() string {
	for _, name := range []string{"libdb2.so", "libdb2.dylib"} {
		if path := filepath.Join("lib", name); isFile(filepath.Join(d.home, path)) {
			return path
		}
	}
	return filepath.Join("lib", "libdb2.so")
}

// checkLibraries asks the loader for missing system libraries, if the host has a tool for that.
func (d driver) checkLibraries(ctx context.Context, h host) error {
	if _, err := h.lookPath("ldd"); err != nil {
		return nil
	}
	listing, err := h.output(ctx, "ldd", filepath.Join(d.home, d.library()))
	if err != nil {
		return err
	}
	var missing, packages []string
	for line := range strings.Lines(listing) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), " => ")
		if strings.TrimSpace(rest) == "not found" && !slices.Contains(missing, name) {
			missing = append(missing, name)
			packages = append(packages, debianPackage(name))
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("IBM's driver in %s needs %s, which this system does not have; on Debian: apt-get install %s",
		d.home, strings.Join(missing, ", "), strings.Join(packages, " "))
}

// debianPackage names the package with a library.
func debianPackage(library string) string {
	stem, version, _ := strings.Cut(library, ".so.")
	if stem == "libpam" {
		return "libpam0g"
	}
	if strings.HasSuffix(stem, "xml2") {
		return "libxml2"
	}
	return strings.ToLower(stem) + version
}

// environment adds the variables for a build with the driver. The linker searches libraries of libraries in other places than the loader.
func (d driver) environment(environ []string) []string {
	lib := filepath.Join(d.home, "lib")
	ldFlags := []string{valueOf(environ, "CGO_LDFLAGS"), quoted("-L" + lib), quoted("-Wl,-rpath," + lib)}
	bundled := filepath.Join(filepath.Dir(d.home), bundledLibraries)
	if info, err := os.Stat(bundled); err == nil && info.IsDir() {
		ldFlags = append(ldFlags, quoted("-Wl,-rpath-link,"+bundled))
	}
	cFlags := valueOf(environ, "CGO_CFLAGS")
	if cFlags == "" {
		cFlags = defaultCFlags
	}
	return withVariables(
		environ,
		homeVariable+"="+d.home,
		"CGO_ENABLED=1",
		"CGO_CFLAGS="+cFlags+" "+quoted("-I"+filepath.Join(d.home, "include")),
		"CGO_LDFLAGS="+strings.TrimSpace(strings.Join(ldFlags, " ")),
	)
}

// withVariables sets variables, and replaces their former values.
func withVariables(environ []string, variables ...string) []string {
	replaced := slices.DeleteFunc(slices.Clone(environ), func(old string) bool {
		name, _, _ := strings.Cut(old, "=")
		return slices.ContainsFunc(variables, func(variable string) bool { return strings.HasPrefix(variable, name+"=") })
	})
	return append(replaced, variables...)
}

// quoted quotes a flag for cgo's variables.
func quoted(flag string) string {
	if strings.ContainsAny(flag, " \t") {
		return `"` + flag + `"`
	}
	return flag
}
