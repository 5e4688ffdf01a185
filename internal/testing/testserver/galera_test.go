//go:build unix

package main

import (
	"errors"
	"strings"
	"testing"
)

func newFakeGalera(f *fakeHost) product { return f.fake(newGalera(f.host()), "10.11.19") }

// A MariaDB without the library is a server, but no node.
func TestGaleraNeedsItsLibrary(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		files []string
		want  string // the library; "" if absent
	}{
		"Debian":         {[]string{"/usr/lib/galera/libgalera_smm.so"}, "/usr/lib/galera/libgalera_smm.so"},
		"OtherDirectory": {[]string{"/usr/lib64/galera-4/libgalera_smm.so"}, "/usr/lib64/galera-4/libgalera_smm.so"},
		"NoLibrary":      {nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fakeHost{files: test.files}
			f.addProgram("/usr/sbin/mariadbd", mariadbVersion)
			f.addProgram("/usr/bin/mariadb-install-db", "")
			p := newFakeGalera(f)
			got, err := p.find(t.Context(), p.host)
			if got.library != test.want || (test.want == "") != errors.As(err, new(*absentError)) {
				t.Errorf("library %q, %v, want %q", got.library, err, test.want)
			}
		})
	}
}

func TestGaleraIsNotLookedForWithoutAMariaDB(t *testing.T) {
	t.Parallel()
	f := &fakeHost{files: []string{"/usr/lib/galera/libgalera_smm.so"}}
	f.addProgram("/usr/sbin/mysqld", mysqlVersion)
	_, err := newFakeGalera(f).backend().supply(t.Context())
	if !errors.As(err, new(*absentError)) {
		t.Fatalf("error = %v, want an absence", err)
	}
	for _, part := range []string{galeraDSN, "no mariadbd or mysqld of this product", galeraBin, "no apt-get"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q lacks %q", err, part)
		}
	}
}
