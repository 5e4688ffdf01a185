package main

import (
	"fmt"
	"regexp"
	"strings"
)

// sectionOfHelp matches the title of a section in a help text. The text before the first one describes the command.
var sectionOfHelp = regexp.MustCompile(`^([A-Z][A-Za-z ]*):$`)

// page returns a man page in section 1, made from a command's help.
func page(name, version, short, help string, below []subcommand) string {
	var text strings.Builder
	fmt.Fprintf(&text, ".TH %s 1 \"\" \"%s\" \"applock\"\n", strings.ToUpper(escape(name)), escape(version))
	fmt.Fprintf(&text, ".SH NAME\n%s \\- %s\n", escape(name), escape(lowerFirst(short)))
	sections := split(help)
	text.WriteString(".SH SYNOPSIS\n")
	text.WriteString(verbatim(sections["Usage"]))
	text.WriteString(".SH DESCRIPTION\n")
	text.WriteString(paragraphs(sections[""]))
	for _, section := range []string{"Flags", "Global Flags"} {
		if sections[section] != "" {
			fmt.Fprintf(&text, ".SH %s\n%s", strings.ToUpper(section), options(sections[section]))
		}
	}
	if sections["Examples"] != "" {
		text.WriteString(".SH EXAMPLES\n")
		text.WriteString(verbatim(sections["Examples"]))
	}
	text.WriteString(seeAlso(name, below))
	return text.String()
}

// split returns the sections of a help text by their titles.
func split(help string) map[string]string {
	sections, title := map[string]string{}, ""
	for line := range strings.Lines(help) {
		if found := sectionOfHelp.FindStringSubmatch(strings.TrimRight(line, "\n")); found != nil {
			title = found[1]
			continue
		}
		sections[title] += line
	}
	return sections
}

// paragraphs joins lines that begin at the margin, and keeps indented ones.
func paragraphs(help string) string {
	var text strings.Builder
	for _, paragraph := range strings.Split(strings.Trim(help, "\n"), "\n\n") {
		text.WriteString(".PP\n")
		var indented strings.Builder
		for line := range strings.Lines(paragraph + "\n") {
			if strings.HasPrefix(line, " ") {
				indented.WriteString(line)
				continue
			}
			text.WriteString(verbatim(indented.String()))
			indented.Reset()
			text.WriteString(escape(line))
		}
		text.WriteString(verbatim(indented.String()))
	}
	return text.String()
}

// verbatim keeps line breaks.
func verbatim(lines string) string {
	if strings.TrimSpace(lines) == "" {
		return ""
	}
	var text strings.Builder
	text.WriteString(".nf\n")
	for line := range strings.Lines(strings.Trim(lines, "\n") + "\n") {
		text.WriteString(escape(strings.TrimPrefix(line, "  ")))
	}
	text.WriteString(".fi\n")
	return text.String()
}

var option = regexp.MustCompile(`^\s+((?:-\w, )?--[\w-]+(?: \w+)?)\s{2,}(.*)$`)

// options returns a tagged paragraph for each flag.
func options(lines string) string {
	var text strings.Builder
	for line := range strings.Lines(lines) {
		if found := option.FindStringSubmatch(strings.TrimRight(line, "\n")); found != nil {
			fmt.Fprintf(&text, ".TP\n.B %s\n%s\n", escape(found[1]), escape(found[2]))
		}
	}
	return text.String()
}

// seeAlso names the pages of the commands above and below.
func seeAlso(name string, below []subcommand) string {
	var pages []string
	if cut := strings.LastIndex(name, "-"); cut > 0 && len(below) == 0 {
		pages = append(pages, ".BR applockctl (1)")
	}
	for _, each := range below {
		pages = append(pages, fmt.Sprintf(".BR %s (1)", escape(name+"-"+each.name)))
	}
	if len(pages) == 0 {
		return ""
	}
	return ".SH SEE ALSO\n" + strings.Join(pages, ",\n") + "\n"
}

// escape keeps roff from reading commands and escapes in a text.
func escape(text string) string {
	text = strings.NewReplacer(`\`, `\e`, `-`, `\-`).Replace(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		return `\&` + text
	}
	return text
}

func lowerFirst(text string) string { return strings.ToLower(text[:1]) + text[1:] }
