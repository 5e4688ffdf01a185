package main

import (
	"debug/buildinfo"
	"fmt"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/applock/applock/applock"
)

// Goal: the version says what the program was built from. Method: what the toolchain records in several ways of building.
func TestVersionWords(t *testing.T) {
	t.Parallel()
	const revision = "5fd7534b2a1c0c6a6c1b0d3f6a7e8d9c0b1a2f3e"
	for _, test := range []struct {
		version  string
		settings []debug.BuildSetting
		want     string
	}{
		{"", nil, "devel"},
		{"(devel)", nil, "devel"},
		{"v1.2.3", nil, "v1.2.3"},
		{"(devel)", []debug.BuildSetting{{Key: "vcs.revision", Value: revision}, {Key: "vcs.modified", Value: "false"}}, "devel, revision 5fd7534b2a1c"},
		{"v1.2.3", []debug.BuildSetting{
			{Key: "vcs.revision", Value: revision}, {Key: "vcs.time", Value: "2026-11-22T23:04:05Z"}, {Key: "vcs.modified", Value: "true"},
		}, "v1.2.3, revision 5fd7534b2a1c of 2026-11-22, modified"},
		{"v1.2.3", []debug.BuildSetting{{Key: "vcs.revision", Value: "r7"}, {Key: "vcs.time", Value: "never"}}, "v1.2.3, revision r7"},
	} {
		info := &debug.BuildInfo{Main: debug.Module{Version: test.version}, Settings: test.settings}
		if got := programVersion(info, true).words(); got != test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
	if got := programVersion(nil, false).words(); got != "devel" {
		t.Errorf("%q", got)
	}
}

// Goal: --version and the command say the same of a program as users get it. Method: compare them with what the Go
// toolchain has written into the file.
func testProcessVersion(t *testing.T, b binary) {
	info, err := buildinfo.ReadFile(b.path)
	if err != nil {
		t.Fatal(err)
	}
	want := programVersion(info, true)
	short := b.run(t.Context(), "--version")
	if short.check(t, exitYes); short.stdout != "applockctl "+want.words()+"\n" || short.stderr != "" {
		t.Errorf("--version prints %s%s", short.stdout, short.stderr)
	}
	long := b.run(t.Context(), "version", "--quiet")
	if long.check(t, exitYes); !strings.HasSuffix(gapOfTable.ReplaceAllString(long.stdout, "  "), fmt.Sprintf("\n%s  %d\n", want.words(), applock.ContractVersion)) {
		t.Errorf("version prints %s", long.stdout)
	}
	b.run(t.Context(), "list", "--version").check(t, exitUsage, "unknown flag: --version")
	b.run(t.Context(), "-v").check(t, exitUsage, "unknown flag: -v, flags are written with two dashes")
}
