//go:build unix

package main

import (
	"context"
	"strings"
)

// tool is a program for tests that is no server. Its Debian package has the same name.
type tool struct {
	host host
	name string
	// versionFlag makes it print its version.
	versionFlag string
}

func (t tool) backend() backend {
	return backend{name: t.name, sources: []source{t.installed, t.fetched}}
}

func (t tool) installed(ctx context.Context) (*server, error) {
	path, err := t.host.lookPath(t.name)
	if err != nil {
		return nil, absent("there is no %s in the path", t.name)
	}
	version, err := t.host.output(ctx, path, t.versionFlag)
	if err != nil {
		return nil, err
	}
	version, _, _ = strings.Cut(strings.TrimSpace(strings.TrimPrefix(version, t.name)), " ")
	return &server{version: version, origin: path}, nil
}

func (t tool) fetched(ctx context.Context) (*server, error) {
	t.host.installing.Lock()
	defer t.host.installing.Unlock()
	a, err := findApt(ctx, t.host)
	if err != nil {
		return nil, err
	}
	t.host.say("installing the Debian package %s", t.name)
	if err := a.updateAndInstall(ctx, t.name); err != nil {
		return nil, absent("the Debian package %s cannot be installed: %v", t.name, err)
	}
	return t.installed(ctx)
}
