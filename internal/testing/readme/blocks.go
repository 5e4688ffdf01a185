package readme

import (
	"regexp"
	"strings"
)

var (
	heading  = regexp.MustCompile(`(?m)^#+ (.*)\n`)
	dialogue = regexp.MustCompile("(?s)```sql\n(.*?)```\n\n```text\n(.*?)```")
	code     = regexp.MustCompile("(?s)```sql\n(.*?)```")
	comment  = regexp.MustCompile(`(?m)^--.*\n`)
)

// The page is procedures/README.md. The tests of each dialect run its examples for that dialect.

// Under returns the parts of a page below a heading, each up to the next heading of any depth. The page may have the heading several
// times.
func Under(page, title string) string {
	var parts strings.Builder
	found := heading.FindAllStringSubmatchIndex(page, -1)
	for i, match := range found {
		end := len(page)
		if i+1 < len(found) {
			end = found[i+1][0]
		}
		if page[match[2]:match[3]] == title {
			parts.WriteString(page[match[1]:end])
		}
	}
	return parts.String()
}

// Session returns the first block of SQL that is followed by a block of text, and that text; both are empty if there is none.
func Session(part string) (input, answer string) {
	if match := dialogue.FindStringSubmatch(part); match != nil {
		return match[1], match[2]
	}
	return "", ""
}

// Statements returns the statements with the given end in all blocks of SQL, without comments and semicolons.
func Statements(part, end string) []string {
	var found []string
	for _, block := range code.FindAllStringSubmatch(part, -1) {
		for statement := range strings.SplitSeq(comment.ReplaceAllString(block[1], ""), ";\n") {
			if statement = strings.TrimSpace(statement); strings.HasSuffix(statement, end) {
				found = append(found, statement)
			}
		}
	}
	return found
}
