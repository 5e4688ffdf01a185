//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// givenLimit bounds the wait for a server that should already be running.
const givenLimit = 15 * time.Second

// product is one database product, with its sources on this machine. Their common parts are here.
type product struct {
	host  host
	name  string // as in the variables and in docker-compose.yml: "postgres"
	title string // for people: "PostgreSQL"

	// clients are the possible names of the command line client, best first. clientVariable is the end of the variable with its path for
	// the tests; "" if they need none.
	clients        []string
	clientVariable string

	// serverVariable is the end of the variable with the path of the server, for tests that start their own; "" if they need none.
	serverVariable string

	// isClient reports whether a program is this product's client.
	isClient func(ctx context.Context, h host, path string) bool

	service service // without a DSN if docker-compose.yml has none

	// find finds the server's programs on this machine. Without any it returns an absentError.
	find func(ctx context.Context, h host) (installation, error)

	// fetch gets the programs from Debian. If this machine cannot, it returns an absentError. unpacking lists the unpacked packages, if
	// it installs none.
	fetch     func(ctx context.Context, p product) (installation, error)
	unpacking unpacking

	// probe connects and returns the server's version.
	probe func(ctx context.Context, dsn string) (string, error)

	// startPrivate starts a private server.
	startPrivate func(ctx context.Context, programs installation) (*server, error)

	// versions are the available versions, and user the operating system user for the server if the launcher is root.
	versions map[string]versionSource
	user     string

	// base is the server that a private one depends on; nil for most.
	base *promise
}

// installation is the programs of one product.
type installation struct {
	origin string // for people: the directory, mostly
	server string // path of the server
	setup  string // path of the program that creates its data; "" if the server does that itself
	client string // path of its own client; "" if it has none

	// library is the path of the library that makes the server a node of a cluster; "" for a single server.
	library string
}

// variable names an environment variable: APPLOCK_TEST_POSTGRES_DSN.
func variable(product, what string) string {
	return "APPLOCK_TEST_" + strings.ToUpper(product) + "_" + what
}

func (p product) variable(what string) string { return variable(p.name, what) }

func (p product) backend() backend {
	sources := []source{p.given, p.installed, p.fetched}
	if p.base != nil {
		sources = []source{p.given, needs(p.base, p.installed), needs(p.base, p.fetched)}
	}
	if p.service.dsn != "" {
		sources = append(sources, p.compose)
	}
	return backend{name: p.name, sources: sources}
}

// given uses the server that the environment names.
func (p product) given(ctx context.Context) (*server, error) {
	name := p.variable("DSN")
	dsn := p.host.getenv(name)
	if dsn == "" || p.version() != "" {
		return nil, absent("%s is not set, or another version is wanted", name)
	}
	version, err := p.probeOnce(ctx, dsn)
	if err != nil {
		return nil, fmt.Errorf("the server given by %s does not answer: %w", name, err)
	}
	return &server{version: version, origin: "given by " + name, env: p.clientEnv(ctx, ""), dsn: dsn}, nil
}

// probeOnce probes a server that should already be running.
func (p product) probeOnce(ctx context.Context, dsn string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, givenLimit)
	defer cancel()
	return p.probe(ctx, dsn)
}

// installed starts a private server with the programs of this machine.
func (p product) installed(ctx context.Context) (*server, error) {
	find := p.find
	if p.version() != "" {
		find = func(ctx context.Context, _ host) (installation, error) { return p.versionPrograms(ctx) }
	}
	programs, err := find(ctx, p.host)
	if err != nil {
		return nil, err
	}
	return p.start(ctx, programs)
}

// fetched starts a private server with programs from Debian.
func (p product) fetched(ctx context.Context) (*server, error) {
	programs, err := p.fetch(ctx, p)
	if err != nil {
		return nil, err
	}
	return p.start(ctx, programs)
}

func (p product) start(ctx context.Context, programs installation) (*server, error) {
	s, err := p.startPrivate(ctx, programs)
	if err != nil {
		return nil, fmt.Errorf("start a private server with %s: %w", programs.server, err)
	}
	s.env = append(s.env, p.clientEnv(ctx, programs.client)...)
	if p.serverVariable != "" {
		s.env = append(s.env, p.variable(p.serverVariable)+"="+programs.server)
	}
	return s, nil
}

// compose starts the product's service of docker-compose.yml. If it already runs, its port is taken, and this source returns an
// absentError.
func (p product) compose(ctx context.Context) (*server, error) {
	c, err := findCompose(ctx, p.host, p.name)
	if err != nil {
		return nil, err
	}
	env := append(p.clientEnv(ctx, ""), p.variable("DSN")+"="+p.service.dsn)
	p.host.say("starting the docker compose service %s, because no %s server is installed", p.name, p.title)
	if err := c.up(ctx); err != nil {
		return nil, absent("docker compose cannot start %s: %v", p.name, err)
	}
	version, err := p.probeOnce(ctx, p.service.dsn)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the docker compose service does not answer: %w", err), c.down())
	}
	origin := "docker compose, port " + strconv.Itoa(p.service.port)
	return &server{version: version, origin: origin, env: env, dsn: p.service.dsn, stop: c.down}, nil
}

// clientEnv gives the command the path of the client: from the environment, from the server's own programs, or from PATH. The server's
// own comes before PATH because it has the server's version.
func (p product) clientEnv(ctx context.Context, own string) []string {
	name := p.variable(p.clientVariable)
	if p.clientVariable == "" || p.host.getenv(name) != "" {
		return nil
	}
	if own != "" {
		return []string{name + "=" + own}
	}
	for _, client := range p.clients {
		if path, err := p.host.lookPath(client); err == nil && p.isClient(ctx, p.host, path) {
			return []string{name + "=" + path}
		}
	}
	return nil
}

// firstFile returns the path of the first of names in dirs, "" if there is none.
func (h host) firstFile(dirs, names []string) string {
	for _, dir := range dirs {
		for _, name := range names {
			if path := filepath.Join(dir, name); h.isFile(path) {
				return path
			}
		}
	}
	return ""
}

// findProgram finds a server of a single program: in the directory that a variable names, in PATH, or in the directories of
// distributions.
func findProgram(h host, bin, name string) (installation, error) {
	if dir := h.getenv(bin); dir != "" {
		server := h.firstFile([]string{dir}, []string{name})
		if server == "" {
			return installation{}, fmt.Errorf("%s names %s, which has no %s: correct or unset it", bin, dir, name)
		}
		return installation{origin: dir, server: server}, nil
	}
	server, err := h.lookPath(name)
	if err != nil {
		server = h.firstFile(serverDirs(), []string{name})
	}
	if server == "" {
		return installation{}, absent("no %s in PATH or %s (%s can name the directory)", name, strings.Join(serverDirs(), ", "), bin)
	}
	return installation{origin: filepath.Dir(server), server: server}, nil
}
