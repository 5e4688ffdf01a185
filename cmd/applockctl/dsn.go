package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/open"
)

// redacted stands for a password, as in net/url.
const redacted = "xxxxx"

const (
	dsnVariable     = "APPLOCK_DSN"
	dsnFileVariable = "APPLOCK_DSN_FILE"
)

// database returns the DSN of the flag, else of the environment, else of the file that the environment names. There is
// no default: a cron job without its environment shall not succeed on a file of its own.
func (a *app) database() (string, error) {
	var dsn string
	var err error
	switch {
	case a.dsnFlag.Changed:
		dsn = a.dsn
	case a.getenv(dsnVariable) != "":
		dsn = a.getenv(dsnVariable)
	case a.getenv(dsnFileVariable) != "":
		dsn, err = dsnOfFile(a.getenv(dsnFileVariable))
	}
	if err != nil {
		return "", &applock.InvalidError{Argument: dsnFileVariable, Reason: err.Error()}
	}
	if dsn == "" {
		return "", &applock.InvalidError{Argument: "dsn", Reason: "is missing: write --dsn DSN, or set " + dsnVariable + " or " +
			dsnFileVariable + "; to try it out: applockctl --dsn sqlite:applock.db migrate up"}
	}
	return dsn, nil
}

// databaseGiven reports whether the user has named a database.
func (a *app) databaseGiven() bool {
	return a.dsnFlag.Changed || a.getenv(dsnVariable) != "" || a.getenv(dsnFileVariable) != ""
}

// dialectName returns the name of a dialect that a flag gives, else that of the DSN.
func (a *app) dialectName(given string) (string, error) {
	if given != "" {
		return given, nil
	}
	dsn, err := a.database()
	if err != nil {
		return "", err
	}
	dialect, err := open.DialectOf(dsn)
	return dialect.Name, err
}

// dsnOfFile returns the first line of a file. As with ~/.pgpass, a file that others may read or write is not used: a
// password that is no secret shall be noticed when it is put there, and nobody else shall choose the database.
func dsnOfFile(path string) (dsn string, err error) {
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
		return "", fmt.Errorf("%s has group or world access, make it yours alone: chmod 600 %s", path, quote(path))
	}
	lines := bufio.NewScanner(file)
	lines.Scan()
	if dsn = strings.TrimSpace(lines.Text()); dsn == "" && lines.Err() == nil {
		return "", fmt.Errorf("%s has no DSN in its first line", path)
	}
	return dsn, lines.Err()
}

// cutUser splits a DSN that the façade accepts where the clients do. The scheme is empty, or ends with ://.
// The user is empty, or ends with the @.
func cutUser(dsn string) (scheme, user, behind string) {
	dialect, err := open.DialectOf(dsn)
	if err == nil && dialect.Embedded {
		return "", "", dsn // a path
	}
	if scheme, rest, found := strings.Cut(dsn, "://"); found && slices.Contains(dialect.Schemes, scheme) {
		// Behind the first @, unless a / comes before it.
		end := strings.IndexAny(rest, "@/") + 1
		if end > 0 && rest[end-1] == '/' {
			end = 0
		}
		return scheme + "://", rest[:end], rest[end:]
	}
	// USER:PASSWORD@tcp(HOST:PORT)/DATABASE: behind the last @ before the last /.
	end := strings.LastIndex(dsn[:strings.LastIndex(dsn, "/")+1], "@") + 1
	return "", dsn[:end], dsn[end:]
}

// pathOf returns the file that a DSN of an embedded database names.
func pathOf(dsn string) string {
	_, path, _ := strings.Cut(dsn, ":")
	return path
}

// redactDSN returns a DSN that the façade accepts without its passwords.
func redactDSN(dsn string) string {
	scheme, user, behind := cutUser(dsn)
	if name, _, hasPassword := strings.Cut(user, ":"); hasPassword {
		user = name + ":" + redacted + "@"
	}
	option := regexp.MustCompile(`(?i)([?&][a-z]*password=)[^&]*`)
	return scheme + user + option.ReplaceAllString(behind, "${1}"+redacted)
}

// redactText removes passwords from a text that repeats a DSN, such as cobra's about an unknown word. What lies between the first DSN
// and the last @ is taken for a password: rather too much than too little. The advice of this program repeats DSNs without their passwords, and
// the form of a DSN: such a place hides nothing, and divides the text.
func redactText(text string) string {
	harmless := regexp.MustCompile(`USER:PASSWORD@|:` + redacted + `@`)
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
		// in the form of MySQL's client, as an argument in quotes or behind a blank
		regexp.MustCompile(`(?s)(["'][^\s:/@"']*:).*(@(?:tcp|unix)?[(/])`),
		regexp.MustCompile(`(?s)((?:^|[\s=])[^\s:="']+:)\S*(@(?:tcp|unix)?[(/])`),
		// in something similar, as an argument in quotes
		regexp.MustCompile(`(?s)(["'][^\s:/@"']+:)(?:/?[^/].*|/?)(@)`),
		// in an option
		regexp.MustCompile(`(?i)(password=)[^&\s'"]+()`),
	} {
		piece = password.ReplaceAllString(piece, "${1}"+redacted+"${2}")
	}
	return piece
}

// quote returns an argument as a shell takes it.
func quote(argument string) string {
	plain := regexp.MustCompile(`^[A-Za-z0-9_./:=,%+-]+$`)
	if plain.MatchString(argument) {
		return argument
	}
	return "'" + strings.ReplaceAll(argument, "'", `'\''`) + "'"
}
