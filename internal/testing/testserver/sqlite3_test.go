//go:build unix

package main

import (
	"errors"
	"testing"
)

// Goal: the shell that is there is used, and else Debian's is installed. Method: a machine with one, and one without.
func TestSQLite3IsFoundOrInstalled(t *testing.T) {
	t.Parallel()
	with := &fakeHost{
		path:    map[string]string{"sqlite3": "/usr/bin/sqlite3"},
		outputs: map[string]string{"/usr/bin/sqlite3 -version": "3.40.1 2022-12-28 14:03:47 df5c253c\n"},
	}
	s, err := sqlite3{with.host()}.backend().supply(t.Context())
	if err != nil || s.version != "3.40.1" || s.origin != "/usr/bin/sqlite3" {
		t.Errorf("got %+v, %v", s, err)
	}
	without := &fakeHost{path: map[string]string{"apt-get": "/usr/bin/apt-get"}, isRoot: true}
	_, err = sqlite3{without.host()}.backend().supply(t.Context())
	wantCommands(t, without.commands, aptUpdate, aptInstall+"sqlite3")
	var none *absentError
	if !errors.As(err, &none) {
		t.Errorf("error %v, want it absent because the fake installs nothing", err)
	}
}
