package migrate

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"
)

// Guard is a trigger that asserts the lock of each row of a table that is written.
type Guard struct {
	// Schema is where the operations are.
	Schema string
	// Table is its name with that of its schema, if that is given, and Column the one with the id of the object.
	Table, Column Name
	// ObjectType is that of the objects.
	ObjectType string
	// Insert is true where new rows are guarded, too.
	Insert bool
}

// Name is the name of a table or column in its parts, as the catalogue has them.
type Name []string

// Names is how a dialect writes names.
type Names struct {
	// Quote stands around a name that is quoted.
	Quote string
	// Folds is true where a name without quotes is meant in lower case.
	Folds bool
	// Longest is how long a name may be, and Length measures it.
	Longest int
	Length  func(name string) int
}

// bareName is a name that needs no quotes unless it is a reserved word.
var bareName = regexp.MustCompile(`^[\p{L}\p{Nd}_$]+`)

// Parse reads a name as it is written in SQL, of at most so many parts.
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
			return nil, fmt.Errorf("must be a name%s; what is no letter, digit or underscore is quoted as in SQL, such as %sa-b%[2]s",
				map[bool]string{true: " or SCHEMA.NAME"}[parts > 1], n.Quote)
		}
	}
}

// part returns the first part of a name, and what follows.
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

// Write returns a name for SQL, whatever is in it.
func (n Names) Write(name Name) string {
	var quoted []string
	for _, part := range name {
		quoted = append(quoted, n.Quote+strings.ReplaceAll(part, n.Quote, n.Quote+n.Quote)+n.Quote)
	}
	return strings.Join(quoted, ".")
}

// Beside returns the name of something that belongs to a table and is in its schema: the word, that of the table, and
// the ending. The name of the table is a hash where that would be too long.
func (n Names) Beside(table Name, word, ending string) Name {
	last := len(table) - 1
	name := word + table[last] + ending
	if n.Length(name) > n.Longest {
		hash := sha256.Sum256([]byte(table[last]))
		name = fmt.Sprintf("%s%x%s", word, hash[:8], ending)
	}
	return append(append(Name{}, table[:last]...), name)
}
