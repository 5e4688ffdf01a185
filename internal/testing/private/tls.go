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
	names := []string{filepath.Join("data", "server.crt"), filepath.Join("data", "server.key")} // PostgreSQL's own
	k.Initialise = func(ctx context.Context, s *Server) error {
		if err := initialise(ctx, s); err != nil {
			return err
		}
		_, noCertificate := s.write(names[0], certificate)
		_, noKey := s.write(names[1], key)
		return errors.Join(noCertificate, noKey)
	}
	k.Command = func(s *Server) (*exec.Cmd, error) {
		started, err := command(s)
		options := []string{"--ssl-cert=" + filepath.Join(s.Dir, names[0]), "--ssl-key=" + filepath.Join(s.Dir, names[1])}
		if k.User == postgresAccount {
			options = []string{"--ssl=on"}
		}
		started.Args = append(started.Args, options...)
		return started, err
	}
	return k
}
