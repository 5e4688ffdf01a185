package weblock

import (
	"bytes"
	"compress/gzip"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Goal: a page loads at most 4 KB. Method: the script as a server sends it compressed.
func TestScriptIsSmall(t *testing.T) {
	t.Parallel()
	var packed bytes.Buffer
	writer, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	_, err = writer.Write(script)
	if closeErr := writer.Close(); err != nil || closeErr != nil || packed.Len() > 4096 {
		t.Errorf("%v, %v, %d bytes", err, closeErr, packed.Len())
	}
}

// Goal: a server in another language can be written from docs/weblock.md, and its code is the demo's. Method: each key and route of the handler is on
// the page, and each line of its code in the demo.
func TestPageIsTheHandler(t *testing.T) {
	t.Parallel()
	page := read(t, "../../docs/weblock.md")
	var names []string
	for _, of := range []reflect.Type{reflect.TypeFor[request](), reflect.TypeFor[answer](), reflect.TypeFor[problem]()} {
		for i := range of.NumField() {
			if name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ","); name != "-" && name != "" {
				names = append(names, name)
			}
		}
	}
	for route := range (&Handler{}).routes() {
		names = append(names, route)
	}
	if len(names) < 40 {
		t.Fatalf("this test sees only %v", names)
	}
	for _, name := range names {
		if !strings.Contains(page, "`"+name+"`") {
			t.Errorf("the page does not have %s", name)
		}
	}
	demo := read(t, "demo/main.go") + read(t, "demo/page.html")
	for _, block := range regexp.MustCompile("(?s)```(?:js|go)\n(.*?)```").FindAllStringSubmatch(page, -1) {
		for line := range strings.Lines(block[1]) {
			if !strings.Contains(demo, strings.TrimSpace(line)) {
				t.Errorf("the demo does not have %q", line)
			}
		}
	}
}
