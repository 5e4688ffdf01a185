package main

import (
	"regexp"
	"slices"
	"strings"

	"github.com/applock/applock/applock/open"
)

// redacted stands for a password, as in net/url.
const redacted = "xxxxx"

// database returns the DSN: the flag's, the environment's, or the default.
func (a *app) database() string {
	if fromEnvironment := a.getenv(dsnVariable); fromEnvironment != "" && !a.dsnFlag.Changed {
		return fromEnvironment
	}
	return a.dsn
}

// databaseGiven reports whether the user has named a database.
func (a *app) databaseGiven() bool {
	return a.dsnFlag.Changed || a.getenv(dsnVariable) != ""
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

// redactDSN returns a DSN that the façade accepts without its passwords.
func redactDSN(dsn string) string {
	scheme, user, behind := cutUser(dsn)
	if name, _, hasPassword := strings.Cut(user, ":"); hasPassword {
		user = name + ":" + redacted + "@"
	}
	option := regexp.MustCompile(`(?i)([?&][a-z]*password=)[^&]*`)
	return scheme + user + option.ReplaceAllString(behind, "${1}"+redacted)
}

// redactText removes passwords from a text that repeats a DSN, such as cobra's about an unknown word.
// It takes rather too much than too little.
func redactText(text string) string {
	const howToWrite = "USER:PASSWORD@" // hides nothing, and its @ would be taken for the end of a password
	pieces := strings.Split(text, howToWrite)
	for i, piece := range pieces {
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
		pieces[i] = piece
	}
	return strings.Join(pieces, howToWrite)
}

// quote returns an argument as a shell takes it.
func quote(argument string) string {
	plain := regexp.MustCompile(`^[A-Za-z0-9_./:=,%+-]+$`)
	if plain.MatchString(argument) {
		return argument
	}
	return "'" + strings.ReplaceAll(argument, "'", `'\''`) + "'"
}
