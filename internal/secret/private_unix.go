//go:build unix

package secret

import (
	"os"
	"syscall"
)

// private reports whether nobody but this user may read or write a file. A group may read what belongs to root, where we are
// not root, as with the keys of PostgreSQL's clients: so Kubernetes gives a secret to who is not root.
func private(info os.FileInfo) bool {
	var others os.FileMode = 0o077
	if owner, ok := info.Sys().(*syscall.Stat_t); ok && owner.Uid == 0 && os.Geteuid() != 0 {
		others = 0o037
	}
	return info.Mode().Perm()&others == 0
}
