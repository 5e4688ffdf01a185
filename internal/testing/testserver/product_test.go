//go:build unix

package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/applock/applock/internal/testing/private"
)

// program writes a script that prints a version.
func program(t *testing.T, path, version string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("#!/bin/sh\necho '"+version+"'\n"), 0o755); err != nil {
		t.Fatal(err)
	}
}

// fake returns a product whose servers answer at once, and what started it.
func fake(p *product) (*product, *private.Programs) {
	started := &private.Programs{}
	p.probe = func(context.Context, string) (string, error) { return "1", nil }
	p.startPrivate = func(_ context.Context, programs private.Programs) (*server, error) {
		*started = programs
		return &server{}, nil
	}
	return p, started
}

// Goal: a server that was given is used as it is, unless another version is wanted. Method: a DSN with and without a version.
func TestGivenServer(t *testing.T) {
	p, started := fake(newPostgres(&machine{}))
	t.Setenv(p.variable("DSN"), "postgres://user:s3cret@db.example:5432/x")
	s, err := p.backend().supply(t.Context())
	if err != nil || s.stop != nil || started.Server != "" || s.origin != "given by APPLOCK_TEST_POSTGRES_DSN" {
		t.Errorf("got %+v, %v, started %q", s, err, started.Server)
	}
	t.Setenv(p.variable("VERSION"), "9.6")
	if _, err := p.backend().supply(t.Context()); err == nil || isAbsent(err) || !strings.Contains(err.Error(), "use one of 14.20.0") {
		t.Errorf("version 9.6: %v, want an error", err)
	}
	t.Setenv(p.variable("VERSION"), "")
	p.probe = private.ProbePostgres
	t.Setenv(p.variable("DSN"), "postgres://alice:s3cret@127.0.0.1:1/x")
	if _, err := p.backend().supply(t.Context()); err == nil || isAbsent(err) || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("a given server that does not answer: %v, want an error without the password", err)
	}
}

// Goal: a program is taken for its own product alone, and a named directory without it is an error. Method: a mysqld, which may be of MariaDB or of
// MySQL.
func TestProgramsAreOfTheProduct(t *testing.T) {
	bin := t.TempDir()
	program(t, bin+"/mysqld", "mysqld  Ver 10.11.19-MariaDB-0+deb12u1")
	program(t, bin+"/mysql", "mysql  Ver 15.1 Distrib 10.11.19-MariaDB")
	program(t, bin+"/mariadb-install-db", "")
	mariadb, started := fake(newMariaDB(&machine{}))
	mysql, _ := fake(newMySQL(&machine{}))
	t.Setenv("APPLOCK_TEST_MARIADB_CLIENT", "")
	t.Setenv("APPLOCK_TEST_MYSQL_CLIENT", "")
	for _, p := range []*product{mariadb, mysql} {
		t.Setenv(p.variable("DSN"), "")
		t.Setenv(p.variable("BIN"), bin)
	}
	s, err := mariadb.backend().supply(t.Context())
	if err != nil || started.Server != bin+"/mysqld" || strings.Join(s.env, " ") != "APPLOCK_TEST_MARIADB_CLIENT="+bin+"/mysql" {
		t.Errorf("MariaDB: %+v, %+v, %v", s, started, err)
	}
	if _, err := mysql.backend().supply(t.Context()); err == nil || isAbsent(err) {
		t.Errorf("MariaDB is taken for MySQL: %v", err)
	}
	t.Setenv("PATH", bin)
	if env := mysql.clientEnv(t.Context(), ""); env != nil {
		t.Errorf("MariaDB's client is taken for MySQL's: %q", env)
	}
}

// Goal: a package that was changed in the registry is not run. Method: another sum.
func TestSumIsCompared(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "package")
	program(t, path, "")
	if err := checkSum(path, strings.Repeat("0", 64)); err == nil {
		t.Error("a wrong sum is taken")
	}
}
