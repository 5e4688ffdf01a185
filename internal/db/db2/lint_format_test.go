package db2_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// This file has the rules for the form of files and migrations.

const terminatorLine = "--#SET TERMINATOR @"

var statementLine = regexp.MustCompile(`^(CREATE|COMMENT|CALL)\b`)

// statementsAreTerminated: a script tool cuts at @, and the server refuses a semicolon at the end.
func statementsAreTerminated(f sqlFile) []string {
	var complaints []string
	before := "" // the line before that is not blank; comments but the terminator line do not count
	for i, line := range f.lines {
		switch ended := before == "@" || before == terminatorLine; {
		case line == "@" && strings.HasSuffix(before, ";"):
			complaints = append(complaints, f.complaint(i+1, "the statement ends with a semicolon"))
		case line == "@" && ended:
			complaints = append(complaints, f.complaint(i+1, "terminates nothing"))
		case line != "@" && line != terminatorLine && strings.HasSuffix(line, "@"):
			complaints = append(complaints, f.complaint(i+1, "a terminator must have a line of its own"))
		case statementLine.MatchString(line) && !ended:
			complaints = append(complaints, f.complaint(i+1, "`%s` begins behind `%s`, want a terminator there", line, before))
		case line == terminatorLine && before != "":
			complaints = append(complaints, f.complaint(i+1, "%s stands twice or behind a statement", terminatorLine))
		}
		if line != "" && !strings.HasPrefix(line, "-- ") && line != "--" {
			before = line
		}
	}
	if before != "@" {
		complaints = append(complaints, f.complaint(len(f.lines), "the last statement has no terminator"))
	}
	return complaints
}

// statementsAreReadable: the linter knows what every statement is. (On z/OS a script holds no CALL.)
func statementsAreReadable(f sqlFile) []string {
	var complaints []string
	read := 0
	for _, statement := range f.statements {
		if statement.begins("CREATE") {
			read++
		} else if f.zos() || !statement.begins("COMMENT ON") && !statement.is("CALL appl_lock_check_database()") {
			complaints = append(complaints, f.complaint(statement[0].line, "`%s` is not a statement of a source", statement))
		}
	}
	if read != len(f.routines) && !strings.HasSuffix(f.path, "/views.sql") {
		complaints = append(complaints, f.complaint(1, "%d routines are created, %d of them can be read", read, len(f.routines)))
	}
	return complaints
}

func charactersAreASCII(f sqlFile) []string {
	var complaints []string
	for i, line := range f.lines {
		if at := strings.IndexFunc(line, func(char rune) bool { return char < ' ' || char > '~' }); at >= 0 {
			complaints = append(complaints, f.complaint(i+1, "column %d has %q", at+1, line[at:min(len(line), at+4)]))
		}
	}
	return complaints
}

// nameLimit is how many bytes the name of a column may have on z/OS.
const nameLimit = 30

func namesAreShort(f sqlFile) []string {
	var complaints []string
	for _, token := range slices.Concat(f.statements...) {
		for name := range strings.SplitSeq(token.text, ".") {
			if !isLiteral(token.text) && len(name) > nameLimit {
				complaints = append(complaints, f.complaint(token.line, "%s has %d bytes, at most %d", name, len(name), nameLimit))
			}
		}
	}
	return complaints
}

// gooseStatementsAreWrapped: outside of StatementBegin and StatementEnd goose keeps the semicolon that it cuts
// at, and Db2 refuses it.
func gooseStatementsAreWrapped(f sqlFile) []string {
	var complaints []string
	begin := 0 // the line where the statement began, or 0
	for i, line := range f.lines {
		switch isBegin, isEnd := line == "-- +goose StatementBegin", line == "-- +goose StatementEnd"; {
		case isBegin && begin == 0:
			begin = i + 1
		case isEnd && begin != 0:
			if complaint := gooseStatement(f.lines[begin:i]); complaint != "" {
				complaints = append(complaints, f.complaint(begin+1, "%s", complaint))
			}
			begin = 0
		case strings.Contains(line, "+goose") && (begin != 0 || line != "-- +goose Up" && line != "-- +goose Down"):
			complaints = append(complaints, f.complaint(i+1, "`%s` stands in a wrong place or is unknown", line))
		case begin == 0 && line != "" && !strings.HasPrefix(line, "--"):
			complaints = append(complaints, f.complaint(i+1, "`%s` is not wrapped", line))
		}
	}
	if begin != 0 {
		complaints = append(complaints, f.complaint(begin, "the statement does not end"))
	}
	return complaints
}

// gooseStatement says what is wrong with a statement, which must be one.
func gooseStatement(lines []string) string {
	statement := tokenize(strings.Join(lines, "\n"), 0)
	isProcedure := statement.begins("CREATE OR REPLACE PROCEDURE")
	switch {
	case len(statement) == 0:
		return "the statement is empty"
	case statement[len(statement)-1].text == ";":
		return "the statement ends with a semicolon"
	case statement.has(";") && !isProcedure:
		return fmt.Sprintf("`%s` is more than one statement", statement)
	}
	return ""
}

// gooseFileHasNoTerminators: they are for script tools.
func gooseFileHasNoTerminators(f sqlFile) []string {
	var complaints []string
	for i, line := range f.lines {
		if strings.HasPrefix(strings.TrimSpace(line), "--#SET") || strings.TrimSpace(line) == "@" {
			complaints = append(complaints, f.complaint(i+1, "`%s` is not for goose", line))
		}
	}
	return complaints
}
