//go:build unix

package main

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func fakeJDK() *fakeHost {
	return &fakeHost{
		env:     map[string]string{},
		path:    map[string]string{"java": "/usr/bin/java", "javac": "/usr/bin/javac", "apt-get": "/usr/bin/apt-get"},
		outputs: map[string]string{"javac -version": "javac 17.0.15\n"},
		isRoot:  true,
	}
}

func TestHSQLDBIsGivenOrInstalled(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		given string
		files []string
		want  string
	}{
		"Given":     {given: "/opt/hsqldb.jar", files: []string{"/opt/hsqldb.jar", hsqldbJar}, want: "/opt/hsqldb.jar"},
		"Installed": {files: []string{hsqldbJar}, want: hsqldbJar},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := fakeJDK()
			f.env[hsqldbVariable], f.files = test.given, test.files
			s, err := hsqldb{f.host()}.backend().supply(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if s.origin != test.want || s.version != "on javac 17.0.15" || !slices.Equal(s.env, []string{hsqldbVariable + "=" + test.want}) {
				t.Errorf("got %+v", s)
			}
		})
	}
}

func TestHSQLDBIsInstalledFromDebian(t *testing.T) {
	t.Parallel()
	f := fakeJDK()
	delete(f.path, "javac")
	f.fail = "-version"
	_, err := hsqldb{f.host()}.backend().supply(t.Context())
	wantCommands(t, f.commands, aptUpdate, aptInstall+"libhsqldb-java default-jdk-headless")
	var none *absentError
	if !errors.As(err, &none) || !strings.Contains(err.Error(), "there is no "+hsqldbJar) {
		t.Errorf("error %v, want it absent because the fake installs nothing", err)
	}
}

func TestHSQLDBThatIsGivenMustExist(t *testing.T) {
	t.Parallel()
	f := fakeJDK()
	f.env[hsqldbVariable] = "/opt/missing.jar"
	_, err := hsqldb{f.host()}.backend().supply(t.Context())
	var none *absentError
	if err == nil || errors.As(err, &none) || !strings.Contains(err.Error(), hsqldbVariable) {
		t.Errorf("error %v, want one that names %s and ends the search", err, hsqldbVariable)
	}
}

func TestHSQLDBNeedsADevelopmentKit(t *testing.T) {
	t.Parallel()
	f := fakeJDK()
	f.files = []string{hsqldbJar}
	f.fail = "javac -version"
	_, err := hsqldb{f.host()}.installed(t.Context())
	var none *absentError
	if !errors.As(err, &none) || !strings.Contains(err.Error(), "development kit") {
		t.Errorf("error %v, want it absent for want of a development kit", err)
	}
}
