//go:build unix

package main

import (
	"context"
	"strings"
)

// sqlite3 is SQLite's shell: the database itself is part of the tests, but administrators work with the shell.
type sqlite3 struct {
	host host
}

func (s sqlite3) backend() backend {
	return backend{name: "sqlite3", sources: []source{s.installed, s.fetched}}
}

func (s sqlite3) installed(ctx context.Context) (*server, error) {
	path, err := s.host.lookPath("sqlite3")
	if err != nil {
		return nil, absent("there is no sqlite3 in the path")
	}
	version, err := s.host.output(ctx, path, "-version")
	if err != nil {
		return nil, err
	}
	version, _, _ = strings.Cut(version, " ")
	return &server{version: version, origin: path}, nil
}

func (s sqlite3) fetched(ctx context.Context) (*server, error) {
	s.host.installing.Lock()
	defer s.host.installing.Unlock()
	a, err := findApt(ctx, s.host)
	if err != nil {
		return nil, err
	}
	s.host.say("installing the Debian package sqlite3")
	if err := a.updateAndInstall(ctx, "sqlite3"); err != nil {
		return nil, absent("the Debian package sqlite3 cannot be installed: %v", err)
	}
	return s.installed(ctx)
}
