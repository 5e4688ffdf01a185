package migrate

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"
)

// Guard is a trigger that asserts the lock of each written row.
type Guard struct {
	// Schema contains the operations.
	Schema string
	// Table is the table's name, with its schema if given. Column contains the object's id.
	Table, Column Name
	// ObjectType is the type of the objects.
	ObjectType string
	// Insert also guards new rows.
	Insert bool
}

// Name is the name of a table or column, as the parts that the catalogue has.
type Name []string

// Names is a dialect's syntax of names.
type Names struct {
	// Quote encloses a quoted name.
	Quote string
	// Folds is true if a name without quotes means lower case.
	Folds bool
	// Longest is the longest name, by the measure of Length.
	Longest int
	Length  func(name string) int
}

// bareName matches a name without quotes. It may still be a reserved word.
var bareName = regexp.MustCompile(`^[\p{L}\p{Nd}_$]+`)

// Parse parses a name in SQL's syntax, with at most the given number of parts.
func (n Names) Parse(text string, parts int) (Name, error) {
	if strings.ContainsFunc(text, unicode.IsControl) {
		return nil, errors.New("must have no control characters")
	}
	var name Name
	for rest := text; ; rest = rest[1:] {
		part, after, err := n.part(rest)
		if err != nil {
			return nil, err
		}
		name, rest = append(name, part), after
		if rest == "" && len(name) <= parts {
			return name, nil
		}
		if rest == "" || rest[0] != '.' || len(name) == parts {
			return nil, fmt.Errorf("must be a name%s; quote it as in SQL if it has other characters than letters, digits and underscores, "+
				"such as %sa-b%[2]s", map[bool]string{true: " or SCHEMA.NAME"}[parts > 1], n.Quote)
		}
	}
}

// part returns the first part of a name, and the rest.
func (n Names) part(text string) (part, rest string, err error) {
	if quoted, isQuoted := strings.CutPrefix(text, n.Quote); isQuoted {
		for {
			piece, after, closed := strings.Cut(quoted, n.Quote)
			if !closed {
				return "", "", fmt.Errorf("has an opening %s and no closing one", n.Quote)
			}
			part += piece
			quoted, isQuoted = strings.CutPrefix(after, n.Quote)
			if !isQuoted {
				rest = after
				break
			}
			part += n.Quote
		}
	} else {
		part = bareName.FindString(text)
		rest = text[len(part):]
		if n.Folds {
			part = strings.Map(asciiLower, part)
		}
	}
	if n.Length(part) == 0 && (rest == "" || rest[0] == '.') || n.Length(part) > n.Longest {
		return "", "", fmt.Errorf("must have parts of 1 to %d characters", n.Longest)
	}
	return part, rest, nil
}

func asciiLower(r rune) rune {
	if 'A' <= r && r <= 'Z' {
		return r - 'A' + 'a'
	}
	return r
}

// Write quotes a name for SQL.
func (n Names) Write(name Name) string {
	var quoted []string
	for _, part := range name {
		quoted = append(quoted, n.Quote+strings.ReplaceAll(part, n.Quote, n.Quote+n.Quote)+n.Quote)
	}
	return strings.Join(quoted, ".")
}

// Beside returns a name in a table's schema: the word, the table's name, and the ending. A hash replaces a table's name that is too long.
func (n Names) Beside(table Name, word, ending string) Name {
	last := len(table) - 1
	name := word + table[last] + ending
	if n.Length(name) > n.Longest {
		hash := sha256.Sum256([]byte(table[last]))
		name = fmt.Sprintf("%s%x%s", word, hash[:8], ending)
	}
	return append(append(Name{}, table[:last]...), name)
}
