//go:build unix

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// aptLimit bounds one call of apt-get, and aptLockSeconds its wait for another apt-get.
const (
	aptLimit       = 10 * time.Minute
	aptLockSeconds = "120"
)

// noMainCluster is a file that the installation scripts of Debian's PostgreSQL packages read. By default they create a cluster and start
// it at once and at every boot, which a test run must not do.
const noMainCluster = "/etc/postgresql-common/createcluster.d/applock-testserver.conf"

// installPackage installs a package and then finds the server's programs.
func (p product) installPackage(ctx context.Context, name string, install func(apt, context.Context) error) (installation, error) {
	p.host.installing.Lock()
	defer p.host.installing.Unlock()
	a, err := findApt(ctx, p.host)
	if err != nil {
		return installation{}, err
	}
	p.host.say("installing the Debian package %s, because no %s server is installed and %s is not set",
		name, p.title, p.variable("DSN"))
	if err := install(a, ctx); err != nil {
		// Machines without a network are common, so this is no failure unless --require lists the product.
		return installation{}, absent("the Debian package %s cannot be installed: %v", name, err)
	}
	return p.find(ctx, p.host)
}

// apt installs packages from this machine's own sources.
type apt struct {
	host host
	sudo []string // how to become root; empty if the launcher is root
}

// findApt returns an absentError unless packages can be installed here without a password.
func findApt(ctx context.Context, h host) (apt, error) {
	if _, err := h.lookPath("apt-get"); err != nil {
		return apt{}, absent("there is no apt-get to install it with")
	}
	if h.isRoot {
		return apt{host: h}, nil
	}
	if h.run(ctx, "sudo", "-n", "true") != nil {
		return apt{}, absent("apt-get needs root, or sudo without a password")
	}
	return apt{host: h, sudo: []string{"sudo", "-n"}}, nil
}

// installPostgres installs in two steps: the setting belongs into a directory of the first package, and the scripts of the second read
// it.
func (a apt) installPostgres(ctx context.Context) (err error) {
	if err := a.get(ctx, "update"); err != nil {
		return err
	}
	if err := a.install(ctx, "postgresql-common"); err != nil {
		return err
	}
	if err := a.writeFile(ctx, noMainCluster, "create_main_cluster = false\n"); err != nil {
		return err
	}
	defer func() {
		// Also remove the file after an interrupt. Otherwise the machine's next installation of PostgreSQL would create no cluster.
		if removeErr := a.asRoot(context.WithoutCancel(ctx), "rm", "-f", noMainCluster); err == nil {
			err = removeErr
		}
	}()
	return a.install(ctx, "postgresql")
}

// installMariaDB omits the package with the service, which would start at once and at every boot. The client's package has mariadb-dump,
// which the tests of backups need.
func (a apt) installMariaDB(ctx context.Context) error {
	return a.updateAndInstall(ctx, "mariadb-server-core", "mariadb-client")
}

// installGalera omits the service as well: MariaDB's server has all of Galera but the library.
func (a apt) installGalera(ctx context.Context) error {
	return a.updateAndInstall(ctx, "mariadb-server-core", "mariadb-client", "galera-4")
}

func (a apt) updateAndInstall(ctx context.Context, names ...string) error {
	if err := a.get(ctx, "update"); err != nil {
		return err
	}
	return a.install(ctx, names...)
}

// install adds packages. It fails if that would remove others, as MySQL's for MariaDB's.
func (a apt) install(ctx context.Context, names ...string) error {
	return a.get(ctx, append([]string{"install", "-y", "--no-install-recommends", "--no-remove"}, names...)...)
}

func (a apt) get(ctx context.Context, args ...string) error {
	return a.asRoot(ctx, "env", append([]string{
		"DEBIAN_FRONTEND=noninteractive", "apt-get", "-q", "-o", "DPkg::Lock::Timeout=" + aptLockSeconds,
	}, args...)...)
}

// writeFile writes a small file as root, and makes its directories.
func (a apt) writeFile(ctx context.Context, path, content string) error {
	dir, err := os.MkdirTemp("", "applock-testserver-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	draft := filepath.Join(dir, filepath.Base(path))
	if err := os.WriteFile(draft, []byte(content), 0o600); err != nil {
		return err
	}
	return a.asRoot(ctx, "install", "-D", "-m", "0644", draft, path)
}

func (a apt) asRoot(ctx context.Context, name string, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, aptLimit)
	defer cancel()
	command := append(append([]string{}, a.sudo...), name)
	command = append(command, args...)
	if err := a.host.run(ctx, command[0], command[1:]...); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
