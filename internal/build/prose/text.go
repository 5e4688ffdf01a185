package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strconv"
	"strings"
)

// block is text that is read together: a paragraph, a list's entry, a table's cell, a comment or a message.
type block struct {
	file string
	line int
	text string
	// isComment is true in source code.
	isComment bool
	// isCell is true in a table. The rules apply to cells, but the figures leave them out.
	isCell bool
}

var (
	inlineCode  = regexp.MustCompile("`[^`]*`")
	link        = regexp.MustCompile(`!?\[([^\]]*)\]\([^)]*\)`)
	htmlComment = regexp.MustCompile(`(?s)<!--.*?-->`)
	entry       = regexp.MustCompile(`^\s*(?:[-*+]|\d+\.)\s+`)
	separator   = regexp.MustCompile(`^\|[\s|:-]+\|$`)
	emphasis    = regexp.MustCompile(`\*\*|__|(?:^|\s)\*(\S)`)
	sentenceEnd = regexp.MustCompile(`([.!?])["')*_]*\s+(["'(*_]*[A-Z` + "`" + `])`)
	sqlComment  = regexp.MustCompile(`^\s*--\s?(.*)$`)
	sqlSection  = regexp.MustCompile(`^(Contract|In|Out|Raises|Rights|Locks|Race-free|Differs) {2,}(.*)$`)
	goDirective = regexp.MustCompile(`^//(?:go:|nolint|line )`)
)

// sentences splits a block. Code is one word.
func sentences(text string) []string {
	var found []string
	for part := range strings.SplitSeq(sentenceEnd.ReplaceAllString(text, "$1\x00$2"), "\x00") {
		if part = strings.TrimSpace(part); part != "" {
			found = append(found, part)
		}
	}
	return found
}

// plain removes markdown's marks from a line.
func plain(line string) string {
	line = link.ReplaceAllString(line, "$1")
	line = inlineCode.ReplaceAllString(line, "CODE")
	return strings.TrimSpace(emphasis.ReplaceAllString(line, " $1"))
}

// page returns the blocks of a markdown page without headings and code.
func page(file, text string) []block {
	text = htmlComment.ReplaceAllStringFunc(text, func(comment string) string { return strings.Repeat("\n", strings.Count(comment, "\n")) })
	var found []block
	var lines []string
	begun, isFenced := 0, false
	end := func() {
		if joined := plain(strings.Join(lines, " ")); joined != "" {
			found = append(found, block{file: file, line: begun, text: joined})
		}
		lines = nil
	}
	for i, line := range strings.Split(text, "\n") {
		trimmed := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(trimmed, "```"):
			end()
			isFenced = !isFenced
		case isFenced || separator.MatchString(trimmed):
		case trimmed == "" || strings.HasPrefix(trimmed, "#"):
			end()
		case strings.HasPrefix(trimmed, "|"):
			end()
			for cell := range strings.SplitSeq(strings.Trim(trimmed, "|"), "|") {
				found = append(found, block{file: file, line: i + 1, text: plain(cell), isCell: true})
			}
		default:
			if entry.MatchString(line) {
				end()
				trimmed = entry.ReplaceAllString(line, "")
			}
			if len(lines) == 0 {
				begun = i + 1
			}
			lines = append(lines, trimmed)
		}
	}
	end()
	return found
}

// source returns the comments of a Go file, and its texts of four words and more, which are help and messages.
func source(file, text string) ([]block, error) {
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, file, text, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	var found []block
	add := func(at token.Pos, text string, isComment bool) {
		for paragraph := range strings.SplitSeq(text, "\n\n") {
			if !strings.HasPrefix(paragraph, "\t") {
				found = append(found, block{file: file, line: files.Position(at).Line, text: plain(strings.Join(strings.Fields(paragraph), " ")), isComment: isComment})
			}
		}
	}
	for _, comment := range parsed.Comments {
		if !goDirective.MatchString(comment.List[0].Text) {
			add(comment.Pos(), comment.Text(), true)
		}
	}
	ast.Inspect(parsed, func(node ast.Node) bool {
		literal, is := node.(*ast.BasicLit)
		if !is || literal.Kind != token.STRING {
			return true
		}
		if value, err := strconv.Unquote(literal.Value); err == nil && len(strings.Fields(value)) >= 4 {
			add(literal.Pos(), value, false)
		}
		return true
	})
	return found, nil
}

// statements returns the comments of a file of SQL. A section of a header is a block, and its In and Out are lists.
func statements(file, text string) []block {
	var found []block
	var lines []string
	section, begun := "", 0
	end := func() {
		parts := []string{strings.Join(lines, " ")}
		if section == "In" || section == "Out" {
			parts = strings.Split(parts[0], "; ")
		}
		for _, part := range parts {
			if part != "" {
				found = append(found, block{file: file, line: begun, text: plain(part), isComment: true})
			}
		}
		section, lines = "", nil
	}
	for i, line := range strings.Split(text, "\n") {
		comment := sqlComment.FindStringSubmatch(line)
		if comment == nil || strings.TrimSpace(comment[1]) == "" {
			end()
			continue
		}
		heading := sqlSection.FindStringSubmatch(comment[1])
		if heading != nil {
			end()
			section, comment[1] = heading[1], heading[2]
		}
		if len(lines) == 0 {
			begun = i + 1
		}
		lines = append(lines, strings.TrimSpace(comment[1]))
	}
	end()
	return found
}

// messages returns the lines of a file of messages. A tab stands behind the name of a text. A named text without a full stop is a label,
// such as a heading, and no sentence.
func messages(file, text string) []block {
	var found []block
	for i, line := range strings.Split(text, "\n") {
		name, sentence, isNamed := strings.Cut(line, "\t")
		switch isLabel := isNamed && !strings.HasSuffix(sentence, "."); {
		case line == "" || strings.HasPrefix(line, "#") || isLabel:
			continue
		case !isNamed:
			sentence = name
		}
		found = append(found, block{file: file, line: i + 1, text: sentence, isCell: true})
	}
	return found
}
