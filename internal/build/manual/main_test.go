package main

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// program is a shell script that answers as applockctl does, with one command below another.
const program = `#!/bin/sh
case "$*" in
--version) echo "applockctl v0.1.0" ;;
"__complete help ") printf 'help\tHelp\nmigrate\tInstall\n:4\n' ;;
"__complete help migrate ") printf 'up\tApply all - pending\n:4\n' ;;
"__complete help migrate up ") printf ':4\n' ;;
*--help) printf 'Applies\nall.\n  indented \\n\n\n.dot\n\nUsage:\n  applockctl %s\n\nExamples:\n  applockctl up --x\n\nFlags:\n  -h, --help        help\n      --dsn string   the database; two  blanks\n' "$*" ;;
completion*) echo "# $2" ;;
*) exit 2 ;;
esac
`

// Goal: each command has a page with all that its help says, nothing of it is read by roff, and each shell has its completions. Method: a
// program that is a script.
func TestWritesPagesAndCompletions(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	path := filepath.Join(folder, "applockctl")
	if err := os.WriteFile(path, []byte(program), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), []string{path, folder, "locks"}); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"applockctl":            ".BR applockctl\\-migrate (1)\n",
		"applockctl-migrate":    ".BR applockctl\\-migrate\\-up (1)\n",
		"applockctl-migrate-up": "applockctl\\-migrate\\-up \\- apply all \\- pending\n.SH SYNOPSIS\n.nf\napplockctl migrate up \\-\\-help\n.fi\n",
	}
	found, _ := filepath.Glob(filepath.Join(folder, "man", "*"))
	if len(found) != len(want) {
		t.Errorf("pages: %q", found)
	}
	for name, part := range want {
		text := decompressed(t, filepath.Join(folder, "man", name+".1.gz"))
		for _, said := range []string{
			part, "Applies\nall.\n.nf\nindented \\en\n.fi\n.PP\n\\&.dot\n", ".TP\n.B \\-\\-dsn string\nthe database; two  blanks\n",
			".SH EXAMPLES\n.nf\napplockctl up \\-\\-x\n.fi\n", `"applockctl v0.1.0"`,
		} {
			if !strings.Contains(text, said) {
				t.Errorf("%s does not say %q:\n%s", name, said, text)
			}
		}
	}
	for _, file := range []string{"bash/applockctl", "zsh/_applockctl", "fish/applockctl.fish"} {
		text, err := os.ReadFile(filepath.Join(folder, "completions", file))
		if shell, _, _ := strings.Cut(file, "/"); err != nil || string(text) != "# "+shell+"\n" {
			t.Errorf("%s: %v: %s", file, err, text)
		}
	}
}

func decompressed(t *testing.T, file string) string {
	t.Helper()
	opened, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = opened.Close() }()
	reader, err := gzip.NewReader(opened)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(reader)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
