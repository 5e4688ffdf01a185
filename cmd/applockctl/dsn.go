package main

import (
	"regexp"
	"slices"
	"strings"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/open"
	"github.com/applock/applock/cmd/internal/secret"
)

const (
	dsnVariable     = secret.DSNVariable
	dsnFileVariable = secret.DSNFileVariable
)

// database returns the DSN from the flag, else from the environment, else from the file that the environment names. There is no default: a
// cron job that lacks its environment must fail instead of using a file of its own.
func (a *app) database() (string, error) {
	dsn := a.dsn
	if !a.dsnFlag.Changed {
		var err error
		if dsn, err = secret.DSNOfEnvironment(a.getenv); err != nil {
			return "", err
		}
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

// dialectName returns the dialect of the flag, or else of the DSN.
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

// cutUser splits a DSN at the places where the drivers split it. The scheme is empty or ends with ://, the user is empty or ends with @.
func cutUser(dsn string) (scheme, user, behind string) {
	dialect, err := open.DialectOf(dsn)
	if err == nil && dialect.Embedded {
		return "", "", dsn // a path has no user
	}
	if scheme, rest, found := strings.Cut(dsn, "://"); found && slices.Contains(dialect.Schemes, scheme) {
		// The user ends at the first @, unless a / comes before it.
		end := strings.IndexAny(rest, "@/") + 1
		if end > 0 && rest[end-1] == '/' {
			end = 0
		}
		return scheme + "://", rest[:end], rest[end:]
	}
	// USER:PASSWORD@tcp(HOST:PORT)/DATABASE: the user ends at the last @ before the last /.
	end := strings.LastIndex(dsn[:strings.LastIndex(dsn, "/")+1], "@") + 1
	return "", dsn[:end], dsn[end:]
}

// pathOf returns the file in the DSN of an embedded database.
func pathOf(dsn string) string {
	_, path, _ := strings.Cut(dsn, ":")
	return path
}

func redactDSN(dsn string) string {
	scheme, user, behind := cutUser(dsn)
	if name, _, hasPassword := strings.Cut(user, ":"); hasPassword {
		user = name + ":" + secret.Redacted + "@"
	}
	option := regexp.MustCompile(`(?i)([?&][a-z]*password=)[^&]*`)
	return scheme + user + option.ReplaceAllString(behind, "${1}"+secret.Redacted)
}
