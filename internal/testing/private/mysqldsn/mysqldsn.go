// Package mysqldsn writes the addresses of MariaDB and MySQL servers that the test suite passes around.
package mysqldsn

import (
	"errors"
	"net/url"
	"strings"

	"github.com/go-sql-driver/mysql"
)

const scheme = "mysql"

// Format is the inverse of ParseDSN of the driver, always a URL. A server that is not reached by TCP has no URL.
func Format(config *mysql.Config) (string, error) {
	if config.Net != "tcp" {
		return "", errors.New("the server is not reached by TCP: write mysql://user:password@host:port/database")
	}
	u := url.URL{
		Scheme:   scheme,
		User:     url.UserPassword(config.User, config.Passwd),
		Host:     config.Addr,
		Path:     "/" + config.DBName,
		RawQuery: parameters(config),
	}
	return u.String(), nil
}

// parameters is what the driver writes behind the question mark.
func parameters(config *mysql.Config) string {
	anonymous := config.Clone()
	anonymous.User, anonymous.Passwd, anonymous.DBName = "", "", ""
	_, parameters, _ := strings.Cut(anonymous.FormatDSN(), "?")
	return parameters
}
