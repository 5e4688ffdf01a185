//go:build unix

package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
)

// derbyVersion is the newest of Derby that IBM's client connects to.
const derbyVersion = "10.5.3.0_1"

// newDerby is a library: the tests of Db2's driver run its network server in their own Java process.
func newDerby(m *machine) *backend {
	return library(m, "derby", nil, func(ctx context.Context) (*server, error) {
		const variable = "APPLOCK_TEST_DERBY_JARS"
		dir := os.Getenv(variable)
		for _, program := range []string{"javac", "java"} {
			if _, err := exec.LookPath(program); err != nil {
				return nil, absent("there is no %s in the path", program)
			}
		}
		if dir == "" {
			cache, err := cacheDir("nobody")
			if err != nil {
				return nil, err
			}
			dir = filepath.Join(cache, "derby-maven-"+derbyVersion)
			err = m.once(ctx, dir, "Apache Derby "+derbyVersion+" of Maven's registry", func(draft string) error { return fillDerby(ctx, draft) })
			if err != nil {
				return nil, absent("%s is not set, and Apache Derby cannot be had from Maven's registry: %v", variable, err)
			}
		}
		return &server{version: derbyVersion, origin: dir, env: []string{variable + "=" + dir}}, nil
	})
}

// fillDerby fetches the jars. Derby's network server finds the engine by the name of its jar.
func fillDerby(ctx context.Context, dir string) error {
	for name, sum := range map[string]string{
		"derby":    "eecb3bc5df060a8cb8cd32b85a7a57abdfa9be0ac2b21dce787023ed7532cb6c",
		"derbynet": "aaf0f28e1853d9599a578aab81882799a8544fbc4ecd18b4ff02f63510456d8e",
	} {
		jar := mavenPackage{artifact: "org.apache.derby:" + name + ":" + derbyVersion, sha256: sum}
		fetched, err := jar.fetch(ctx, dir+"."+name)
		if err != nil {
			return err
		}
		if err := os.Rename(fetched, filepath.Join(dir, name+".jar")); err != nil {
			return err
		}
	}
	return nil
}
