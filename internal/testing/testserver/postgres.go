//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

// The variables of PostgreSQL. The launcher reads the first three, the tests all but the second.
const (
	postgresDSN  = "APPLOCK_TEST_POSTGRES_DSN"
	postgresBin  = "APPLOCK_TEST_POSTGRES_BIN"
	postgresPsql = "APPLOCK_TEST_POSTGRES_PSQL"
	postgresPID  = "APPLOCK_TEST_POSTGRES_PID"
)

func newPostgres(h host) product {
	return product{
		host:           h,
		name:           "postgres",
		title:          "PostgreSQL",
		clients:        []string{"psql"},
		clientVariable: "PSQL",
		service: service{
			dsn:  "postgres://applock:applock@127.0.0.1:54329/applock?sslmode=disable",
			port: 54329,
		},
		isClient: func(context.Context, host, string) bool { return true }, // there is only one psql
		find:     findPostgres,
		fetch: func(ctx context.Context, p product) (installation, error) {
			return p.installPackage(ctx, "postgresql", apt.installPostgres)
		},
		probe:        probePostgres,
		startPrivate: startCluster,
		versions:     postgresVersions(),
		user:         clusterAccount,
	}
}

// findPostgres finds the directory with the server's programs.
func findPostgres(_ context.Context, h host) (installation, error) {
	if bin := h.getenv(postgresBin); bin != "" {
		if !hasPostgres(h, bin) {
			return installation{}, fmt.Errorf("%s names %s, which lacks initdb or postgres: correct or unset it", postgresBin, bin)
		}
		return postgresIn(h, bin), nil
	}
	if initdb, err := h.lookPath("initdb"); err == nil {
		if bin := filepath.Dir(h.resolve(initdb)); hasPostgres(h, bin) {
			return postgresIn(h, bin), nil
		}
	}
	candidates, err := h.glob("/usr/lib/postgresql/*/bin")
	if err != nil {
		return installation{}, err
	}
	slices.SortFunc(candidates, func(a, b string) int { return majorVersion(b) - majorVersion(a) })
	for _, bin := range candidates {
		if hasPostgres(h, bin) {
			return postgresIn(h, bin), nil
		}
	}
	return installation{}, absent("no initdb and postgres in PATH or /usr/lib/postgresql/*/bin (%s can name their directory)",
		postgresBin)
}

func hasPostgres(h host, bin string) bool {
	return h.isFile(filepath.Join(bin, "initdb")) && h.isFile(filepath.Join(bin, "postgres"))
}

func postgresIn(h host, bin string) installation {
	return installation{
		origin: bin,
		server: filepath.Join(bin, "postgres"),
		setup:  filepath.Join(bin, "initdb"),
		client: h.firstFile([]string{bin}, []string{"psql"}),
	}
}

// majorVersion is the number in /usr/lib/postgresql/15/bin, 0 if there is none.
func majorVersion(bin string) int {
	number, err := strconv.Atoi(filepath.Base(filepath.Dir(bin)))
	if err != nil {
		return 0
	}
	return number
}

// probePostgres asks the server for its version. Its errors name host and user but neither password nor DSN.
func probePostgres(ctx context.Context, dsn string) (string, error) {
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		// The cause quotes the DSN.
		return "", errors.New("its DSN cannot be parsed: write postgres://user:password@host:port/database")
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return "", err
	}
	// The answer is complete. An error of closing changes nothing.
	defer func() { _ = conn.Close(ctx) }()
	var version string
	// The simple protocol also works through poolers without prepared statements.
	row := conn.QueryRow(ctx, "SELECT current_setting('server_version')", pgx.QueryExecModeSimpleProtocol)
	if err := row.Scan(&version); err != nil {
		return "", err
	}
	// Debian answers "15.18 (Debian 15.18-0+deb12u1)".
	version, _, _ = strings.Cut(version, " ")
	return version, nil
}
