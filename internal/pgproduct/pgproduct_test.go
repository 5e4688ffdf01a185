package pgproduct_test

import (
	"errors"
	"testing"

	"github.com/applock/applock/internal/pgproduct"
)

// Goal: engines that only look like PostgreSQL are refused, and what is PostgreSQL is not. Method: what their version() says.
func TestCheck(t *testing.T) {
	t.Parallel()
	for version, refused := range map[string]bool{
		"CockroachDB CCL v24.3.1 (x86_64-pc-linux-gnu, built 2024/12/05 17:44:53, go1.22.8)":                                  true,
		"PostgreSQL 8.0.2 on i686-pc-linux-gnu, compiled by GCC gcc (GCC) 3.4.2 20041017 (Red Hat 3.4.2-6.fc3), Redshift 1.0": true,
		"PostgreSQL 15.18 (Debian 15.18-0+deb12u1) on x86_64-pc-linux-gnu, compiled by gcc (Debian 12.2.0-14) 12.2.0, 64-bit": false,
		"PostgreSQL 15.12-YB-2025.2.3.0-b0 on x86_64-pc-linux-gnu, compiled by clang version 17.0.6, 64-bit":                  false,
	} {
		if err := pgproduct.Check(version); errors.Is(err, errors.ErrUnsupported) != refused || (err != nil) != refused {
			t.Errorf("%s: %v", version, err)
		}
	}
}
