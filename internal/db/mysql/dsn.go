package mysql

import (
	"errors"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/applock/applock/internal/db"
)

// Schemes are the words before the colon of a URL.
func Schemes() []string { return []string{"mysql", "mariadb"} }

var errNotDSN = errors.New("is not mysql://USER:PASSWORD@HOST:PORT/DATABASE or USER:PASSWORD@tcp(HOST:PORT)/DATABASE " +
	"with known options; in the first form write special characters of the password as %XX, such as @ as %40 and / as %2F")

// Recognizes reports whether a DSN without a scheme is in the form of github.com/go-sql-driver/mysql, or
// looks like it.
func Recognizes(dsn string) bool {
	if regexp.MustCompile(`(?:^|@)(?:tcp|unix)\(`).MatchString(dsn) {
		return true
	}
	config, err := mysql.ParseDSN(dsn)
	return err == nil && config.Net == "tcp" && strings.Contains(dsn, "@")
}

// ParseDSN returns the client's configuration for mysql://user:password@host:port/database?options (or mariadb://) or for
// the client's own form, user:password@tcp(host:port)/database?options; options are the client's in both.
// The configuration logs nothing. An error never repeats the DSN, which may hold a password.
func ParseDSN(dsn string) (*mysql.Config, error) {
	config, err := parse(dsn)
	if err != nil || hasPasswordOption(config) {
		return nil, errNotDSN
	}
	config.Logger = &mysql.NopLogger{} // what goes wrong is returned
	return config, nil
}

// hasPasswordOption tells of a password in the wrong place. To the client an option that it does not know is
// a variable to SET, and the server repeats it in the error.
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
	// User and password go around the client's parser, to which some of their characters mean something.
	// In a URL an option may have a slash, as in loc=Europe/Berlin.
	config, err := mysql.ParseDSN("tcp(" + parsed.Host + ")/?" + strings.ReplaceAll(parsed.RawQuery, "/", "%2F"))
	if err != nil {
		return nil, err
	}
	config.User = parsed.User.Username()
	config.Passwd, _ = parsed.User.Password()
	config.DBName = strings.TrimPrefix(parsed.Path, "/")
	return config, nil
}

// ourOwn are the settings of a pool that is the driver's own: times are UTC, whatever the DSN says, and a
// call is one round trip.
func ourOwn(config *mysql.Config) {
	config.ParseTime = true
	config.Loc = time.UTC
	config.InterpolateParams = true
	if config.Params == nil {
		config.Params = map[string]string{}
	}
	config.Params["time_zone"] = "'+00:00'"
}
