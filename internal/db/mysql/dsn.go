package mysql

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"os"
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
	"with known options; in the first form write special characters of the password as %XX, such as @ as %40 and / as %2F, and an IPv6 address as [::1]")

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
	if err != nil {
		return nil, err
	}
	if hasPasswordOption(config) {
		return nil, errNotDSN
	}
	if err := checkOptions(config); err != nil {
		return nil, err
	}
	if err := trustCA(config); err != nil {
		return nil, err
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
		config, err := mysql.ParseDSN(dsn)
		if err != nil {
			return nil, errNotDSN // its reason may quote a piece of the password
		}
		return config, nil
	}
	parsed, err := db.ParseURL(dsn)
	if err != nil {
		return nil, errNotDSN
	}
	address, options, err := addressOf(parsed)
	if err != nil {
		return nil, err
	}
	// User and password bypass the client's parser, which treats some of their characters as its own. In a URL an option may have a slash, as
	// in loc=Europe/Berlin.
	config, err := mysql.ParseDSN(address + "/?" + strings.ReplaceAll(options, "/", "%2F"))
	if err != nil {
		return nil, db.WithoutPassword(parsed, err, errNotDSN)
	}
	config.User = parsed.User.Username()
	config.Passwd, _ = parsed.User.Password()
	config.DBName = strings.TrimPrefix(parsed.Path, "/")
	return config, nil
}

// addressOf returns network and address of a URL, in the client's form, and the options without the socket.
func addressOf(parsed *url.URL) (address, options string, err error) {
	var kept []string
	for option := range strings.SplitSeq(parsed.RawQuery, "&") {
		if path, isSocket := strings.CutPrefix(option, "socket="); isSocket {
			if address, err = url.QueryUnescape(path); err != nil || parsed.Host != "" {
				return "", "", errors.New("has the option socket, so write it without a host: mysql://USER:PASSWORD@/DATABASE?socket=/PATH")
			}
			continue
		}
		kept = append(kept, option)
	}
	options = strings.Join(kept, "&")
	host := parsed.Host
	switch {
	case address != "":
		return "unix(" + address + ")", options, nil
	case strings.Contains(host, "("):
		return "", "", errors.New("has a network in a URL: write mysql://USER:PASSWORD@HOST:PORT/DATABASE or mysql://USER:PASSWORD@/DATABASE?socket=/PATH")
	case strings.Contains(host, ","):
		return "", "", errors.New("names several hosts, and the client connects to one: name the primary, or a proxy")
	case !strings.HasPrefix(host, "[") && strings.Count(host, ":") > 1:
		return "", "", errors.New("has an IPv6 address without brackets: write it as [::1]:3306")
	case strings.HasPrefix(host, "["):
		host = net.JoinHostPort(parsed.Hostname(), cmp.Or(parsed.Port(), "3306"))
	}
	return "tcp(" + host + ")", options, nil
}

// caOption names a file with certificates to trust, as in MySQL's own clients. The driver has no option for that.
const caOption = "ssl-ca"

// checkOptions refuses options of other clients. The driver would SET them as variables of the session, and the server's error would not tell
// what to write.
func checkOptions(config *mysql.Config) error {
	for option := range config.Params {
		switch strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(option)) {
		case "sslmode", "ssl", "usessl", "requiressl":
			return fmt.Errorf("has the unknown option %s: for TLS write tls=true, and %s=/PATH for the certificates to trust", option, caOption)
		case "sslca", "sslrootcert":
			if option != caOption {
				return fmt.Errorf("has the unknown option %s: write %s=/PATH", option, caOption)
			}
		case "connecttimeout":
			return fmt.Errorf("has the unknown option %s: write timeout=10s", option)
		case "unixsocket":
			return fmt.Errorf("has the unknown option %s: write socket=/PATH", option)
		}
	}
	return nil
}

// trustCA makes the client trust the certificates of a file, and those only.
func trustCA(config *mysql.Config) error {
	path, given := config.Params[caOption]
	if !given {
		return nil
	}
	delete(config.Params, caOption)
	if config.TLSConfig != "" && config.TLSConfig != "true" {
		return fmt.Errorf("has %s with tls=%s: write tls=true", caOption, config.TLSConfig)
	}
	certificates, err := os.ReadFile(path) //nolint:gosec // the user names the file
	if err != nil {
		return fmt.Errorf("has an unreadable %s: %w", caOption, err)
	}
	trusted := x509.NewCertPool()
	if !trusted.AppendCertsFromPEM(certificates) {
		return fmt.Errorf("has an %s without a certificate in PEM: %s", caOption, path)
	}
	config.TLS = &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS12}
	return nil
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
