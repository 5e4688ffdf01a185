// Command pictures draws docs/pictures/*.dot as SVG by graphviz (dot), for light and dark pages. It is run at the top of the repository.
package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

func main() {
	if err := drawAll("docs/pictures"); err != nil {
		fmt.Fprintln(os.Stderr, "pictures:", err)
		os.Exit(1)
	}
}

// style has the colours for light and dark pages. It overrides the attributes that dot writes.
const style = `<style>
text { fill: #1f2328; font-family: Helvetica, Arial, sans-serif; }
.node path, .node polygon { fill: #eef1f4; stroke: #57606a; }
.node.strong path { fill: #cfe3f5; stroke: #1f5f8b; }
.node.bad path { fill: #f8dcd7; stroke: #a3402c; }
.edge path { stroke: #57606a; }
.edge polygon { fill: #57606a; stroke: #57606a; }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3; }
.node path, .node polygon { fill: #262c36; stroke: #9198a1; }
.node.strong path { fill: #173a57; stroke: #6cb0e0; }
.node.bad path { fill: #56261d; stroke: #e08a78; }
.edge path { stroke: #9198a1; }
.edge polygon { fill: #9198a1; stroke: #9198a1; }
}
</style>
`

var (
	label      = regexp.MustCompile(`\blabel="([^"]*)";`)
	background = regexp.MustCompile(`<polygon fill="white"[^>]*/>\n`)
	before     = regexp.MustCompile(`(?s)^.*?(<svg )`)
	remark     = regexp.MustCompile(`(?s)<!--.*?-->\n?`)
	hovering   = regexp.MustCompile(`<title>[^<]*</title>\n`)
)

// drawAll draws all sources of a folder.
func drawAll(folder string) error {
	sources, err := filepath.Glob(filepath.Join(folder, "*.dot"))
	if err != nil || len(sources) == 0 {
		return errors.Join(err, fmt.Errorf("%s has %d sources", folder, len(sources)))
	}
	for _, source := range sources {
		text, err := os.ReadFile(source) //nolint:gosec // it is a file of the repository
		if err != nil {
			return err
		}
		drawn, err := draw(string(text))
		if err != nil {
			return fmt.Errorf("%s: %w", source, err)
		}
		if err := os.WriteFile(strings.TrimSuffix(source, ".dot")+".svg", []byte(drawn), 0o644); err != nil { //nolint:gosec // it is a page's picture
			return err
		}
	}
	return nil
}

// mark is the first line of a picture, with a digest of its source. Pictures themselves are not compared, since versions of dot differ in
// layout.
func mark(source string) string {
	return fmt.Sprintf("<!-- made by make pictures from a source with the SHA-256 %x -->\n", sha256.Sum256([]byte(source)))
}

// draw returns a source as SVG.
func draw(source string) (string, error) {
	title := label.FindStringSubmatch(source)
	if title == nil {
		return "", errors.New(`the graph has no label="...";`)
	}
	layout := []string{"-Tsvg", "-Gbgcolor=transparent", "-Nshape=box", "-Nstyle=rounded", "-Nmargin=0.25,0.12", "-Nfontname=Helvetica",
		"-Efontname=Helvetica", "-Nfontsize=13", "-Efontsize=12"}
	command := exec.Command("dot", layout...) //nolint:noctx // dot draws in a moment
	command.Stdin = strings.NewReader(strings.Replace(source, title[0], "", 1))
	var problem strings.Builder
	command.Stderr = &problem
	drawn, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("dot of Debian's package graphviz: %w %s", err, problem.String())
	}
	text := hovering.ReplaceAllString(remark.ReplaceAllString(before.ReplaceAllString(string(drawn), "$1"), ""), "")
	text = background.ReplaceAllString(text, "")
	begin, rest, _ := strings.Cut(text, ">\n")
	return mark(source) + begin + ` role="img" aria-label="` + title[1] + "\">\n<title>" + title[1] + "</title>\n" + style + rest, nil
}
