//go:build unix

package private

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
)

// WithTLS returns the kind for a server that has a certificate and its key, both in PEM.
func (k Kind) WithTLS(certificate, key string) Kind {
	initialise, command := k.Initialise, k.Command
	const ofCertificate, ofKey = "data/server.crt", "data/server.key" // where PostgreSQL looks for them
	k.Initialise = func(ctx context.Context, s *Server) error {
		if err := initialise(ctx, s); err != nil {
			return err
		}
		_, noCertificate := s.write(ofCertificate, certificate)
		_, noKey := s.write(ofKey, key)
		return errors.Join(noCertificate, noKey)
	}
	k.Command = func(s *Server) (*exec.Cmd, error) {
		started, err := command(s)
		if k.Product == "postgres" {
			started.Args = append(started.Args, "--ssl=on")
		} else {
			started.Args = append(started.Args, "--ssl-cert="+filepath.Join(s.Dir, ofCertificate), "--ssl-key="+filepath.Join(s.Dir, ofKey))
		}
		return started, err
	}
	return k
}
