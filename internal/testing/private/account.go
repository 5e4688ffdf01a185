//go:build unix

package private

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// Account is the operating system user that a server runs as. nil means this process's user.
type Account struct {
	Name     string
	uid, gid uint32
}

// ServerAccount chooses the account for a server that refuses to run as root, as most do: best, if this machine has it.
func ServerAccount(best string) (*Account, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{best, "nobody"} {
		if a, err := lookup(name); err == nil && a.uid != 0 {
			return a, nil
		}
	}
	return nil, fmt.Errorf("the server does not run as root and there is no user %s or nobody: create one, or run this as an ordinary user", best)
}

func lookup(name string) (*Account, error) {
	u, err := user.Lookup(name)
	if err != nil {
		return nil, err
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	return &Account{name, uint32(uid), uint32(gid)}, err
}

// own gives a file or directory to the account.
func (a *Account) own(path string) error {
	if a == nil {
		return nil
	}
	return os.Chown(path, int(a.uid), int(a.gid))
}

// tempDir returns a directory for temporary files that the account can reach. TMPDIR may not do: root's often lies below /root.
func (a *Account) tempDir() (string, error) {
	for _, dir := range []string{os.TempDir(), "/tmp", "/var/tmp"} {
		if a.Reaches(dir) {
			return filepath.Abs(dir)
		}
	}
	return "", fmt.Errorf("user %s cannot get to %s, /tmp or /var/tmp: set TMPDIR to a directory that it can reach", a.Name, os.TempDir())
}

// Reaches reports whether the account may pass through dir and all directories above it.
func (a *Account) Reaches(dir string) bool {
	if a == nil {
		return true
	}
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return false
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return false
	}
	for a.passes(dir) {
		if dir == filepath.Dir(dir) {
			return true
		}
		dir = filepath.Dir(dir)
	}
	return false
}

// passes reports whether the account may pass through this one directory.
func (a *Account) passes(dir string) bool {
	info, err := os.Stat(dir)
	if err != nil || !info.IsDir() {
		return false
	}
	status, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return false
	}
	switch mode := info.Mode(); {
	case status.Uid == a.uid:
		return mode&0o100 != 0
	case status.Gid == a.gid:
		return mode&0o010 != 0
	default:
		return mode&0o001 != 0
	}
}
