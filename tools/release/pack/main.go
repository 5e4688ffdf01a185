// Command pack puts the programs of a release and their accompanying files into archives and packages, in the root of the repository:
//
//	pack VERSION SECONDS SYSTEM_ARCHITECTURE...
//
// It reads bin/programs/SYSTEM_ARCHITECTURE, bin/release-files and tools/release/packages.yaml, and writes into bin/release. SECONDS since
// the epoch is the time of all files, so that the same programs always give the same bytes.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb" // registers its format
	_ "github.com/goreleaser/nfpm/v2/rpm" // registers its format
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "pack:", err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	if len(arguments) < 3 {
		return errors.New("usage: pack VERSION SECONDS SYSTEM_ARCHITECTURE...")
	}
	seconds, err := strconv.ParseInt(arguments[1], 10, 64)
	if err != nil {
		return fmt.Errorf("SECONDS: %w", err)
	}
	version, made := arguments[0], time.Unix(seconds, 0).UTC()
	for _, target := range arguments[2:] {
		if err := packArchive(version, target, made); err != nil {
			return fmt.Errorf("%s: %w", target, err)
		}
		if architecture, isLinux := strings.CutPrefix(target, "linux_"); isLinux {
			if err := packPackages(version, architecture, made); err != nil {
				return fmt.Errorf("%s: %w", target, err)
			}
		}
	}
	return nil
}

// packArchive writes the archive of a target, in the usual format of its system.
func packArchive(version, target string, made time.Time) error {
	files, err := filesOf(target)
	if err != nil {
		return err
	}
	format, compress := ".tar.gz", tarGzip
	if strings.HasPrefix(target, "windows_") {
		format, compress = ".zip", zipped
	}
	content, err := compress(files, made)
	if err != nil {
		return err
	}
	return write("applockctl_"+version+"_"+target+format, content)
}

// filesOf reads the files for a target's archive.
func filesOf(target string) ([]file, error) {
	var files []file
	for _, each := range []struct {
		pattern, below string
		mode           int64
	}{
		{"LICENSE", ".", 0o644},
		{"bin/programs/" + target + "/*", "bin/programs/" + target, 0o755},
		{"bin/release-files/completions/*/*", "bin/release-files", 0o644},
		{"bin/release-files/man/*", "bin/release-files", 0o644},
	} {
		paths, err := filepath.Glob(each.pattern)
		if err != nil || len(paths) == 0 {
			return nil, errors.Join(fmt.Errorf("there is no %s", each.pattern), err)
		}
		for _, path := range paths {
			name, err := filepath.Rel(each.below, path)
			if err != nil {
				return nil, err
			}
			content, err := os.ReadFile(path) //nolint:gosec // of this repository
			if err != nil {
				return nil, err
			}
			files = append(files, file{filepath.ToSlash(name), each.mode, content})
		}
	}
	return files, nil
}

// packPackages writes a deb and an rpm package.
func packPackages(version, architecture string, made time.Time) error {
	variables := map[string]string{"VERSION": version, "ARCHITECTURE": architecture}
	config, err := nfpm.ParseFileWithEnvMapping("tools/release/packages.yaml", func(name string) string { return variables[name] })
	if err != nil {
		return err
	}
	config.MTime = made
	for _, format := range []string{"deb", "rpm"} {
		if err := packPackage(config, format); err != nil {
			return fmt.Errorf("%s: %w", format, err)
		}
	}
	return nil
}

func packPackage(config nfpm.Config, format string) error {
	info, err := config.Get(format)
	if err != nil {
		return err
	}
	info = nfpm.WithDefaults(info)
	if err := nfpm.PrepareForPackager(info, format); err != nil {
		return err
	}
	packager, err := nfpm.Get(format)
	if err != nil {
		return err
	}
	name := packager.ConventionalFileName(info)
	info.Target = name
	to, err := os.Create(filepath.Join("bin/release", name)) //nolint:gosec // of this repository
	if err != nil {
		return err
	}
	return errors.Join(packager.Package(info, to), to.Close())
}

func write(name string, content []byte) error {
	return os.WriteFile(filepath.Join("bin/release", name), content, 0o644) //nolint:gosec // a release is for everybody
}
