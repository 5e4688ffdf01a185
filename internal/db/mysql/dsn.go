package mysql

import (
	"errors"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/applock/applock/internal/db"
)

// Schemes returns the schemes of the URLs that ParseDSN accepts.
func Schemes() []string { return []string{"mysql", "mariadb"} }

var errNotDSN = errors.New("is not mysql://USER:PASSWORD@HOST:PORT/DATABASE or USER:PASSWORD@tcp(HOST:PORT)/DATABASE " +
	"with known options; in the first form write special characters of the password as %XX, such as @ as %40 and / as %2F")

// Recognizes reports whether a DSN without a scheme has, or seems to have, the form of github.com/go-sql-driver/mysql.
func Recognizes(dsn string) bool {
	if regexp.MustCompile(`(?:^|@)(?:tcp|unix)\(`).MatchString(dsn) {
		return true
	}
	config, err := mysql.ParseDSN(dsn)
	return err == nil && config.Net == "tcp" && strings.Contains(dsn, "@")
}

// ParseDSN returns the client's configuration for mysql://user:password@host:port/database?options, for the same with mariadb://, or for
// the client's own form, user:password@tcp(host:port)/database?options. The options are the client's. The configuration logs nothing, and
// no error repeats the DSN, which may hold a password.
func ParseDSN(dsn string) (*mysql.Config, error) {
	config, err := parse(dsn)
	if err != nil || hasPasswordOption(config) {
		return nil, errNotDSN
	}
	config.Logger = &mysql.NopLogger{} // errors are returned, not logged
	return config, nil
}

// hasPasswordOption finds a password among the options. The client would SET an unknown option as a variable, and the server's error would
// repeat it.
func hasPasswordOption(config *mysql.Config) bool {
	for option := range config.Params {
		if strings.Contains(strings.ToLower(option), "password") {
			return true
		}
	}
	return false
}

func parse(dsn string) (*mysql.Config, error) {
	if scheme, _, found := strings.Cut(dsn, "://"); !found || !slices.Contains(Schemes(), scheme) {
		return mysql.ParseDSN(dsn)
	}
	if !db.IsURL(dsn) {
		return nil, errNotDSN
	}
	parsed, err := url.Parse(dsn)
	if err != nil {
		return nil, err
	}
	// User and password bypass the client's parser, which treats some of their characters as its own. In a URL an option may have a slash, as
	// in loc=Europe/Berlin.
	config, err := mysql.ParseDSN("tcp(" + parsed.Host + ")/?" + strings.ReplaceAll(parsed.RawQuery, "/", "%2F"))
	if err != nil {
		return nil, err
	}
	config.User = parsed.User.Username()
	config.Passwd, _ = parsed.User.Password()
	config.DBName = strings.TrimPrefix(parsed.Path, "/")
	return config, nil
}

// ourOwn sets up a pool that the driver makes itself: times are UTC and calls are committed, whatever the DSN and the server say, and a call
// is one round trip.
func ourOwn(config *mysql.Config) {
	config.ParseTime = true
	config.Loc = time.UTC
	config.InterpolateParams = true
	BeginWith(config, "time_zone = '+00:00'", "autocommit = 1")
}

// BeginWith makes a connection begin with assignments of ours. They come after the DSN's, in the one SET that the client makes of its
// options: of two values for a variable the last one counts, and the client's order is that of a map.
func BeginWith(config *mysql.Config, ours ...string) {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(config.Params)) {
		all = append(all, name+" = "+config.Params[name])
	}
	first, rest, _ := strings.Cut(strings.Join(append(all, ours...), ", "), " = ")
	config.Params = map[string]string{first: rest}
}
