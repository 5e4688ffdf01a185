package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Goal: with --repository a file has one name for all agents, which the instructions say, and every other spelling is refused with the right
// one. Method: a server in a folder of a working tree, and spellings of one file and of a new one, of each kind, by each way to name an object.
func TestOneSpellingOfFiles(t *testing.T) {
	t.Parallel()
	p, tree := onSQLite(t), t.TempDir()
	err := errors.Join(os.Mkdir(filepath.Join(tree, ".git"), 0o700), os.Mkdir(filepath.Join(tree, "src"), 0o700),
		os.WriteFile(filepath.Join(tree, "src", "a.go"), nil, 0o600), os.Symlink("src", filepath.Join(tree, "link")))
	if err != nil {
		t.Fatal(err)
	}
	a := newAgentIn(t, filepath.Join(tree, "src"), p.dsn, "agent-1", "--repository", "shop")
	if said := a.session.InitializeResult().Instructions; !strings.Contains(said, "file:shop/PATH") || strings.Contains(said, "file:src/") {
		t.Errorf("the instructions are %s", said)
	}
	for _, right := range []string{"file:shop/src/a.go", "file:shop/src/new/b.go", "ticket:./42", "file:shop/..a"} {
		if result := a.try("lock_get", arguments{"object": right}); result.IsError {
			t.Errorf("%s: %s", right, textIn(result))
		}
	}
	held := p.held(t, "agent-1")
	for wrong, right := range map[string]string{
		"file:src/a.go": "file:shop/src/a.go", "file:./src/a.go": "file:shop/src/a.go", "file:shop/./src/a.go": "file:shop/src/a.go",
		"file:shop/src//a.go": "file:shop/src/a.go", "file:shop/x/../src/a.go": "file:shop/src/a.go", "file:shop/SRC/A.go": "file:shop/src/a.go",
		"file:shop/Src/new.go": "file:shop/src/new.go", "file:shop/link/a.go": "file:shop/src/a.go", "File:shop/src/a.go": "file:shop/src/a.go",
		`file:shop/src\a.go`: "file:shop/src/a.go", "file:" + tree + "/src/a.go": "file:shop/src/a.go",
		"file:/elsewhere/a.go": "", "file:../a.go": "", "file:shop/../a.go": "file:shop/a.go", "file:shop": "", "file:shop/": "", "file:.": "",
	} {
		for tool, in := range map[string]arguments{
			"lock_get": {"object": wrong}, "lock_wait": {"object": wrong, "max_wait_seconds": 1}, "lock_ask": {"object": wrong},
			"lock_status": {"object": wrong}, "lock_get_all": {"objects": []string{"ticket:1", wrong}},
			"lock_release_all": {"objects": []string{"ticket:1", wrong}},
		} {
			result := a.try(tool, in)
			text := textIn(result)
			if !result.IsError || !strings.Contains(text, "file:shop/PATH") || right != "" && !strings.Contains(text, fmt.Sprintf("write %q", right)) ||
				right == "" && strings.Contains(text, "write") {
				t.Errorf("%s %s: %s", tool, wrong, text)
			}
		}
	}
	if now := p.held(t, "agent-1"); !slices.Equal(now, held) {
		t.Errorf("held were %v, and are %v", held, now)
	}
	for prefix, refused := range map[string]bool{"file:src/": true, "file:shop/src": false, "file:s": false, "ticket:": false} {
		if result := a.try("lock_list", arguments{"prefix": prefix}); result.IsError != refused {
			t.Errorf("lock_list %s: %s", prefix, textIn(result))
		}
	}
}

// Goal: without --repository no name of a file is in the instructions, which others might spell otherwise. Method: look.
func TestNoSpellingOfFiles(t *testing.T) {
	t.Parallel()
	a := newAgent(t, onSQLite(t).dsn, "agent-1")
	if said := a.session.InitializeResult().Instructions; strings.Contains(said, "file:") {
		t.Errorf("the instructions are %s", said)
	}
	for _, object := range []string{"file:src/a.go", "file:./src/a.go"} {
		if result := a.try("lock_get", arguments{"object": object}); result.IsError {
			t.Errorf("%s: %s", object, textIn(result))
		}
	}
}
