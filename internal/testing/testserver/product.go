//go:build unix

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/applock/applock/internal/testing/private"
)

// givenLimit bounds the wait for a server that should already be running.
const givenLimit = 15 * time.Second

// product is one database product, with its sources on this machine.
type product struct {
	machine *machine
	name    string // as in the variables and in docker-compose.yml: "postgres"
	title   string // for people: "PostgreSQL"
	user    string // the operating system user for the server if the launcher is root

	// servers, setups and clients are the possible names of the programs, best first. Without setups the server creates its data itself.
	servers, setups, clients []string

	// library makes the server a node of a cluster, and is in one of libraryDirs.
	library     string
	libraryDirs []string

	// isOwn reports by the version of a program whether it is of this product; nil if no other product has such a name.
	isOwn func(version string) bool

	// clientVariable and serverVariable are the ends of the variables with the paths of the client and the server for the tests; "" if they
	// need none.
	clientVariable, serverVariable string

	// packages are installed from Debian, or unpacked from it.
	packages []string
	unpacked debianRoot

	// composeDSN is that of the service in docker-compose.yml; "" if there is none.
	composeDSN string

	// probe connects and returns the server's version.
	probe func(ctx context.Context, dsn string) (string, error)

	// startPrivate starts a private server.
	startPrivate func(ctx context.Context, programs private.Programs) (*server, error)

	// versions are the other versions that can be had.
	versions map[string]any

	needs *backend
}

// variable names an environment variable: APPLOCK_TEST_POSTGRES_DSN.
func variable(product, what string) string {
	return "APPLOCK_TEST_" + strings.ToUpper(product) + "_" + what
}

func (p *product) variable(what string) string { return variable(p.name, what) }

func (p *product) getenv(what string) string { return os.Getenv(p.variable(what)) }

func (p *product) backend() *backend {
	b := &backend{name: p.name, title: p.title, needs: p.needs, sources: []source{p.given, p.installed, p.fetched}}
	if p.composeDSN != "" {
		b.sources = append(b.sources, p.compose)
	}
	if p.version() != "" {
		b.sources = []source{p.wanted}
	}
	b.packages = func(ctx context.Context) []string {
		if _, err := p.find(ctx); err == nil || p.version() != "" || p.getenv("DSN") != "" {
			return nil
		}
		return p.packages
	}
	if p.needs != nil && p.getenv("DSN") == "" {
		b.prepare = func(ctx context.Context) {
			if _, err := p.find(ctx); err != nil {
				_, _ = p.unpack(ctx) // fetched tells the error
			}
		}
	}
	return b
}

// given uses the server that the environment names.
func (p *product) given(ctx context.Context) (*server, error) {
	dsn := p.getenv("DSN")
	if dsn == "" {
		return nil, absent("%s is not set", p.variable("DSN"))
	}
	version, err := p.probeOnce(ctx, dsn)
	if err != nil {
		return nil, fmt.Errorf("the server given by %s does not answer: %w", p.variable("DSN"), err)
	}
	return &server{version: version, origin: "given by " + p.variable("DSN"), env: p.clientEnv(ctx, ""), dsn: dsn}, nil
}

// probeOnce probes a server that should already be running.
func (p *product) probeOnce(ctx context.Context, dsn string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, givenLimit)
	defer cancel()
	return p.probe(ctx, dsn)
}

// installed starts a private server with the programs of this machine.
func (p *product) installed(ctx context.Context) (*server, error) {
	programs, err := p.find(ctx)
	if err != nil {
		return nil, err
	}
	return p.start(ctx, programs)
}

// find finds the programs of this machine.
func (p *product) find(ctx context.Context) (private.Programs, error) {
	bin := p.getenv("BIN")
	dirs := []string{bin}
	if bin == "" {
		// An ordinary user's PATH often lacks the directories for servers. The highest version of PostgreSQL comes first.
		versions, err := filepath.Glob("/usr/lib/postgresql/*/bin")
		if err != nil {
			return private.Programs{}, err
		}
		slices.SortFunc(versions, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(b, a)) })
		dirs = slices.Concat(filepath.SplitList(os.Getenv("PATH")), []string{"/usr/sbin", "/usr/libexec", "/usr/local/sbin"}, versions)
	}
	programs, found := p.programsIn(ctx, dirs)
	switch {
	case found:
		return programs, nil
	case bin != "":
		return programs, fmt.Errorf("%s names %s, which has no complete %s: correct or unset it", p.variable("BIN"), bin, p.title)
	default:
		return programs, absent("no complete %s is installed (%s can name its directory)", p.title, p.variable("BIN"))
	}
}

// programsIn finds a server in one of the directories, and what belongs to it: in the server's own directory, or in those next to it.
func (p *product) programsIn(ctx context.Context, dirs []string) (private.Programs, bool) {
	for _, dir := range dirs {
		server := p.program(ctx, []string{dir}, p.servers)
		if server == "" {
			continue
		}
		// Distributions put links to some programs into the path; the other programs are at the links' targets.
		if target, err := filepath.EvalSymlinks(server); err == nil {
			server = target
		}
		own := filepath.Dir(server)
		near := []string{own, filepath.Join(own, "../bin"), filepath.Join(own, "../scripts")}
		programs := private.Programs{
			Origin: own, Server: server, Setup: p.program(ctx, near, p.setups), Client: p.program(ctx, near, p.clients),
			Library: firstFile(p.libraryDirs, []string{p.library}),
		}
		if (p.setups == nil || programs.Setup != "") && (p.library == "" || programs.Library != "") {
			return programs, true
		}
	}
	return private.Programs{}, false
}

// program returns the path of the first of names in dirs that is of this product, "" if there is none. Setups are scripts without a version.
func (p *product) program(ctx context.Context, dirs, names []string) string {
	for _, dir := range dirs {
		for _, name := range names {
			path := filepath.Join(dir, name)
			if !isFile(path) {
				continue
			}
			if p.isOwn == nil || slices.Contains(p.setups, name) {
				return path
			}
			if version, err := output(ctx, path, "--version"); err == nil && p.isOwn(version) {
				return path
			}
		}
	}
	return ""
}

func firstFile(dirs, names []string) string {
	return (&product{}).program(context.Background(), dirs, names)
}

// fetched starts a private server with programs from Debian.
func (p *product) fetched(ctx context.Context) (*server, error) {
	if len(p.packages) > 0 {
		if err := p.machine.install(ctx, p.packages); err != nil {
			return nil, err
		}
		return p.installed(ctx)
	}
	programs, err := p.unpack(ctx)
	if err != nil {
		// Machines without a network are common, so this is no failure unless --require lists the product.
		return nil, absent("%s cannot be unpacked from Debian's archive: %v", p.title, err)
	}
	return p.start(ctx, programs)
}

func (p *product) unpack(ctx context.Context) (private.Programs, error) {
	return p.provide(ctx, p.unpacked, "own")
}

func (p *product) start(ctx context.Context, programs private.Programs) (*server, error) {
	s, err := p.startPrivate(ctx, programs)
	if err != nil {
		return nil, fmt.Errorf("start a private server with %s: %w", programs.Server, err)
	}
	s.env = append(s.env, p.clientEnv(ctx, programs.Client)...)
	if p.serverVariable != "" {
		s.env = append(s.env, p.variable(p.serverVariable)+"="+programs.Server)
	}
	return s, nil
}

// startKind starts a private server of a kind.
func startKind(kind func(private.Programs) private.Kind) func(ctx context.Context, programs private.Programs) (*server, error) {
	return func(ctx context.Context, programs private.Programs) (*server, error) {
		s, err := private.Start(ctx, kind(programs))
		if err != nil {
			return nil, err
		}
		return running(s, programs), nil
	}
}

// running describes a private server that runs.
func running(s *private.Server, programs private.Programs) *server {
	return &server{
		version: s.Version,
		origin:  fmt.Sprintf("private, %s, port %d", programs.Origin, s.Port),
		env: []string{
			variable(s.Kind.Product, "DSN") + "=" + s.DSN(),
			variable(s.Kind.Product, "PID") + "=" + strconv.Itoa(s.PID()),
		},
		dsn:  s.DSN(),
		stop: s.Stop,
	}
}

// clientEnv gives the command the path of the client: from the environment, from the server's own programs, or from PATH. The server's
// own comes before PATH because it has the server's version.
func (p *product) clientEnv(ctx context.Context, own string) []string {
	if p.clientVariable == "" || p.getenv(p.clientVariable) != "" {
		return nil
	}
	if own = cmp.Or(own, p.program(ctx, filepath.SplitList(os.Getenv("PATH")), p.clients)); own == "" {
		return nil
	}
	return []string{p.variable(p.clientVariable) + "=" + own}
}

// compose starts the product's service of docker-compose.yml, in a project of its own, so that taking it down touches no container of anybody
// else. If it already runs, its port is taken, and this source returns an absentError.
func (p *product) compose(ctx context.Context) (*server, error) {
	if _, err := exec.LookPath("docker"); err != nil {
		return nil, absent("there is no docker")
	}
	if run(ctx, "docker", "compose", "version") != nil {
		return nil, absent("docker has no compose plugin")
	}
	docker := func(ctx context.Context, limit time.Duration, args ...string) error {
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		return run(ctx, "docker", append([]string{"compose", "-p", "applock-testserver-" + p.name}, args...)...)
	}
	// Also after an interrupt.
	down := func() error { return docker(context.Background(), time.Minute, "down", "-v") }
	env := append(p.clientEnv(ctx, ""), p.variable("DSN")+"="+p.composeDSN)
	p.machine.say("starting the docker compose service %s, because no %s server is installed", p.name, p.title)
	// That leaves time to fetch an image.
	if err := docker(ctx, 5*time.Minute, "up", "-d", "--wait", p.name); err != nil {
		return nil, absent("docker compose cannot start %s: %v", p.name, errors.Join(err, down()))
	}
	version, err := p.probeOnce(ctx, p.composeDSN)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the docker compose service does not answer: %w", err), down())
	}
	return &server{version: version, origin: "docker compose", env: env, dsn: p.composeDSN, stop: down}, nil
}
