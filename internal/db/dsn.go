package db

import "strings"

// IsURL reports whether a DSN is a URL whose only @ is the one that ends the user. Behind another one, a
// piece of the password would be taken for a host or a database, and appear in errors and in the look-up
// of a name.
func IsURL(dsn string) bool {
	scheme, rest, found := strings.Cut(dsn, "://")
	if end := strings.IndexAny(rest, "@/"); end >= 0 && rest[end] == '@' {
		if strings.ContainsAny(rest[:end], "?#") {
			return false // they end the host, and so the user would be it
		}
		rest = rest[end+1:]
	}
	return found && !strings.Contains(scheme, ":") && !strings.Contains(rest, "@")
}
