//go:build unix

package main

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// account is the operating system user that a server runs as. nil means the launcher's own user.
type account struct {
	name     string
	uid, gid uint32
}

// serverAccount chooses the account for a server that refuses to run as root, as most do: best, if this machine has it.
func serverAccount(euid int, best string, lookup func(name string) (*account, error)) (*account, error) {
	if euid != 0 {
		return nil, nil
	}
	for _, name := range []string{best, "nobody"} {
		if a, err := lookup(name); err == nil && a.uid != 0 {
			return a, nil
		}
	}
	return nil, fmt.Errorf("the server does not run as root and there is no user %s or nobody: "+
		"create one, or run this as an ordinary user", best)
}

func lookupAccount(name string) (*account, error) {
	u, err := user.Lookup(name)
	if err != nil {
		return nil, err
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return nil, err
	}
	return &account{name: name, uid: uint32(uid), gid: uint32(gid)}, nil
}

// own gives a file or directory to the account.
func (a *account) own(path string) error {
	if a == nil {
		return nil
	}
	return os.Chown(path, int(a.uid), int(a.gid))
}

// reachableTempDir returns a directory for temporary files that the account can reach. TMPDIR may not do: root's often lies below /root.
func reachableTempDir(a *account) (string, error) {
	for _, dir := range []string{os.TempDir(), "/tmp", "/var/tmp"} {
		if a.reaches(dir) {
			return filepath.Abs(dir)
		}
	}
	return "", fmt.Errorf("user %s cannot get to %s, /tmp or /var/tmp: set TMPDIR to a directory that it can reach",
		a.name, os.TempDir())
}

// reaches reports whether the account may pass through dir and all directories above it.
func (a *account) reaches(dir string) bool {
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
	for ; ; dir = filepath.Dir(dir) {
		if !a.passes(dir) {
			return false
		}
		if dir == filepath.Dir(dir) {
			return true
		}
	}
}

// passes reports whether the account may pass through this one directory.
func (a *account) passes(dir string) bool {
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
