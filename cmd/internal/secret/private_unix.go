//go:build unix

package secret

import (
	"os"
	"syscall"
)

// private reports whether only this user can read and write a file. For a user other than root, a group may read a file of root's, as with
// the keys of PostgreSQL's clients: Kubernetes mounts secrets so.
func private(info os.FileInfo) bool {
	var others os.FileMode = 0o077
	if owner, ok := info.Sys().(*syscall.Stat_t); ok && owner.Uid == 0 && os.Geteuid() != 0 {
		others = 0o037
	}
	return info.Mode().Perm()&others == 0
}
