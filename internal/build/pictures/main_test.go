package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const folder = "../../../docs/pictures"

// Goal: each picture is made from its source as it is now, and a page shows it. Method: the mark of the
// source's sum; the pages.
func TestPicturesAreOfTheirSources(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(folder + "/*")
	if err != nil || len(files) < 2 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	pages := pages(t)
	for _, file := range files {
		stem := strings.TrimSuffix(file, filepath.Ext(file))
		source, err := os.ReadFile(stem + ".dot")
		if err != nil {
			t.Errorf("%s has no source: %v", file, err)
			continue
		}
		picture, err := os.ReadFile(stem + ".svg")
		if err != nil || !strings.HasPrefix(string(picture), mark(string(source))) {
			t.Errorf("%s.svg is not of its source: run make pictures; %v", stem, err)
		}
		if !strings.Contains(pages, "](pictures/"+filepath.Base(stem)+".svg)") {
			t.Errorf("no page shows %s.svg", stem)
		}
	}
}

// pages returns the text of the pages that may have pictures.
func pages(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob("../../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}
