package db

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// IsURL reports whether a DSN is a URL whose only @ ends the user part. With another @, a piece of the password would be taken for the host
// or the database, and appear in errors and in DNS queries.
func IsURL(dsn string) bool {
	scheme, rest, found := strings.Cut(dsn, "://")
	if end := strings.IndexAny(rest, "@/"); end >= 0 && rest[end] == '@' {
		if strings.ContainsAny(rest[:end], "?#") {
			return false // ? and # end the host, so the user would be the host
		}
		rest = rest[end+1:]
	}
	return found && !strings.Contains(scheme, ":") && !strings.Contains(rest, "@")
}

// ParseURL parses a DSN of which no part but the user part can be a piece of the password. So an error may quote options and hosts.
func ParseURL(dsn string) (*url.URL, error) {
	parsed, err := url.Parse(dsn)
	switch {
	case err != nil:
		return nil, err
	case !IsURL(dsn), parsed.Fragment != "", parsed.User == nil && strings.Contains(parsed.Host, ":") && parsed.Port() == "":
		return nil, errors.New("is no URL of a database")
	}
	return parsed, nil
}

// WithoutPassword returns the reason why a client refuses a DSN, or other if the reason quotes a password.
func WithoutPassword(parsed *url.URL, reason, other error) error {
	password, has := parsed.User.Password()
	quotes := has && strings.Contains(reason.Error(), password)
	for option, values := range parsed.Query() {
		for _, value := range values {
			quotes = quotes || strings.Contains(strings.ToLower(option), "password") && strings.Contains(reason.Error(), value)
		}
	}
	if quotes {
		return other
	}
	return fmt.Errorf("cannot be used: %w", reason)
}
