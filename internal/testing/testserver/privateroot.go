//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

const (
	// cacheVariable names the directory of files that are kept between runs.
	cacheVariable = "APPLOCK_TEST_CACHE"

	// wrapperDir has the scripts that run a private root's programs. completeFile is written into the root last.
	wrapperDir   = "usr/applock"
	completeFile = "complete"

	// draftInfix stands between the name of a root and the random part in the name of its draft.
	draftInfix = ".draft-"

	// realSuffix is added to a program's name where a script has taken its place.
	realSuffix = ".real"

	// experimental is Debian's suite of packages newer than in unstable. It needs unstable for all others.
	experimental = "experimental"

	// debianKeyring has the keys of all of Debian's suites. Without it apt-get uses the keys of this machine.
	debianKeyring = "/usr/share/keyrings/debian-archive-keyring.gpg"

	// rootLockInterval is the time between two checks whether another run has made the root.
	rootLockInterval = 200 * time.Millisecond
)

// privateRoot is a directory with programs of a suite of Debian and all the libraries they need, down to the C library,
// so that they run on older systems as well. Nothing is installed, no service is started, and nobody need be root. It is
// kept between runs, and stays as it is until somebody deletes it.
type privateRoot struct {
	host     host
	dir      string
	suite    string // "" is the suite of this machine
	packages []string
	programs []string // paths in the root, of which the scripts in wrapperDir have the last part

	// inPlace puts each script where its program was, for programs that look for each other in their own directory.
	inPlace bool
}

// unpacking is the part of Debian that is unpacked for a product.
type unpacking struct {
	name     string   // of the root
	suite    string   // "" is the suite of this machine
	packages []string // the server's first
	programs []string // paths in the root: the server's, the client's if there is one, and what else tests run
	user     string   // the operating system user for the server if the launcher is root
}

// fetch unpacks a product, if it is not there yet.
func (u unpacking) fetch(ctx context.Context, p product) (installation, error) {
	r, err := u.root(p.host)
	if err == nil {
		err = r.provide(ctx)
	}
	if err != nil {
		return installation{}, absent("%s cannot be unpacked from Debian's archive: %v", p.title, err)
	}
	programs := installation{origin: r.dir, server: r.wrapper(path.Base(u.programs[0]))}
	if len(u.programs) > 1 {
		programs.client = r.wrapper(path.Base(u.programs[1]))
	}
	return programs, nil
}

func (u unpacking) root(h host) (privateRoot, error) {
	// The server's account must be able to reach its programs.
	account, err := serverAccount(os.Geteuid(), u.user, lookupAccount)
	if err != nil {
		return privateRoot{}, err
	}
	cache, err := h.cacheDir(account)
	if err != nil {
		return privateRoot{}, err
	}
	return privateRoot{
		host:     h,
		dir:      filepath.Join(cache, u.name+"-"+runtime.GOARCH),
		suite:    u.suite,
		packages: u.packages,
		programs: u.programs,
	}, nil
}

// cacheDir makes and returns the directory of files that are kept between runs. The account can reach it.
func (h host) cacheDir(a *account) (string, error) {
	dir := h.getenv(cacheVariable)
	if dir == "" {
		user, err := os.UserCacheDir()
		if err != nil || !a.reaches(user) {
			// Root's own often lies below /root.
			user = "/var/cache"
		}
		dir = filepath.Join(user, "applock-test")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	if !a.reaches(dir) {
		return "", fmt.Errorf("user %s cannot get to %s: set %s to a directory that it can reach", a.name, dir, cacheVariable)
	}
	return dir, nil
}

// wrapper is the path of the script that runs a program.
func (r privateRoot) wrapper(name string) string { return filepath.Join(r.dir, wrapperDir, name) }

func (r privateRoot) complete() bool { return isFile(filepath.Join(r.dir, completeFile)) }

// provide makes the root, unless it is there.
func (r privateRoot) provide(ctx context.Context) error {
	if r.complete() {
		return r.wrapMissing()
	}
	for _, tool := range []string{"apt-get", "dpkg-deb"} {
		if _, err := r.host.lookPath(tool); err != nil {
			return fmt.Errorf("there is no %s", tool)
		}
	}
	from, err := ownSuite(ctx, r.host)
	if err != nil {
		return err
	}
	unlock, err := lockFile(ctx, r.dir+".lock")
	if err != nil {
		return err
	}
	defer unlock()
	// Another run may have made it while we waited.
	if r.complete() {
		return r.wrapMissing()
	}
	if r.suite != "" {
		from.name = r.suite
	}
	r.host.say("unpacking %s of Debian's %s suite into %s, once; this can take some minutes",
		strings.Join(r.packages, " and "), from.name, r.dir)
	return r.build(ctx, from)
}

// build makes the root in a directory beside it and renames that when it is complete. The caller has the lock.
func (r privateRoot) build(ctx context.Context, from debianSuite) error {
	if err := r.removeLeftovers(); err != nil {
		return err
	}
	draft, err := os.MkdirTemp(filepath.Dir(r.dir), filepath.Base(r.dir)+draftInfix)
	if err != nil {
		return err
	}
	defer os.RemoveAll(draft)
	d := aptSandbox{host: r.host, dir: filepath.Join(draft, "apt")}
	root := r
	root.dir = filepath.Join(draft, "root")
	if err := os.MkdirAll(root.dir, 0o755); err != nil {
		return err
	}
	if err := d.download(ctx, from, r.packages); err != nil {
		return err
	}
	if err := d.unpack(ctx, root.dir); err != nil {
		return err
	}
	if err := root.finish(ctx); err != nil {
		return err
	}
	return os.Rename(root.dir, r.dir)
}

// removeLeftovers removes the drafts of killed runs.
func (r privateRoot) removeLeftovers() error {
	drafts, err := fs.Glob(os.DirFS(filepath.Dir(r.dir)), filepath.Base(r.dir)+draftInfix+"*")
	if err != nil {
		return err
	}
	for _, draft := range drafts {
		// An apt-get that outlived its run may still write into it. A later run removes it then.
		_ = os.RemoveAll(filepath.Join(filepath.Dir(r.dir), draft))
	}
	return os.RemoveAll(r.dir)
}

// finish writes the scripts, tries each of them, and marks the root as complete.
func (r privateRoot) finish(ctx context.Context) error {
	loader, err := r.loader()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(r.dir, wrapperDir), 0o755); err != nil {
		return err
	}
	var versions strings.Builder
	for _, program := range r.programs {
		script, err := r.wrap(loader, program)
		if err != nil {
			return err
		}
		version, err := r.host.output(ctx, script, "--version")
		if err != nil {
			return err
		}
		versions.WriteString(version)
	}
	return os.WriteFile(filepath.Join(r.dir, completeFile), []byte(versions.String()), 0o644)
}

// wrap writes the script of a program and returns its path.
func (r privateRoot) wrap(loader, program string) (string, error) {
	if !r.inPlace {
		script := r.wrapper(path.Base(program))
		return script, os.WriteFile(script, []byte(wrapperScript(loader, program)), 0o755)
	}
	script := filepath.Join(r.dir, program)
	if err := os.Rename(script, script+realSuffix); err != nil {
		return "", err
	}
	return script, os.WriteFile(script, []byte(inPlaceScript(loader, program)), 0o755)
}

// wrapMissing writes missing scripts into a root that was made for fewer programs. The root has the programs all the same.
func (r privateRoot) wrapMissing() error {
	if r.inPlace {
		return nil
	}
	for _, program := range r.programs {
		script := r.wrapper(path.Base(program))
		if isFile(script) {
			continue
		}
		loader, err := r.loader()
		if err != nil {
			return err
		}
		if err := os.WriteFile(script, []byte(wrapperScript(loader, program)), 0o755); err != nil {
			return err
		}
	}
	return nil
}

// loader returns the path, in the root, of the program that loads programs and their libraries. Its name depends on the architecture. It
// is always next to the C library: in lib on Debian 12, in usr/lib later.
func (r privateRoot) loader() (string, error) {
	for _, dir := range []string{"usr/lib", "lib"} {
		found, err := fs.Glob(os.DirFS(r.dir), dir+"/*/ld*.so.[0-9]")
		if err != nil {
			return "", err
		}
		if len(found) > 0 {
			return found[0], nil
		}
	}
	return "", errors.New("the packages have no loader usr/lib/*/ld*.so.*")
}

// wrapperScript runs a program with the loader and the libraries of its own root, also after the root was moved. It replaces itself by
// the program, so that both are the same process.
func wrapperScript(loader, program string) string {
	dir := strings.TrimPrefix(path.Dir(loader), "usr/")
	return "#!/bin/sh\n" +
		"root=${0%/*}/../..\n" +
		`exec "$root/` + loader + `" --library-path "$root/usr/` + dir + `:$root/` + dir + `" "$root/` + program + `" "$@"` + "\n"
}

// inPlaceScript does the same from the program's own place. The program gets the script's path as its own, and finds the other programs
// next to it.
func inPlaceScript(loader, program string) string {
	dir := strings.TrimPrefix(path.Dir(loader), "usr/")
	return "#!/bin/sh\n" +
		"root=${0%/*}" + strings.Repeat("/..", strings.Count(program, "/")) + "\n" +
		`exec "$root/` + loader + `" --library-path "$root/usr/` + dir + `:$root/` + dir + `" --argv0 "$0" "$root/` + program +
		realSuffix + `" "$@"` + "\n"
}

// lockFile makes a file and waits for its lock. The file stays: deleting it could give two processes the lock.
func lockFile(ctx context.Context, path string) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { file.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return nil, errors.Join(err, file.Close())
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), file.Close())
		case <-time.After(rootLockInterval):
		}
	}
}

// debianSuite is a suite of Debian's archive.
type debianSuite struct {
	archive string // the address of that
	name    string
}

// sources are the lines for apt-get.
func (s debianSuite) sources(signedBy string) string {
	line := "deb " + signedBy + s.archive + " " + s.name + " main\n"
	if s.name == experimental {
		line += "deb " + signedBy + s.archive + " unstable main\n"
	}
	return line
}

// preferences allow from the experimental suite only packages built from the named source.
func (s debianSuite) preferences(source string) string {
	if s.name != experimental {
		return ""
	}
	return "Package: src:" + source + "\nPin: release a=" + experimental + "\nPin-Priority: 990\n"
}

// ownSuite returns the suite of Debian in this machine's sources. apt-get reads them, because they have several formats. That needs no
// network.
func ownSuite(ctx context.Context, h host) (debianSuite, error) {
	uris, err := h.output(ctx, "apt-get", "update", "--print-uris")
	if err != nil {
		return debianSuite{}, err
	}
	for line := range strings.Lines(uris) {
		// 'http://deb.example.org/debian/dists/bookworm/main/binary-amd64/Packages.xz' and a file name
		quoted, _, _ := strings.Cut(strings.TrimPrefix(line, "'"), "'")
		archive, index, _ := strings.Cut(quoted, "/dists/")
		suite, index, _ := strings.Cut(index, "/")
		if isDebianArchive(archive) && isWhole(suite) && strings.HasPrefix(index, "main/binary-") {
			return debianSuite{archive, suite}, nil
		}
	}
	return debianSuite{}, errors.New("apt-get has no archive of Debian")
}

// isWhole reports whether a suite is complete, unlike bookworm-updates, which adds to another.
func isWhole(suite string) bool { return !strings.Contains(suite, "-") }

// isDebianArchive reports whether an address is Debian's archive, by the custom of mirrors. The archive of security updates has no
// unstable suite, and other vendors' archives are not Debian's.
func isDebianArchive(uri string) bool {
	name := path.Base(uri)
	return strings.HasPrefix(name, "debian") && !strings.Contains(name, "security")
}

// aptSandbox is a directory in which apt-get sees a machine with nothing installed and only one archive.
type aptSandbox struct {
	host host
	dir  string
}

// download fetches packages of a suite and all their dependencies. apt-get checks signatures and sums.
func (s aptSandbox) download(ctx context.Context, from debianSuite, packages []string) error {
	for _, dir := range []string{"state/lists/partial", "cache/archives/partial"} {
		if err := os.MkdirAll(filepath.Join(s.dir, dir), 0o755); err != nil {
			return err
		}
	}
	signedBy := ""
	if s.host.isFile(debianKeyring) {
		signedBy = "[signed-by=" + debianKeyring + "] "
	}
	for name, content := range map[string]string{
		"sources.list": from.sources(signedBy),
		"preferences":  from.preferences(packages[0]),
		"status":       "",
	} {
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(content), 0o644); err != nil {
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
	options := []string{"-q"}
	for _, option := range []string{
		"Dir::State=" + filepath.Join(s.dir, "state"),
		"Dir::State::status=" + filepath.Join(s.dir, "status"),
		"Dir::Cache=" + filepath.Join(s.dir, "cache"),
		"Dir::Etc::sourcelist=" + filepath.Join(s.dir, "sources.list"),
		"Dir::Etc::sourceparts=/dev/null",
		"Dir::Etc::preferences=" + filepath.Join(s.dir, "preferences"),
		"Dir::Etc::preferencesparts=/dev/null",
		"APT::Default-Release=",
		// As root, apt-get would download as another user, who cannot reach this directory.
		"APT::Sandbox::User=root",
		"Acquire::Languages=none",
		// A mirror may lag behind; its files are signed all the same.
		"Acquire::Check-Valid-Until=false",
		"Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false",
	} {
		options = append(options, "-o", option)
	}
	return s.host.run(ctx, "apt-get", append(options, args...)...)
}

// unpack unpacks the packages that were downloaded, without running their scripts.
func (s aptSandbox) unpack(ctx context.Context, root string) error {
	packages, err := fs.Glob(os.DirFS(s.dir), "cache/archives/*.deb")
	if err != nil {
		return err
	}
	for _, name := range packages {
		if err := s.host.run(ctx, "dpkg-deb", "-x", filepath.Join(s.dir, name), root); err != nil {
			return err
		}
	}
	return nil
}
