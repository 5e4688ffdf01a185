//go:build unix

package main

import (
	"context"
	"fmt"
	"strings"
)

// hsqldb is no server but a library: the tests run the Db2 procedures on it in their own Java process.
type hsqldb struct {
	host host
}

const (
	// hsqldbJar is the path in Debian's package.
	hsqldbJar = "/usr/share/java/hsqldb.jar"
	// hsqldbVariable holds the path for the tests.
	hsqldbVariable = "APPLOCK_TEST_HSQLDB_JAR"
)

func (h hsqldb) backend() backend {
	return backend{name: "hsqldb", sources: []source{h.given, h.installed, h.fetched}}
}

func (h hsqldb) given(ctx context.Context) (*server, error) {
	jar := h.host.getenv(hsqldbVariable)
	if jar == "" {
		return nil, absent("%s is not set", hsqldbVariable)
	}
	if !h.host.isFile(jar) {
		return nil, fmt.Errorf("%s names no file: correct or unset it", hsqldbVariable)
	}
	return h.with(ctx, jar)
}

func (h hsqldb) installed(ctx context.Context) (*server, error) {
	if !h.host.isFile(hsqldbJar) {
		return nil, absent("there is no %s", hsqldbJar)
	}
	return h.with(ctx, hsqldbJar)
}

// with uses a jar, if there is a Java development kit to run it.
func (h hsqldb) with(ctx context.Context, jar string) (*server, error) {
	if _, err := h.host.lookPath("java"); err != nil {
		return nil, absent("there is no java in the path")
	}
	version, err := h.host.output(ctx, "javac", "-version")
	if err != nil {
		return nil, absent("there is no Java development kit: %v", err)
	}
	return &server{version: "on " + strings.TrimSpace(version), origin: jar, env: []string{hsqldbVariable + "=" + jar}}, nil
}

func (h hsqldb) fetched(ctx context.Context) (*server, error) {
	h.host.installing.Lock()
	defer h.host.installing.Unlock()
	a, err := findApt(ctx, h.host)
	if err != nil {
		return nil, err
	}
	packages := []string{"libhsqldb-java"}
	if _, err := h.host.lookPath("javac"); err != nil {
		packages = append(packages, "default-jdk-headless")
	}
	h.host.say("installing the Debian packages %v, because HSQLDB or a Java development kit is missing and %s is not set",
		packages, hsqldbVariable)
	if err := a.updateAndInstall(ctx, packages...); err != nil {
		return nil, absent("the Debian packages %v cannot be installed: %v", packages, err)
	}
	return h.installed(ctx)
}
