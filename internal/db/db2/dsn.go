package db2

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/applock/applock/internal/db"
)

const (
	defaultPort = "50000"
	// defaultConnectTimeout is in seconds. Without one the client would wait for a silent server for ever.
	defaultConnectTimeout = "15"
	// maxValueLength keeps a connection string far below the longest that go_ibm_db can pass to the client.
	maxValueLength = 1000
)

var errNotDSN = errors.New("is not db2://USER:PASSWORD@HOST:PORT/DATABASE with known options; " +
	"write special characters of user and password as %XX, such as @ as %40 and / as %2F")

// option is a keyword of the client that a DSN may set.
// https://www.ibm.com/docs/en/db2/11.5?topic=odbc-cliodbc-configuration-keywords-listing-by-category
type option struct {
	keyword string
	// forTLS marks an option that the client ignores on a connection without TLS.
	forTLS bool
	// check returns what the value must be, in words, or an empty text if the value is valid. The client ignores unknown values: a misspelt
	// encryption would be none.
	check func(value string) string
}

func options() []option {
	return []option{
		{keyword: "Authentication", check: oneOf("SERVER", "SERVER_ENCRYPT", "SERVER_ENCRYPT_AES", "DATA_ENCRYPT")},
		{keyword: "ConnectTimeout", check: seconds},
		{keyword: "Security", check: oneOf("SSL")},
		{keyword: "SSLClientHostnameValidation", forTLS: true, check: oneOf("Basic", "OFF")},
		{keyword: "SSLClientKeystash", forTLS: true, check: anyText},
		{keyword: "SSLClientKeystoredb", forTLS: true, check: anyText},
		{keyword: "SSLClientLabel", forTLS: true, check: anyText},
		{keyword: "SSLServerCertificate", forTLS: true, check: anyText},
		{keyword: "TLSVersion", forTLS: true, check: oneOf("TLSV12", "TLSV13")},
	}
}

// connectionString returns the client's form of db2://user:password@host:port/database?options. An error never repeats the DSN, which holds
// a password.
func connectionString(dsn string) (string, error) {
	parsed, err := parse(dsn)
	if err != nil {
		return "", err
	}
	settings, err := parsedOptions(parsed.RawQuery)
	if err != nil {
		return "", err
	}
	password, _ := parsed.User.Password()
	var text strings.Builder
	for _, part := range []struct{ keyword, name, value string }{
		{"HOSTNAME", "host", parsed.Hostname()},
		{"PORT", "port", portOf(parsed)},
		{"DATABASE", "database", strings.TrimPrefix(parsed.Path, "/")},
		{"UID", "user", parsed.User.Username()},
		{"PWD", "password", password},
	} {
		if err := checkText(part.name, part.value); err != nil {
			return "", err
		}
		text.WriteString(part.keyword + "=" + part.value + ";")
	}
	text.WriteString("PROTOCOL=TCPIP;")
	for _, known := range options() {
		if value, isSet := settings[known.keyword]; isSet {
			text.WriteString(known.keyword + "=" + value + ";")
		}
	}
	// It ends with a semicolon. The client takes the NUL that go_ibm_db appends for a part of an unfinished value, and would not recognize
	// SSL.
	return text.String(), nil
}

func parse(dsn string) (*url.URL, error) {
	parsed, err := url.Parse(dsn)
	if err != nil || !db.IsURL(dsn) || parsed.Scheme != "db2" || parsed.User == nil || strings.Contains(dsn, "#") {
		return nil, errNotDSN
	}
	plainHost := regexp.MustCompile(`^[A-Za-z0-9._:-]+$`)
	plainDatabase := regexp.MustCompile(`^/[A-Za-z0-9_@#$.-]+$`)
	if !plainHost.MatchString(parsed.Hostname()) || !plainDatabase.MatchString(parsed.Path) || !isPort(portOf(parsed)) {
		return nil, errNotDSN
	}
	return parsed, nil
}

func portOf(parsed *url.URL) string {
	if port := parsed.Port(); port != "" {
		return port
	}
	return defaultPort
}

func isPort(port string) bool {
	number, err := strconv.ParseUint(port, 10, 16)
	return err == nil && number > 0
}

// checkText refuses characters that a connection string cannot hold. The client splits at every semicolon, even in quotes, and strips
// blanks. It supports only ASCII in user and password: https://www.ibm.com/docs/en/db2/11.5?topic=clients-password-rules
func checkText(name, value string) error {
	switch {
	case value == "":
		return fmt.Errorf("has no %s", name)
	case len(value) > maxValueLength:
		return fmt.Errorf("has a %s of more than %d bytes", name, maxValueLength)
	case strings.Contains(value, ";"):
		return fmt.Errorf("has a semicolon in the %s, which Db2's client does not support", name)
	case strings.Trim(value, " ") != value:
		return fmt.Errorf("has a blank at an edge of the %s, which Db2's client would remove", name)
	case strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' }):
		return fmt.Errorf("has a character in the %s that is not printable ASCII, which Db2's client does not support", name)
	}
	return nil
}

// parsedOptions returns the options of a DSN, with defaults for absent ones.
func parsedOptions(query string) (map[string]string, error) {
	given, err := url.ParseQuery(query)
	if err != nil || hasPasswordOption(given) {
		return nil, errNotDSN
	}
	settings := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		known, err := knownOption(name)
		if err != nil {
			return nil, err
		}
		if _, twice := settings[known.keyword]; twice || len(given[name]) != 1 {
			return nil, fmt.Errorf("has option %s twice", known.keyword)
		}
		if err := known.checkValue(given.Get(name)); err != nil {
			return nil, err
		}
		settings[known.keyword] = given.Get(name)
	}
	return withDefaults(settings)
}

// hasPasswordOption finds a password among the options. What looks like another option's name may be a piece of the password, after an
// ampersand.
func hasPasswordOption(given url.Values) bool {
	secret := regexp.MustCompile(`(?i)pass|pwd|token|key$`)
	return slices.ContainsFunc(slices.Collect(maps.Keys(given)), secret.MatchString)
}

// withDefaults makes the client check the name in the server's certificate, as its newer versions do by default.
func withDefaults(settings map[string]string) (map[string]string, error) {
	setDefault := func(keyword, value string) {
		if _, isSet := settings[keyword]; !isSet {
			settings[keyword] = value
		}
	}
	setDefault("ConnectTimeout", defaultConnectTimeout)
	if settings["Security"] != "" {
		setDefault("SSLClientHostnameValidation", "Basic")
		return settings, nil
	}
	for _, known := range options() {
		if _, isSet := settings[known.keyword]; isSet && known.forTLS {
			return nil, fmt.Errorf("has option %s, which is of use with Security=SSL only", known.keyword)
		}
	}
	return settings, nil
}

// knownOption finds an option by its name, in any case.
func knownOption(name string) (option, error) {
	known := options()
	var keywords []string
	for _, candidate := range known {
		if strings.EqualFold(candidate.keyword, name) {
			return candidate, nil
		}
		keywords = append(keywords, candidate.keyword)
	}
	if !regexp.MustCompile(`^[A-Za-z0-9_]{1,40}$`).MatchString(name) {
		return option{}, errNotDSN // no option has such a name
	}
	return option{}, fmt.Errorf("has the unknown option %s; known are %s", name, strings.Join(keywords, ", "))
}

func (o option) checkValue(value string) error {
	if err := checkText("value of option "+o.keyword, value); err != nil {
		return err
	}
	if want := o.check(value); want != "" {
		return fmt.Errorf("has a wrong value of option %s, which must be %s", o.keyword, want)
	}
	return nil
}

// oneOf accepts some words, in any case.
func oneOf(words ...string) func(value string) string {
	return func(value string) string {
		if slices.ContainsFunc(words, func(word string) bool { return strings.EqualFold(word, value) }) {
			return ""
		}
		return "one of " + strings.Join(words, ", ")
	}
}

func seconds(value string) string {
	if number, err := strconv.ParseUint(value, 10, 15); err == nil && number > 0 {
		return ""
	}
	return "a number of seconds from 1 to 32767"
}

// anyText accepts what checkText accepts.
func anyText(string) string { return "" }
