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
	"time"

	"github.com/jackc/pgx/v5"
)

// The variables of PostgreSQL: the first three are read by the launcher, all but the second are meant for the tests.
const (
	postgresDSN  = "APPLOCK_TEST_POSTGRES_DSN"
	postgresBin  = "APPLOCK_TEST_POSTGRES_BIN"
	postgresPsql = "APPLOCK_TEST_POSTGRES_PSQL"
	postgresPID  = "APPLOCK_TEST_POSTGRES_PID"
)

// givenLimit bounds the wait for a server that should be running already.
const givenLimit = 15 * time.Second

// postgres supplies PostgreSQL.
type postgres struct {
	host host

	// probe connects and returns the server's version.
	probe func(ctx context.Context, dsn string) (string, error)

	// startPrivate starts a private server with the binaries in the directory bin.
	startPrivate func(ctx context.Context, bin string) (*server, error)
}

func newPostgres(h host) postgres {
	return postgres{host: h, probe: probePostgres, startPrivate: startCluster}
}

func (p postgres) backend() backend {
	return backend{
		name:    "postgres",
		sources: []source{p.given, p.installed, p.debianPackage, p.compose},
	}
}

// given uses the server that the environment names.
func (p postgres) given(ctx context.Context) (*server, error) {
	dsn := p.host.getenv(postgresDSN)
	if dsn == "" {
		return nil, absent("%s is not set", postgresDSN)
	}
	ctx, cancel := context.WithTimeout(ctx, givenLimit)
	defer cancel()
	version, err := p.probe(ctx, dsn)
	if err != nil {
		return nil, fmt.Errorf("the server given by %s does not answer: %w", postgresDSN, err)
	}
	return &server{version: version, origin: "given by " + postgresDSN, env: p.psqlEnv("")}, nil
}

// installed starts a private server with the binaries of this machine.
func (p postgres) installed(ctx context.Context) (*server, error) {
	bin, err := p.findBinaries()
	if err != nil {
		return nil, err
	}
	s, err := p.startPrivate(ctx, bin)
	if err != nil {
		return nil, fmt.Errorf("start a private server with %s: %w", bin, err)
	}
	s.env = append(s.env, p.psqlEnv(bin)...)
	return s, nil
}

// findBinaries returns the directory with the server's programs.
func (p postgres) findBinaries() (string, error) {
	if bin := p.host.getenv(postgresBin); bin != "" {
		if !p.hasServer(bin) {
			return "", fmt.Errorf("%s names %s, which lacks initdb or postgres: correct or unset it", postgresBin, bin)
		}
		return bin, nil
	}
	if initdb, err := p.host.lookPath("initdb"); err == nil {
		// Distributions put links to some of the programs into the path: the others are where the links point.
		if target, err := filepath.EvalSymlinks(initdb); err == nil {
			initdb = target
		}
		if bin := filepath.Dir(initdb); p.hasServer(bin) {
			return bin, nil
		}
	}
	candidates, err := p.host.glob("/usr/lib/postgresql/*/bin")
	if err != nil {
		return "", err
	}
	slices.SortFunc(candidates, func(a, b string) int { return majorVersion(b) - majorVersion(a) })
	for _, bin := range candidates {
		if p.hasServer(bin) {
			return bin, nil
		}
	}
	return "", absent("no initdb and postgres in PATH or /usr/lib/postgresql/*/bin (%s can name their directory)", postgresBin)
}

func (p postgres) hasServer(bin string) bool {
	return p.host.isFile(filepath.Join(bin, "initdb")) && p.host.isFile(filepath.Join(bin, "postgres"))
}

// majorVersion is the number in /usr/lib/postgresql/15/bin, 0 if there is none.
func majorVersion(bin string) int {
	number, err := strconv.Atoi(filepath.Base(filepath.Dir(bin)))
	if err != nil {
		return 0
	}
	return number
}

// psqlEnv tells the command where psql is: as the environment says, next to the server, or in the path. Next to the
// server comes before the path because that one has the server's version.
func (p postgres) psqlEnv(bin string) []string {
	if p.host.getenv(postgresPsql) != "" {
		return nil
	}
	if path := filepath.Join(bin, "psql"); bin != "" && p.host.isFile(path) {
		return []string{postgresPsql + "=" + path}
	}
	path, err := p.host.lookPath("psql")
	if err != nil {
		return nil
	}
	return []string{postgresPsql + "=" + path}
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
	// The answer is all we came for: an unclean goodbye changes nothing.
	defer func() { _ = conn.Close(ctx) }()
	var version string
	// The simple protocol also passes through poolers that know no prepared statements.
	row := conn.QueryRow(ctx, "SELECT current_setting('server_version')", pgx.QueryExecModeSimpleProtocol)
	if err := row.Scan(&version); err != nil {
		return "", err
	}
	// Debian answers "15.18 (Debian 15.18-0+deb12u1)".
	version, _, _ = strings.Cut(version, " ")
	return version, nil
}
