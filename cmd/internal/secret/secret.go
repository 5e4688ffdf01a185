// Package secret reads private files, such as a DSN or passwords, and keeps passwords out of texts. It serves the programs in cmd.
package secret

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/applock/applock/applock"
)

// Redacted replaces a password, as in net/url.
const Redacted = "xxxxx"

// The environment variables that name the database.
const (
	DSNVariable     = "APPLOCK_DSN"
	DSNFileVariable = "APPLOCK_DSN_FILE"
)

// DSNOfEnvironment returns the DSN of APPLOCK_DSN, else the first line of the file that APPLOCK_DSN_FILE names, else an empty text.
func DSNOfEnvironment(getenv func(string) string) (string, error) {
	if dsn := getenv(DSNVariable); dsn != "" {
		return dsn, nil
	}
	path := getenv(DSNFileVariable)
	if path == "" {
		return "", nil
	}
	dsn, err := DSNOfFile(path)
	if err != nil {
		return "", &applock.InvalidError{Argument: DSNFileVariable, Reason: err.Error()}
	}
	return dsn, nil
}

// DSNOfFile returns the first line of a file. As with ~/.pgpass, it refuses a file that others can read or write: the password would be no
// secret, or others could choose the database.
func DSNOfFile(path string) (dsn string, err error) {
	file, err := os.Open(path) //nolint:gosec // the user names the file
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	info, err := file.Stat()
	if err != nil {
		return "", err
	}
	if !private(info) {
		return "", fmt.Errorf("%s has group or world access, make it yours alone: chmod 600 %s", path, Quote(path))
	}
	lines := bufio.NewScanner(file)
	lines.Scan()
	dsn = strings.TrimSpace(strings.TrimPrefix(lines.Text(), "\ufeff")) // the byte order mark of editors on Windows
	if !utf8.ValidString(dsn) {
		return "", fmt.Errorf("%s is not UTF-8: save it as UTF-8", path)
	}
	if dsn == "" && lines.Err() == nil {
		return "", fmt.Errorf("%s has no DSN in its first line", path)
	}
	return dsn, lines.Err()
}

// Read returns the content of a private file.
func Read(path string) (text string, err error) {
	file, err := os.Open(path) //nolint:gosec // the user names the file
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	info, err := file.Stat()
	if err != nil {
		return "", err
	}
	if !private(info) {
		return "", fmt.Errorf("has group or world access, make it yours alone: chmod 600 %s", Quote(path))
	}
	content, err := io.ReadAll(file)
	return string(content), err
}

// Passwords reads lines with a name and a password each.
func Passwords(path string) (people map[string]string, err error) {
	text, err := Read(path)
	if err != nil {
		return nil, err
	}
	people = map[string]string{}
	lines := bufio.NewScanner(strings.NewReader(text))
	for number := 1; lines.Scan(); number++ {
		name, password, found := strings.Cut(lines.Text(), ":")
		if !found || name == "" || password == "" {
			return nil, fmt.Errorf("line %d is not NAME:PASSWORD", number)
		}
		people[name] = password
	}
	return people, lines.Err()
}

// Redact removes passwords from a text that contains DSNs. Between the first DSN and the last @ it removes too much rather than too little.
// A DSN that is redacted already, and the placeholder USER:PASSWORD, split the text into parts that are redacted separately.
func Redact(text string) string {
	harmless := regexp.MustCompile(`USER:PASSWORD@|:` + Redacted + `@`)
	var hidden strings.Builder
	for {
		next := harmless.FindStringIndex(text)
		if next == nil {
			return hidden.String() + redactPiece(text)
		}
		hidden.WriteString(redactPiece(text[:next[0]]) + text[next[0]:next[1]])
		text = text[next[1]:]
	}
}

func redactPiece(piece string) string {
	for _, password := range []*regexp.Regexp{
		// in a URL
		regexp.MustCompile(`(?s)(://[^\s:/?#@]*:).*(@)`),
		// in the form of MySQL's client, quoted or after a blank
		regexp.MustCompile(`(?s)(["'][^\s:/@"']*:).*(@(?:tcp|unix)?[(/])`),
		regexp.MustCompile(`(?s)((?:^|[\s=])[^\s:="']+:)\S*(@(?:tcp|unix)?[(/])`),
		// in a similar form, quoted
		regexp.MustCompile(`(?s)(["'][^\s:/@"']+:)(?:/?[^/].*|/?)(@)`),
		// in an option
		regexp.MustCompile(`(?i)(password=)[^&\s'"]+()`),
	} {
		piece = password.ReplaceAllString(piece, "${1}"+Redacted+"${2}")
	}
	return piece
}

// Quote quotes an argument for a shell.
func Quote(argument string) string {
	plain := regexp.MustCompile(`^[A-Za-z0-9_./:=,%+-]+$`)
	if plain.MatchString(argument) {
		return argument
	}
	return "'" + strings.ReplaceAll(argument, "'", `'\''`) + "'"
}
