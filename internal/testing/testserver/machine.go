//go:build unix

package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/applock/applock/internal/testing/private"
)

const (
	// aptLimit bounds one call of apt-get, and aptLockSeconds its wait for another apt-get.
	aptLimit       = 10 * time.Minute
	aptLockSeconds = "120"

	// cacheVariable names the directory of files that are kept between runs.
	cacheVariable = "APPLOCK_TEST_CACHE"

	// noMainCluster is a file that the installation scripts of Debian's PostgreSQL packages read. By default they create a cluster and start
	// it at once and at every boot, which a test run must not do.
	noMainCluster = "/etc/postgresql-common/createcluster.d/applock-testserver.conf"
)

// machine is this machine, on which packages are installed and unpacked.
type machine struct {
	say      func(format string, args ...any)
	backends []*backend // of this run

	// installing serializes changes of the machine's packages, because apt-get does not wait for itself everywhere.
	installing sync.Mutex
	isUpdated  bool
}

func run(ctx context.Context, name string, args ...string) error {
	_, err := output(ctx, name, args...)
	return err
}

func output(ctx context.Context, name string, args ...string) (string, error) {
	return private.Output(exec.CommandContext(ctx, name, args...))
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// install installs packages from this machine's own sources, together with all others that this run lacks: that takes a fraction of the time of
// one after the other.
func (m *machine) install(ctx context.Context, packages []string) error {
	m.installing.Lock()
	defer m.installing.Unlock()
	packages = slices.DeleteFunc(slices.Clone(packages), isInstalled)
	if len(packages) == 0 {
		return nil
	}
	root, err := rootCommand(ctx)
	if err != nil {
		return err
	}
	if !m.isUpdated {
		if err := aptGet(ctx, root, "update"); err != nil {
			return absent("apt-get has no network: %v", err)
		}
		m.isUpdated = true
		all := slices.Clone(packages)
		for _, b := range m.backends {
			all = append(all, b.packages(ctx)...)
		}
		slices.Sort(all)
		all = slices.DeleteFunc(slices.Compact(all), isInstalled)
		m.say("installing the Debian packages %s", strings.Join(all, ", "))
		if m.installNow(ctx, root, all) == nil {
			return nil
		}
	}
	// Not all can be had. Perhaps these can.
	if err := m.installNow(ctx, root, packages); err != nil {
		return absent("the Debian packages %s cannot be installed: %v", strings.Join(packages, ", "), err)
	}
	return nil
}

// isInstalled reports whether Debian has installed a package here. Of one that was removed it keeps the list of files.
func isInstalled(name string) bool {
	files, err := filepath.Glob("/var/lib/dpkg/info/" + name + "*.md5sums")
	return err == nil && slices.ContainsFunc(files, func(file string) bool {
		base, _, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".md5sums"), ":")
		return base == name
	})
}

// installNow adds packages. It fails if that would remove others, as MySQL's for MariaDB's.
func (m *machine) installNow(ctx context.Context, root, packages []string) (err error) {
	if slices.Contains(packages, postgresPackage) {
		if err := asRoot(ctx, root, "sh", "-c", "mkdir -p "+filepath.Dir(noMainCluster)+" && echo create_main_cluster = false >"+noMainCluster); err != nil {
			return err
		}
		// Also after an interrupt. Otherwise the machine's next installation of PostgreSQL would create no cluster.
		defer func() { err = errors.Join(err, asRoot(context.WithoutCancel(ctx), root, "rm", "-f", noMainCluster)) }()
	}
	return aptGet(ctx, root, append([]string{"install", "-y", "--no-install-recommends", "--no-remove"}, packages...)...)
}

// rootCommand returns how to become root, or an absentError unless packages can be installed here without a password.
func rootCommand(ctx context.Context) ([]string, error) {
	if _, err := exec.LookPath("apt-get"); err != nil {
		return nil, absent("there is no apt-get to install it with")
	}
	if os.Geteuid() == 0 {
		return nil, nil
	}
	if run(ctx, "sudo", "-n", "true") != nil {
		return nil, absent("apt-get needs root, or sudo without a password")
	}
	return []string{"sudo", "-n"}, nil
}

func aptGet(ctx context.Context, root []string, args ...string) error {
	return asRoot(ctx, root, append([]string{"env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-q", "-o", "DPkg::Lock::Timeout=" + aptLockSeconds}, args...)...)
}

func asRoot(ctx context.Context, root []string, command ...string) error {
	ctx, cancel := context.WithTimeout(ctx, aptLimit)
	defer cancel()
	command = slices.Concat(root, command)
	return run(ctx, command[0], command[1:]...)
}

// cacheDir makes and returns the directory of files that are kept between runs. The account can reach it.
func cacheDir(user string) (string, error) {
	account, err := private.ServerAccount(user)
	if err != nil {
		return "", err
	}
	dir := os.Getenv(cacheVariable)
	if dir == "" {
		own, err := os.UserCacheDir()
		if err != nil || !account.Reaches(own) {
			// Root's own often lies below /root.
			own = "/var/cache"
		}
		dir = filepath.Join(own, "applock-test")
	}
	dir, err = filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	if !account.Reaches(dir) {
		return "", errors.New("user " + account.Name + " cannot get to " + dir + ": set " + cacheVariable + " to a directory that it can reach")
	}
	return dir, nil
}

// once makes a directory that is kept between runs, unless it is there. fill gets it under another name, and only once at a time on this machine.
func (m *machine) once(ctx context.Context, dir, what string, fill func(draft string) error) error {
	unlock, err := lockFile(ctx, dir+".lock")
	if err != nil {
		return err
	}
	defer unlock()
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	m.say("getting %s into %s, once; this can take some minutes", what, dir)
	// An apt-get that outlived its run may still write into the draft of a killed run. A later run removes it then.
	drafts, err := filepath.Glob(dir + ".draft-*")
	for _, draft := range drafts {
		_ = os.RemoveAll(draft)
	}
	if err != nil {
		return err
	}
	draft, err := os.MkdirTemp(filepath.Dir(dir), filepath.Base(dir)+".draft-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(draft)
	root := filepath.Join(draft, "root")
	if err := errors.Join(os.Mkdir(root, 0o755), fill(root)); err != nil {
		return err
	}
	return os.Rename(root, dir)
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
		case <-time.After(200 * time.Millisecond):
		}
	}
}
