package main

import (
	"regexp"
	"strings"
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

// cutUser splits what follows "://" where all clients do: behind the first @, unless a / comes before it.
// The user is empty, or ends with the @.
func cutUser(rest string) (user, behind string) {
	if end := strings.IndexAny(rest, "@/"); end >= 0 && rest[end] == '@' {
		return rest[:end+1], rest[end+1:]
	}
	return "", rest
}

// redactDSN returns a DSN that the façade accepts without its passwords.
func redactDSN(dsn string) string {
	scheme, rest, found := strings.Cut(dsn, "://")
	if !found {
		return dsn
	}
	user, behind := cutUser(rest)
	if name, _, hasPassword := strings.Cut(user, ":"); hasPassword {
		user = name + ":" + redacted + "@"
	}
	option := regexp.MustCompile(`(?i)([?&][a-z]*password=)[^&]*`)
	return scheme + "://" + user + option.ReplaceAllString(behind, "${1}"+redacted)
}

// redactText removes passwords from a text that repeats a DSN, such as cobra's about an unknown word.
// It takes rather too much than too little.
func redactText(text string) string {
	userinfo := regexp.MustCompile(`(?s)(://[^\s:/?#@]*):.*@`)
	text = userinfo.ReplaceAllStringFunc(text, func(match string) string {
		if strings.HasSuffix(match, ":PASSWORD@") {
			return match // how to write a DSN
		}
		return userinfo.ReplaceAllString(match, "${1}:"+redacted+"@")
	})
	option := regexp.MustCompile(`(?i)(password=)[^&\s'"]+`)
	return option.ReplaceAllString(text, "${1}"+redacted)
}

// quote returns an argument as a shell takes it.
func quote(argument string) string {
	plain := regexp.MustCompile(`^[A-Za-z0-9_./:=,%+-]+$`)
	if plain.MatchString(argument) {
		return argument
	}
	return "'" + strings.ReplaceAll(argument, "'", `'\''`) + "'"
}
