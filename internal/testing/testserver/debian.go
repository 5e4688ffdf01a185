//go:build unix

package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

const (
	// realSuffix is added to a program's name where a script has taken its place.
	realSuffix = ".real"

	// experimental is Debian's suite of packages newer than in unstable. It needs unstable for all others.
	experimental = "experimental"

	// debianKeyring has the keys of all of Debian's suites. Without it apt-get uses the keys of this machine.
	debianKeyring = "/usr/share/keyrings/debian-archive-keyring.gpg"
)

// debianRoot is a directory with programs of a suite of Debian and all the libraries they need, down to the C library, so that they run on older
// systems as well. Nothing is installed, no service is started, and nobody need be root.
type debianRoot struct {
	suite    string   // "" is the suite of this machine
	packages []string // in the experimental suite the first has the name of its source
	bin      string   // directory of the server's program
	programs []string // paths below bin, the server's first
}

// fill downloads the packages beside dir, and unpacks them into it.
func (d debianRoot) fill(ctx context.Context, dir string) error {
	for _, tool := range []string{"apt-get", "dpkg-deb"} {
		if _, err := exec.LookPath(tool); err != nil {
			return errors.New("there is no " + tool)
		}
	}
	archive, suite, err := ownSuite(ctx)
	if err != nil {
		return err
	}
	if d.suite != "" {
		suite = d.suite
	}
	sandbox := aptSandbox(filepath.Join(filepath.Dir(dir), "apt"))
	if err := sandbox.download(ctx, archive, suite, d.packages); err != nil {
		return err
	}
	packages, err := filepath.Glob(filepath.Join(string(sandbox), "cache/archives/*.deb"))
	if err != nil {
		return err
	}
	for _, name := range packages { // without running their scripts
		if err := run(ctx, "dpkg-deb", "-x", name, dir); err != nil {
			return err
		}
	}
	loader, err := findLoader(dir)
	if err != nil {
		return err
	}
	for _, program := range d.programs {
		script := filepath.Join(dir, d.bin, program)
		if err := os.Rename(script, script+realSuffix); err != nil {
			return err
		}
		if err := os.WriteFile(script, []byte(scriptOf(loader, path.Join(d.bin, program))), 0o755); err != nil {
			return err
		}
		if err := run(ctx, script, "--version"); err != nil {
			return err
		}
	}
	return nil
}

// findLoader returns the path, in the root, of the program that loads programs and their libraries. Its name depends on the architecture. It
// is always next to the C library: in lib on Debian 12, in usr/lib later.
func findLoader(root string) (string, error) {
	for _, dir := range []string{"usr/lib", "lib"} {
		if found, err := fs.Glob(os.DirFS(root), dir+"/*/ld*.so.[0-9]"); err != nil || len(found) > 0 {
			return found[0], err
		}
	}
	return "", errors.New("the packages have no loader usr/lib/*/ld*.so.*")
}

// scriptOf runs a program with the loader and the libraries of its own root, also after the root was moved. It replaces itself by the program, so
// that both are the same process. The program gets the script's path as its own, and finds the other programs next to it.
func scriptOf(loader, program string) string {
	libraries := strings.TrimPrefix(path.Dir(loader), "usr/")
	return "#!/bin/sh\n" +
		"root=${0%/*}" + strings.Repeat("/..", strings.Count(program, "/")) + "\n" +
		`exec "$root/` + loader + `" --library-path "$root/usr/` + libraries + `:$root/` + libraries + `" --argv0 "$0" "$root/` + program +
		realSuffix + `" "$@"` + "\n"
}

// ownSuite returns the archive of Debian in this machine's sources, and its suite. apt-get reads them, because they have several formats. That
// needs no network. Archives of security updates have no unstable suite, suites such as bookworm-updates add to another, and other vendors'
// archives are not Debian's.
func ownSuite(ctx context.Context) (archive, suite string, err error) {
	uris, err := output(ctx, "apt-get", "update", "--print-uris")
	if err != nil {
		return "", "", err
	}
	for line := range strings.Lines(uris) {
		// 'http://deb.example.org/debian/dists/bookworm/main/binary-amd64/Packages.xz' and a file name
		quoted, _, _ := strings.Cut(strings.TrimPrefix(line, "'"), "'")
		archive, index, _ := strings.Cut(quoted, "/dists/")
		suite, index, _ := strings.Cut(index, "/")
		name := path.Base(archive)
		if strings.HasPrefix(name, "debian") && !strings.Contains(name, "security") && !strings.Contains(suite, "-") && strings.HasPrefix(index, "main/binary-") {
			return archive, suite, nil
		}
	}
	return "", "", errors.New("apt-get has no archive of Debian")
}

// aptSandbox is a directory in which apt-get sees a machine with nothing installed and only one archive.
type aptSandbox string

// download fetches packages of a suite and all their dependencies. apt-get checks signatures and sums.
func (s aptSandbox) download(ctx context.Context, archive, suite string, packages []string) error {
	dir := string(s)
	for _, name := range []string{"state/lists/partial", "cache/archives/partial"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			return err
		}
	}
	line := "deb "
	if isFile(debianKeyring) {
		line += "[signed-by=" + debianKeyring + "] "
	}
	line += archive + " "
	sources, preferences := line+suite+" main\n", ""
	if suite == experimental {
		sources += line + "unstable main\n"
		preferences = "Package: src:" + packages[0] + "\nPin: release a=" + experimental + "\nPin-Priority: 990\n"
	}
	for name, content := range map[string]string{"sources.list": sources, "preferences": preferences, "status": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			return err
		}
	}
	if err := s.get(ctx, "update"); err != nil {
		return err
	}
	return s.get(ctx, append([]string{"install", "--download-only", "--no-install-recommends", "-y"}, packages...)...)
}

// get runs apt-get with the machine's settings for proxies and certificates, but without its sources, releases and preferences.
func (s aptSandbox) get(ctx context.Context, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, aptLimit)
	defer cancel()
	command := []string{"-q"}
	for _, option := range []string{
		"Dir::State=" + filepath.Join(string(s), "state"),
		"Dir::State::status=" + filepath.Join(string(s), "status"),
		"Dir::Cache=" + filepath.Join(string(s), "cache"),
		"Dir::Etc::sourcelist=" + filepath.Join(string(s), "sources.list"),
		"Dir::Etc::sourceparts=/dev/null",
		"Dir::Etc::preferences=" + filepath.Join(string(s), "preferences"),
		"Dir::Etc::preferencesparts=/dev/null",
		"APT::Default-Release=",
		// As root, apt-get would download as another user, who cannot reach this directory.
		"APT::Sandbox::User=root",
		"Acquire::Languages=none",
		// A mirror may lag behind; its files are signed all the same.
		"Acquire::Check-Valid-Until=false",
		"Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false",
	} {
		command = append(command, "-o", option)
	}
	return run(ctx, "apt-get", append(command, args...)...)
}
