//go:build unix

package main

import (
	"errors"
	"testing"
)

// Goal: the program that is there is used, and else Debian's is installed. Method: a machine with each, and one without.
func TestToolIsFoundOrInstalled(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		tool                   tool
		path, printed, version string
	}{
		{tool{name: "sqlite3", versionFlag: "-version"}, "/usr/bin/sqlite3", "3.40.1 2022-12-28 14:03:47 df5c253c\n", "3.40.1"},
		{tool{name: "tmux", versionFlag: "-V"}, "/usr/bin/tmux", "tmux 3.3a\n", "3.3a"},
	} {
		with := &fakeHost{
			path:    map[string]string{test.tool.name: test.path},
			outputs: map[string]string{test.path + " " + test.tool.versionFlag: test.printed},
		}
		test.tool.host = with.host()
		s, err := test.tool.backend().supply(t.Context())
		if err != nil || s.version != test.version || s.origin != test.path {
			t.Errorf("got %+v, %v", s, err)
		}
		without := &fakeHost{path: map[string]string{"apt-get": "/usr/bin/apt-get"}, isRoot: true}
		test.tool.host = without.host()
		_, err = test.tool.backend().supply(t.Context())
		wantCommands(t, without.commands, aptUpdate, aptInstall+test.tool.name)
		var none *absentError
		if !errors.As(err, &none) {
			t.Errorf("error %v, want it absent because the fake installs nothing", err)
		}
	}
}
