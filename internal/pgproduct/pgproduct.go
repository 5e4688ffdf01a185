// Package pgproduct recognizes engines that speak PostgreSQL's protocol without its guarantees.
package pgproduct

import (
	"errors"
	"fmt"
	"strings"
)

// Check returns an error that is errors.ErrUnsupported if the text of version() names an engine on which locks are unsafe.
func Check(version string) error {
	for _, engine := range []struct{ name, why string }{
		// https://github.com/cockroachdb/cockroach/issues/13546
		{"CockroachDB", "its pg_advisory_lock has granted the same lock to everybody"},
		// https://docs.aws.amazon.com/redshift/latest/dg/t_Defining_constraints.html
		{"Redshift", "it enforces no primary key, so two could insert the lock on one object"},
	} {
		if strings.Contains(version, engine.name) {
			return fmt.Errorf("%w: the server is %s and not PostgreSQL: %s", errors.ErrUnsupported, engine.name, engine.why)
		}
	}
	return nil
}
