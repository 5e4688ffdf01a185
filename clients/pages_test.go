package clients_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// block is a piece of code on a page, with what it prints.
var block = regexp.MustCompile("(?s)<!-- run: ([^\n]*) -->\n```(\\w+)\n(.*?)```\n(?:\n```text\n(.*?)```\n)?")

// fence begins a block of code.
var fence = regexp.MustCompile("(?m)^```(\\w+)$")

// Goal: what a page shows runs, and prints what stands below it, with the driver and on the products that it is about.
// Method: all blocks of a language's pages for a driver are one program, which runs next to a copy of the library.
func TestPages(t *testing.T) {
	t.Parallel()
	eachDriver(t, func(driver) bool { return true }, func(t *testing.T, d driver, at place) {
		t.Helper()
		code, want := d.page(t)
		folder := t.TempDir()
		if err := os.CopyFS(folder, os.DirFS(d.language.folder)); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(folder, "page."+d.language.extension)
		if err := os.WriteFile(file, []byte(code), 0o600); err != nil {
			t.Fatal(err)
		}
		command := d.program(t, at, folder, "page")
		var complaints strings.Builder
		command.Stderr = &complaints
		output, err := command.Output()
		if got := string(output); err != nil || got != want {
			t.Errorf("%v\n%s\nprinted:\n%s\nwant:\n%s", err, tail(complaints.String()), got, want)
		}
	})
}

// pagesOf returns the pages of a language as one text: its README.md, and then the others in the order of their names.
func pagesOf(t *testing.T, folder string) string {
	t.Helper()
	pages, err := filepath.Glob(filepath.Join(folder, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	first := filepath.Join(folder, "README.md")
	others := slices.DeleteFunc(pages, func(page string) bool { return page == first })
	var text strings.Builder
	for _, page := range append([]string{first}, others...) {
		text.WriteString(textOf(t, page))
	}
	return text.String()
}

// page returns the program of the pages for a driver, and what they say that this prints.
func (d driver) page(t *testing.T) (code, output string) {
	t.Helper()
	pages := pagesOf(t, d.language.folder)
	for _, found := range block.FindAllStringSubmatch(pages, -1) {
		for _, name := range strings.Split(found[1], ", ") {
			if !slices.ContainsFunc(d.language.drivers, func(other driver) bool { return other.name == name }) {
				t.Errorf("the page runs a block with %s, which is no driver of it", name)
			}
		}
	}
	code, output = blocksFor(d.name, pages)
	if output == "" {
		t.Fatalf("no page shows anything for %s", d.name)
	}
	return d.language.opening + code + d.language.closing, output
}

// blocksFor returns the blocks of pages that run with a driver, and what they print.
func blocksFor(driver, pages string) (code, output string) {
	for _, found := range block.FindAllStringSubmatch(pages, -1) {
		if slices.Contains(strings.Split(found[1], ", "), driver) {
			code += found[3]
			output += found[4]
		}
	}
	return code, output
}

// Goal: no page has code in its language that is not run. Method: as many blocks are marked as there are.
func TestPagesRunAllCode(t *testing.T) {
	t.Parallel()
	for _, l := range languages() {
		text := pagesOf(t, l.folder)
		marked, shown := map[string]int{}, map[string]int{}
		for _, found := range block.FindAllStringSubmatch(text, -1) {
			marked[found[2]]++
		}
		for _, found := range fence.FindAllStringSubmatch(text, -1) {
			shown[found[1]]++
		}
		for name, count := range marked {
			if shown[name] != count+l.compared {
				t.Errorf("%s: %d blocks of %s are run, and %d shown, want %d more", l.folder, count, name, shown[name], l.compared)
			}
		}
	}
}
